"""fuse_batch_norm and remove_identity: what they take out, and what they leave."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.graph import MaseGraph, get_mase_op
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    fuse_batch_norm_transform_pass,
    quantize_transform_pass,
    remove_identity_transform_pass,
)

NO_LAYER = "before it is not a Linear, Conv1d or Conv2d module"


def with_shapes(model: nn.Module, *shape: int) -> MaseGraph:
    graph = MaseGraph(model)
    return add_common_metadata_analysis_pass(graph, {"dummy_in": {graph.nodes[0].target: torch.randn(*shape)}})[0]


def random_norm(features: int, affine: bool = True) -> nn.BatchNorm1d:
    norm = nn.BatchNorm1d(features, affine=affine)
    norm.running_mean.copy_(torch.randn(features))
    norm.running_var.copy_(torch.rand(features) + 0.1)
    if affine:
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    return norm


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_fused_net_computes_the_same(bias: bool, affine: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 6, bias), random_norm(6, affine), nn.ReLU(), nn.Linear(6, 3)).double().eval()
    graph = MaseGraph(model)
    x = torch.randn(32, 8, dtype=torch.float64)
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": {"input": x}})
    own = copy.deepcopy(model.state_dict())
    graph, info = fuse_batch_norm_transform_pass(graph)
    assert info == {"fused": {"_1": "_0"}, "refused": {}}
    assert [get_mase_op(node) for node in graph.nodes] == ["placeholder", "linear", "relu", "linear", "output"]
    # Two ways to compute one real function: this compares reals, not bits.
    assert torch.allclose(graph.model(x), model(x), rtol=1e-12, atol=1e-12)
    assert all(torch.equal(own[name], value) for name, value in model.state_dict().items())
    common = graph.nodes[1].meta["mase"].parameters["common"]
    assert torch.equal(common["args"]["bias"]["value"], graph.modules["0"].bias)
    assert common["results"]["data_out_0"]["shape"] == [32, 6]


def test_the_folded_parameters_are_rounded_once_from_float64() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 6), random_norm(6)).eval()
    graph, _ = fuse_batch_norm_transform_pass(with_shapes(model, 4, 8))
    fc, norm = model[0], model[1]
    scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    bias = (fc.bias.double() - norm.running_mean.double()) * scale + norm.bias.double()
    assert torch.equal(graph.modules["0"].weight, (fc.weight.double() * scale[:, None]).float())
    assert torch.equal(graph.modules["0"].bias, bias.float())


class Fork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.bn = nn.Linear(8, 8), nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc(x)
        return self.bn(x) + x


class Shared(Fork):
    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.bn(self.fc(x)))


class SharedNorm(Fork):
    def forward(self, x: Tensor) -> Tensor:
        return self.bn(self.bn(self.fc(x)))


@pytest.mark.parametrize(
    ("model", "refused"),
    [
        (Fork().eval(), {"bn": "fc is also read by add"}),
        (Shared().eval(), {"bn": "fc is a module that is called 2 times"}),
        (
            SharedNorm().eval(),
            {"bn": "bn is a module that is called 2 times", "bn_1": f"bn {NO_LAYER}"},
        ),
        (nn.Sequential(nn.BatchNorm1d(8)).eval(), {"_0": f"input_1 {NO_LAYER}"}),
        (
            nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)),
            {"_1": "_1 uses the statistics of each batch: put the model in eval mode"},
        ),
    ],
)
def test_refused(model: nn.Module, refused: dict[str, str]) -> None:
    graph = with_shapes(model, 4, 8)
    text = str(graph.fx_graph)
    graph, info = fuse_batch_norm_transform_pass(graph)
    assert info == {"fused": {}, "refused": refused}
    assert str(graph.fx_graph) == text


def test_refused_for_sequences_for_unknown_shapes_and_after_quantization() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).eval()
    # [batch, 8, 8]: the batch norm's channels are the middle axis, the linear's features the last.
    _, info = fuse_batch_norm_transform_pass(with_shapes(model, 4, 8, 8))
    assert info["refused"] == {"_1": "_0 gives 3 dimensions, and only 2 can be folded"}
    _, info = fuse_batch_norm_transform_pass(MaseGraph(model))
    assert "add_common_metadata_analysis_pass" in info["refused"]["_1"]
    widths = {f"{arg}_{key}": 8 for arg in ("data_in", "weight", "bias") for key in ("width", "frac_width")}
    graph, _ = quantize_transform_pass(with_shapes(model, 4, 8), {"linear": {"config": {"name": "integer", **widths}}})
    _, info = fuse_batch_norm_transform_pass(graph)
    assert info["refused"] == {"_1": "_0 is quantized already"}


class Drops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq = nn.Sequential(nn.Identity(), nn.Linear(4, 4), nn.Dropout(0.5), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        x = self.seq(x).contiguous()
        x = F.dropout(x, 0.5, self.training)
        return F.dropout(x, training=False)


def test_remove_identity_in_eval_mode() -> None:
    model = Drops().eval()
    graph, info = remove_identity_transform_pass(MaseGraph(model))
    assert [node.name for node in graph.nodes] == ["x", "seq_1", "seq_3", "output"]
    assert info == {"removed": ["seq_0", "seq_2", "contiguous", "dropout", "dropout_1"], "kept": []}
    x = torch.randn(3, 4)
    assert torch.equal(graph.model(x), model(x))


def test_dropouts_that_train_stay() -> None:
    graph, info = remove_identity_transform_pass(MaseGraph(Drops().train()))
    assert info == {"removed": ["seq_0", "contiguous", "dropout_1"], "kept": ["seq_2", "dropout"]}
    assert [node.name for node in graph.nodes] == ["x", "seq_1", "seq_2", "seq_3", "dropout", "output"]
