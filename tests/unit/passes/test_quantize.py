"""quantize_transform_pass: every form of a layer, shared layers, mixed nets, and what it refuses."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from mase_hw.config import Places
from mase_hw.diagnostics import ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module
from mase_hw.modules import BatchNorm1dInteger, LinearInteger, QuantizedMixin, ReLUInteger
from mase_hw.numerics import Fixed, Rounding
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    init_metadata_analysis_pass,
    quantize_transform_pass,
)

ALL = {
    "name": "integer",
    **{f"{argument}_width": 8 for argument in ("data_in", "weight", "bias")},
    **{f"{argument}_frac_width": 4 for argument in ("data_in", "weight", "bias")},
}
RELU = {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4}
NONE = {"config": {"name": None}}
EVERYTHING = {"by": "type", "default": {"config": ALL}}


def graph_of(model: nn.Module, features: int = 8) -> MaseGraph:
    graph, _ = init_metadata_analysis_pass(MaseGraph(model.eval()))
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": {_input(graph): torch.randn(4, features)}})
    return add_software_metadata_analysis_pass(graph)[0]


def _input(graph: MaseGraph) -> str:
    return str(graph.nodes[0].target)


def called(graph: MaseGraph) -> dict[str, str]:
    return {n.name: type(get_node_module(n)).__name__ for n in graph.nodes if n.op == "call_module"}


def problems(graph: MaseGraph, config: dict[str, Any]) -> list[str]:
    before = str(graph.fx_graph), called(graph)
    with pytest.raises(ProblemsError) as caught:
        quantize_transform_pass(graph, config)
    assert (str(graph.fx_graph), called(graph)) == before, "a refused pass leaves the graph as it was"
    return [problem.message for problem in caught.value.problems]


class Functional(nn.Module):
    """The same net as `Modules`, in functional forms."""

    def __init__(self, like: nn.Sequential) -> None:
        super().__init__()
        norm, fc, last = like[0], like[2], like[4]
        self.inner = nn.Module()
        self.inner.weight, self.inner.bias = fc.weight, fc.bias
        self.last_weight = last.weight
        self.gamma, self.beta = norm.weight, norm.bias
        self.register_buffer("mean", norm.running_mean)
        self.register_buffer("var", norm.running_var)

    def forward(self, x: Tensor) -> Tensor:
        x = F.batch_norm(x, self.mean, self.var, self.gamma, bias=self.beta, training=self.training)
        x = F.relu(x)
        x = F.linear(x, self.inner.weight, bias=self.inner.bias)
        x = torch.relu(x).relu()
        return F.linear(input=x, weight=self.last_weight)


def modules() -> nn.Sequential:
    torch.manual_seed(1)
    net = nn.Sequential(nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 3, bias=False))
    net[0].running_mean.copy_(torch.randn(8))
    net[0].running_var.copy_(torch.rand(8) + 0.5)
    return net.eval()


def test_functional_forms_compute_what_modules_do_on_the_same_parameters() -> None:
    plain = modules()
    functional = Functional(plain)
    reference, _ = quantize_transform_pass(graph_of(plain), EVERYTHING)
    graph, info = quantize_transform_pass(graph_of(functional), EVERYTHING)
    assert info["quantized"] == ["batch_norm", "relu", "linear", "relu_1", "relu_2", "linear_1"]
    assert called(graph) == {
        "batch_norm": "BatchNorm1dInteger",
        "relu": "ReLUInteger",
        "linear": "LinearInteger",
        "relu_1": "ReLUInteger",
        "relu_2": "ReLUInteger",
        "linear_1": "LinearInteger",
    }
    assert not [node for node in graph.nodes if node.op == "get_attr"]
    assert graph.modules["linear"].weight is functional.inner.weight
    assert graph.modules["batch_norm"].running_mean is functional.mean
    assert len(list(graph.model.parameters())) == len(list(functional.parameters()))
    x = torch.randn(64, 8)
    assert torch.equal(graph.model(x), reference.model(x))
    assert not torch.equal(graph.model(x), plain(x))


def test_metadata_after_quantization() -> None:
    config = {"by": "type", "linear": {"config": {**ALL, "weight_signed": False, "weight_width": 6}}}
    graph, _ = quantize_transform_pass(graph_of(modules()), config)
    common = {node.name: node.meta["mase"].parameters["common"] for node in graph.nodes}
    args = common["_2"]["args"]
    shown = {name: (args[name]["type"], args[name]["precision"], args[name]["signed"]) for name in args}
    assert shown == {
        "data_in_0": ("integer", [8, 4], True),
        "weight": ("integer", [6, 4], False),
        "bias": ("integer", [8, 4], True),
    }
    assert common["_2"]["mase_op"] == "linear"
    assert common["_2"]["results"]["data_out_0"]["type"] == "float"  # no data_out type was given
    assert "bias" not in common["_4"]["args"]
    assert common["_1"]["results"]["data_out_0"]["type"] == "float"  # its reader's type is not its own
    assert common["_0"]["args"]["data_in_0"]["type"] == "float"


def test_data_out_and_rounding_are_kept_on_the_module() -> None:
    config = {
        "by": "name",
        "_2": {"config": {**ALL, "name": "integer_floor", "data_out_width": 5, "data_out_frac_width": 1}},
    }
    graph, _ = quantize_transform_pass(graph_of(modules()), config)
    module = graph.modules["2"]
    assert isinstance(module, LinearInteger)
    assert (module.spec.rounding, module.spec.data_out) == (Rounding.FLOOR, Fixed(5, 1))
    assert graph.nodes[3].meta["mase"].parameters["common"]["results"]["data_out_0"]["precision"] == [5, 1]
    assert called(graph) == {
        "_0": "BatchNorm1d", "_1": "ReLU", "_2": "LinearInteger", "_3": "ReLU", "_4": "Linear"
    }  # fmt: skip


def test_pass_args_and_the_model_are_not_changed() -> None:
    config = {**copy.deepcopy(EVERYTHING), "places": None}
    before, model = copy.deepcopy(config), modules()
    quantize_transform_pass(graph_of(model), config)
    assert config == before
    assert type(model[2]) is nn.Linear


def test_by_regex() -> None:
    config = {"by": "regex_name", "default": NONE, "_[34]": {"config": ALL}, ".*": {"config": RELU}}
    net = nn.Sequential(nn.Flatten(), nn.ReLU(), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())
    graph, info = quantize_transform_pass(graph_of(net), config)
    assert info["quantized"] == ["_1", "_2", "_3", "_4"]  # the flatten and the input have no quantized form
    assert graph.modules["3"].spec.weight == Fixed(8, 4)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(8, 8), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.fc(self.act(self.fc(x))))


def test_a_module_called_twice_alike_is_one_module() -> None:
    graph, _ = quantize_transform_pass(graph_of(Twice()), EVERYTHING)
    assert get_node_module(graph.nodes[1]) is get_node_module(graph.nodes[3]) is graph.modules["fc"]
    assert get_node_module(graph.nodes[2]) is get_node_module(graph.nodes[4])
    assert isinstance(graph.modules["fc"], LinearInteger)


@pytest.mark.parametrize("first", [True, False])
def test_a_module_called_twice_with_two_specs(first: bool) -> None:
    narrow = {"config": {**ALL, "weight_width": 3, "weight_frac_width": 1}}
    entries = {"fc": {"config": ALL}, "fc_1": narrow} if first else {"fc_1": narrow}
    model = Twice()
    graph, _ = quantize_transform_pass(graph_of(model), {"by": "name", **entries})
    one, other = get_node_module(graph.nodes[1]), get_node_module(graph.nodes[3])
    assert type(one) is (LinearInteger if first else nn.Linear)
    assert isinstance(other, LinearInteger)
    assert graph.nodes[3].target == "fc_1"
    assert other.spec.weight == Fixed(3, 1)
    assert one.weight is other.weight is model.fc.weight
    assert sum(p.numel() for p in graph.model.parameters()) == 72


def test_nested_lists_and_sequentials() -> None:
    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            block = [nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 8))) for _ in range(2)]
            self.blocks = nn.ModuleList(block)

        def forward(self, x: Tensor) -> Tensor:
            for block in self.blocks:
                x = block(x)
            return x

    graph, info = quantize_transform_pass(graph_of(Nested()), {"by": "name", "blocks_1_1_1": {"config": ALL}})
    assert info["quantized"] == ["blocks_1_1_1"]
    assert isinstance(graph.modules["blocks.1.1.1"], LinearInteger)
    assert type(graph.modules["blocks.0.1.1"]) is nn.Linear


def test_quantizing_again_replaces_the_types() -> None:
    graph, _ = quantize_transform_pass(graph_of(modules()), EVERYTHING)
    graph, _ = quantize_transform_pass(graph, {"by": "type", "linear": {"config": {**ALL, "weight_width": 4}}})
    assert graph.modules["2"].spec.weight == Fixed(4, 4)
    assert graph.nodes[3].meta["mase"].parameters["common"]["args"]["weight"]["precision"] == [4, 4]


WIDE = {**ALL, "data_in_width": 16, "weight_width": 16}


@pytest.mark.parametrize("double", [False, True])
def test_float_layers_read_exact_float64_results_through_a_cast(double: bool) -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
    net = net.double() if double else net
    graph = MaseGraph(net.eval())
    graph, _ = add_common_metadata_analysis_pass(
        graph, {"dummy_in": {"input": torch.randn(4, 8, dtype=torch.float64 if double else torch.float32)}}
    )
    config = {"by": "name", "_0": {"config": ALL if double else WIDE}, "_5": {"config": WIDE}}
    graph, info = quantize_transform_pass(graph, config)
    assert info["casts"] == ["_2_cast"]  # the flatten's result, before the float linear that reads it
    x = torch.randn(4, 8)
    y = graph.model(x)
    assert y.dtype == torch.float64  # the output stays the exact accumulator
    first = graph.modules["0"]
    assert first(x).dtype == (torch.float32 if double else torch.float64)
    again, info = quantize_transform_pass(graph, config)
    assert info["casts"] == []
    assert torch.equal(again.model(x), y)


def test_between_quantized_layers_nothing_is_cast() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    config = {"by": "type", "linear": {"config": WIDE}}
    _, info = quantize_transform_pass(graph_of(net), config)
    assert info["casts"] == []


def test_without_metadata_it_quantizes_all_the_same() -> None:
    graph, info = quantize_transform_pass(MaseGraph(modules()), EVERYTHING)
    assert len(info["quantized"]) == 5
    assert all(isinstance(get_node_module(n), QuantizedMixin) for n in graph.nodes if n.op == "call_module")


def test_quantized_graphs_can_be_traced_again_and_saved() -> None:
    graph, _ = quantize_transform_pass(graph_of(modules()), EVERYTHING)
    net = nn.Sequential(graph.modules["0"], graph.modules["1"], graph.modules["2"])
    kinds = [type(get_node_module(n)) for n in MaseGraph(net).nodes if n.op == "call_module"]
    assert kinds == [BatchNorm1dInteger, ReLUInteger, LinearInteger]
    x = torch.randn(4, 8)
    fresh, _ = quantize_transform_pass(graph_of(nn.Sequential(*modules())), EVERYTHING)
    fresh.model.load_state_dict(graph.model.state_dict())
    assert torch.equal(fresh.model(x), graph.model(x))


# --- what it refuses -------------------------------------------------------------------------------------------------


def test_a_name_that_no_node_has() -> None:
    graph = graph_of(modules())
    config = {"by": "name", "_22": {"config": ALL}}
    with pytest.raises(ProblemsError) as caught:
        quantize_transform_pass(graph, config)
    (problem,) = caught.value.problems
    assert (problem.message, problem.hint) == ("passes.quantize: no node is named _22", "did you mean _2?")


def test_a_type_that_does_not_exist() -> None:
    assert problems(graph_of(modules()), {"by": "type", "liner": {"config": ALL}}) == [
        "passes.quantize: liner is no operator type"
    ]


@pytest.mark.parametrize(("by", "key"), [("type", "flatten"), ("name", "_0"), ("regex_name", "_0|x")])
def test_an_op_without_a_quantized_form(by: str, key: str) -> None:
    graph = graph_of(nn.Sequential(nn.Flatten(), nn.Linear(8, 4)))
    assert problems(graph, {"by": by, key: {"config": RELU}}) == [f"passes.quantize.{key}: flatten cannot be quantized"]


def test_missing_types_with_the_tomls_line() -> None:
    text = '[passes.quantize]\nby = "type"\n[passes.quantize.linear.config]\nname = "integer"\n'
    places = Places(Path("model.toml"), text)
    graph = graph_of(nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8)))
    with pytest.raises(ProblemsError) as caught:
        quantize_transform_pass(graph, {"by": "type", "linear": {"config": RELU}, "places": places})
    found = [(problem.message, str(problem.where)) for problem in caught.value.problems]
    assert found == [
        (
            f"passes.quantize.linear: {name}_width and {name}_frac_width are missing, and {node} (linear) needs them",
            where,
        )
        for name, node, where in (("weight", "_0", "model.toml:3"), ("bias", "_1", "model.toml:3"))
    ]


def test_no_bias_needs_no_type_of_bias() -> None:
    config = {key: value for key, value in ALL.items() if not key.startswith("bias")}
    graph, _ = quantize_transform_pass(
        graph_of(nn.Sequential(nn.Linear(8, 4, bias=False))), {"by": "type", "linear": {"config": config}}
    )
    assert isinstance(graph.modules["0"], LinearInteger)
    needs = problems(graph_of(nn.Sequential(nn.BatchNorm1d(8, affine=False))), {"batch_norm1d": {"config": config}})
    assert needs == [
        "passes.quantize.batch_norm1d: bias_width and bias_frac_width are missing, and _0 (batch_norm1d) needs them"
    ]


def test_problems_of_parameters_come_together_with_the_users_line() -> None:
    class Bad(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.fc2(self.fc1(x))

    model = Bad()
    with torch.no_grad():
        model.fc1.weight[2, 3] = float("nan")
        model.fc2.bias[1] = float("-inf")
    with pytest.raises(ProblemsError) as caught:
        quantize_transform_pass(MaseGraph(model), EVERYTHING)
    assert [p.message for p in caught.value.problems] == ["fc1: weight[2, 3] is nan", "fc2: bias[1] is -inf"]
    assert all(p.where is not None and p.where.path == Path(__file__) for p in caught.value.problems)


def test_computed_weights_and_hooks() -> None:
    class Computed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 8))

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(x, self.weight * 2)

    assert problems(MaseGraph(Computed()), EVERYTHING) == [
        "linear: its weight is computed, and only a parameter or a buffer can be quantized"
    ]
    normed = nn.Sequential(parametrizations.weight_norm(nn.Linear(8, 8)))
    assert problems(MaseGraph(normed), EVERYTHING) == [
        "_0: its weight is computed by a parametrization or a pruning hook"
    ]
    hooked = nn.Sequential(nn.Linear(8, 8))
    hooked[0].register_forward_hook(lambda module, args, result: result * 2)
    assert problems(MaseGraph(hooked), EVERYTHING) == [
        "_0: forward hooks are registered on this Linear, and would be lost"
    ]


def test_a_functional_batch_norm_traced_in_training_mode() -> None:
    functional = Functional(modules()).train()
    graph = MaseGraph(functional)
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": {"x": torch.randn(4, 8)}})
    assert get_mase_op(next(n for n in graph.nodes if n.name == "batch_norm")) == "batch_norm1d"
    assert problems(graph, EVERYTHING) == [
        "batch_norm: F.batch_norm takes the statistics of each batch, which has no quantized form"
    ]


def test_an_accumulator_that_nothing_holds() -> None:
    wide = {**ALL, "data_in_width": 32, "weight_width": 32}
    (message,) = problems(graph_of(nn.Sequential(nn.Linear(8, 4))), {"linear": {"config": wide}})
    assert message.startswith("_0: the exact sum of 8 products can reach 66 bits; 53 is the most")
