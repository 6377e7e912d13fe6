"""The passes on networks of images: metadata, types by op and by name, calibration, statistics, counts, folding."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from graphs import common, graph_of, node_of, software
from support import by_type, randomized, spec
from torch import Tensor, nn

from mase_hw.graph import MaseGraph, get_mase_op, get_mase_type, get_node_module
from mase_hw.modules import BatchNorm2dInteger, Conv1dInteger, Conv2dInteger, MaxPool2dInteger
from mase_hw.numerics import Fixed
from mase_hw.passes import (
    calibrate_transform_pass,
    count_bitops_analysis_pass,
    count_flops_analysis_pass,
    fuse_batch_norm_transform_pass,
    profile_statistics_analysis_pass,
    prune_transform_pass,
    quantize_transform_pass,
    summarize_quantization_analysis_pass,
)

EIGHT = Fixed(8, 4)
ENTRY = spec(data_in=EIGHT, weight=EIGHT, bias=EIGHT)


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn, self.pool = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.MaxPool2d(2)
        self.depth, self.fc = nn.Conv2d(4, 8, 3, groups=4), nn.Linear(8, 3)
        self.kernel = nn.Parameter(torch.ones(8, 2, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.depth(self.pool(torch.relu(self.bn(self.conv(x)))))
        x = F.conv2d(x, self.kernel, None, 1, 0, 1, 4)
        y: Tensor = self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))
        return y


def cnn() -> MaseGraph:
    return graph_of(randomized(Cnn(), 0), 3, 8, 8, batch=4)


def test_types_and_ops() -> None:
    graph = cnn()
    found = {node.name: (get_mase_type(node), get_mase_op(node)) for node in graph.nodes if node.op != "get_attr"}
    assert found == {
        "x": ("placeholder", "placeholder"),
        "conv": ("module_related_func", "conv2d"),
        "bn": ("module", "batch_norm2d"),
        "relu": ("module_related_func", "relu"),
        "pool": ("module_related_func", "max_pool2d"),
        "depth": ("module_related_func", "conv2d"),
        "conv2d": ("module_related_func", "conv2d"),
        "adaptive_avg_pool2d": ("module_related_func", "adaptive_avg_pool2d"),
        "flatten": ("builtin_func", "flatten"),
        "fc": ("module_related_func", "linear"),
        "output": ("output", "output"),
    }
    args = common(graph, "conv2d")["args"]
    assert (args["data_in_0"]["shape"], args["weight"]["shape"]) == ([4, 8, 2, 2], [8, 2, 1, 1])


def test_quantized_by_type_and_by_name() -> None:
    graph = cnn()
    table = by_type(conv2d=ENTRY, batch_norm2d=ENTRY, max_pool2d=spec(data_in=EIGHT))
    graph, info = quantize_transform_pass(graph, table)
    assert info["quantized"] == ["conv", "bn", "pool", "depth", "conv2d"]
    kinds = [type(get_node_module(node_of(graph, name))) for name in info["quantized"]]
    assert kinds == [Conv2dInteger, BatchNorm2dInteger, MaxPool2dInteger, Conv2dInteger, Conv2dInteger]
    made: Any = get_node_module(node_of(graph, "conv2d"))
    assert made.weight is graph.model.kernel
    assert (made.groups, made.bias) == (4, None)
    args = common(graph, "depth")["args"]
    assert [args[name]["precision"] for name in ("data_in_0", "weight", "bias")] == [[8, 4]] * 3
    assert "bias" not in common(graph, "conv")["args"]
    graph, info = quantize_transform_pass(cnn(), {"by": "name", "depth": ENTRY})
    assert info["quantized"] == ["depth"]


def test_quantizing_again_keeps_options() -> None:
    graph, _ = quantize_transform_pass(cnn(), by_type(conv2d=ENTRY, max_pool2d=spec(data_in=EIGHT)))
    x = torch.randn(2, 3, 8, 8)
    wide = Fixed(16, 8)
    entry = spec(data_in=wide, weight=wide, bias=wide)
    graph, _ = quantize_transform_pass(graph, by_type(conv2d=entry, max_pool2d=spec(data_in=wide)))
    once, _ = quantize_transform_pass(cnn(), by_type(conv2d=entry, max_pool2d=spec(data_in=wide)))
    assert torch.equal(graph.model(x), once.model(x))


def test_calibrated() -> None:
    widths = {"name": "integer", "data_in_width": 8, "weight_width": 6, "bias_width": 8}
    table: dict[str, Any] = {op: {"config": widths} for op in ("conv2d", "batch_norm2d", "linear")}
    table["max_pool2d"] = {"config": {"name": "integer", "data_in_width": 8}}
    torch.manual_seed(1)
    source = {"input_generator": iter([torch.randn(8, 3, 8, 8)]), "num_samples": 8}
    graph, info = calibrate_transform_pass(cnn(), {"by": "type", **table, **source})
    rows = {(row["node"], row["tensor"]): row for row in info["fits"]}
    assert ("conv", "bias") not in rows
    assert rows["depth", "weight"]["total"] == 8 * 9
    assert rows["pool", "data_in"]["from"] == "samples"
    assert rows["pool", "data_in"]["total"] == 8 * 4 * 64
    norm = graph.modules["bn"]
    assert rows["bn", "weight"]["frac"] == norm.spec.weight.frac
    scale = (norm.weight.detach() / torch.sqrt(norm.running_var + norm.eps)).abs().max()
    assert float(scale) < 2.0 ** (5 - norm.spec.weight.frac) * 1.01


def test_statistics_per_channel() -> None:
    x = torch.randn(6, 3, 8, 8)
    args = {
        "by": "type",
        "target_weight_nodes": ["conv2d"],
        "target_activation_nodes": ["batch_norm2d"],
        "weight_statistics": {"range_min_max": {"dims": "channel"}},
        "activation_statistics": {"range_min_max": {"dims": "channel"}},
        "input_generator": iter([x]),
        "num_samples": 6,
    }
    graph, _ = profile_statistics_analysis_pass(cnn(), args)
    seen = software(graph, "bn")["args"]["data_in_0"]["stat"]["range_min_max"]
    with torch.no_grad():
        values = graph.modules["conv"](x)
    assert torch.equal(seen["max"].float(), values.amax((0, 2, 3)))
    weights = software(graph, "depth")["args"]["weight"]["stat"]["range_min_max"]
    assert torch.equal(weights["min"].float(), graph.modules["depth"].weight.detach().amin((1, 2, 3)))


def test_counts() -> None:
    graph, info = count_flops_analysis_pass(cnn())
    assert info["uncounted"] == []
    assert info["flops"]["depth"] == 4 * 8 * 4 * 9  # one channel in each group
    assert info["flops"]["pool"] == 4 * 4 * 16 * 4
    graph, _ = quantize_transform_pass(graph, by_type(conv2d=ENTRY))
    _, bits = count_bitops_analysis_pass(graph)
    assert bits["bitops"]["depth"] == info["flops"]["depth"] * (8 * 8 + 8)


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = cnn(), quantize_transform_pass(cnn(), by_type(conv2d=ENTRY))[0]
    _, info = summarize_quantization_analysis_pass(before, after)
    changed = [row["Original name"] for row in info["nodes"] if row["Changed"]]
    assert changed == ["conv", "depth", "conv2d", "adaptive_avg_pool2d"]  # the average is exact now
    assert "Conv2dInteger" in capsys.readouterr().out


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rank", [1, 2])
def test_folded_into_convolutions(rank: int, bias: bool) -> None:
    kinds: Any = ((nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d))[rank - 1]
    conv = kinds[0](4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=bias)
    model = randomized(nn.Sequential(conv, kinds[1](6), nn.ReLU()), 3).double().eval()
    x = torch.randn(5, 4, *[9] * rank, dtype=torch.float64)
    graph = graph_of(model.float(), 4, *[9] * rank)
    graph, info = fuse_batch_norm_transform_pass(graph)
    assert info == {"fused": {"_1": "_0"}, "refused": {}}
    new: Any = graph.modules["0"]
    assert (new.groups, new.stride, new.dilation) == (2, (2,) * rank, (2,) * rank)
    assert new is not conv
    # Two ways to compute one real function: this compares reals, not bits.
    assert torch.allclose(graph.model.double()(x), model.double()(x), rtol=1e-5, atol=1e-5)


def test_pruned_convolutions_stay_pruned_when_quantized() -> None:
    model = randomized(nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU()), 1)
    graph, info = prune_transform_pass(graph_of(model, 2, 9), {"weight": {"sparsity": 0.5, "granularity": "neuron"}})
    assert info["layers"][0]["zero neurons"] == 2
    graph, _ = quantize_transform_pass(graph, by_type(conv1d=ENTRY))
    module = graph.modules["0"]
    assert isinstance(module, Conv1dInteger)
    assert module.pruning_masks is not None
    assert int((module.integers()["weight"] == 0).all((1, 2)).sum()) == 2
