"""MaseGraph: names, ops, places, copies, and models that cannot be traced."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.graph import (
    MaseGraph,
    deepcopy_mase_graph,
    get_mase_op,
    get_mase_type,
    get_node_actual_target,
    get_node_place,
    get_parent_name,
)
from mase_hw.passes import init_metadata_analysis_pass


def line_of(function: object, text: str) -> int:
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, line in enumerate(lines) if text in line)


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq_blocks = nn.Sequential(nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.Dropout())
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Identity()])
        self.spare = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.seq_blocks(x)
        for layer in self.layers:
            x = layer(x)
        x = F.relu(x)
        x = torch.relu(x)
        x = x.relu()
        x = F.linear(x, self.spare.weight, self.spare.bias)
        x = torch.flatten(x, 1)
        x = x.view(-1, 4)
        return x + x


class MyLinear(nn.Linear):
    pass


class OddLinear(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight) * 2


def test_names_types_and_ops() -> None:
    seen = {node.name: (node.op, get_mase_type(node), get_mase_op(node)) for node in MaseGraph(Mixed()).nodes}
    func, builtin = "module_related_func", "builtin_func"
    assert seen == {
        "x": ("placeholder", "placeholder", "placeholder"),
        "seq_blocks_0": ("call_module", "module", "batch_norm1d"),
        "seq_blocks_1": ("call_module", func, "relu"),
        "seq_blocks_2": ("call_module", func, "linear"),
        "seq_blocks_3": ("call_module", func, "dropout"),
        "layers_0": ("call_module", func, "linear"),
        "layers_1": ("call_module", "module", "identity"),
        "relu": ("call_function", func, "relu"),
        "relu_1": ("call_function", func, "relu"),
        "relu_2": ("call_method", func, "relu"),
        "spare_weight": ("get_attr", "get_attr", "get_attr"),
        "spare_bias": ("get_attr", "get_attr", "get_attr"),
        "linear": ("call_function", func, "linear"),
        "flatten": ("call_function", builtin, "flatten"),
        "view": ("call_method", builtin, "view"),
        "add": ("call_function", builtin, "add"),
        "output": ("output", "output", "output"),
    }


def test_unknown_things_have_their_own_names() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gelu, self.fold = nn.GELU(), nn.PReLU()

        def forward(self, x: Tensor) -> Tensor:
            return torch.fft.fft(self.fold(self.gelu(x)).cumsum(0)).abs_()

    ops = [(get_mase_type(node), get_mase_op(node)) for node in MaseGraph(Odd()).nodes][1:-1]
    assert ops == [
        ("module_related_func", "gelu"),
        ("module_related_func", "prelu"),
        ("builtin_func", "cumsum"),
        ("builtin_func", "fft_fft"),
        ("builtin_func", "abs"),
    ]


def test_a_subclass_is_its_parent_unless_it_computes_something_else() -> None:
    ops = [get_mase_op(node) for node in MaseGraph(nn.Sequential(MyLinear(4, 4), OddLinear(4, 4))).nodes]
    assert ops == ["placeholder", "linear", "get_attr", "linear", "mul", "output"]
    whole = MaseGraph(nn.Sequential(OddLinear(4, 4)), custom_ops=[OddLinear])
    assert [get_mase_op(node) for node in whole.nodes] == ["placeholder", "oddlinear", "output"]


def test_each_node_knows_its_line() -> None:
    places = {node.name: get_node_place(node) for node in MaseGraph(Mixed()).nodes}
    for name, text in (
        ("x", "def forward"),
        ("seq_blocks_0", "self.seq_blocks(x)"),
        ("seq_blocks_2", "self.seq_blocks(x)"),
        ("layers_0", "x = layer(x)"),
        ("relu_1", "torch.relu(x)"),
        ("linear", "F.linear("),
        ("view", "x.view"),
    ):
        place = places[name]
        assert place is not None
        assert (place.path, place.line) == (Path(__file__), line_of(Mixed, text)), name


def test_a_bare_sequential_has_no_line_of_the_users() -> None:
    assert [get_node_place(node) for node in MaseGraph(nn.Sequential(nn.ReLU())).nodes] == [None, None, None]


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        return -x


class Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return self.missing(x)


@pytest.mark.parametrize(
    ("model", "text", "said"),
    [
        (Branches, "if x.sum()", "Branches: forward cannot be traced: symbolically traced variables cannot be used as"),
        (Broken, "self.missing", "Broken: forward cannot be traced: 'Broken' object has no attribute 'missing'"),
    ],
)
def test_a_model_that_cannot_be_traced(model: type[nn.Module], text: str, said: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        MaseGraph(model())
    (problem,) = caught.value.problems
    assert problem.message.startswith(said)
    assert problem.hint
    assert problem.where is not None
    assert (problem.where.path, problem.where.line) == (Path(__file__), line_of(model, text))


def test_control_flow_arguments() -> None:
    class Switch(nn.Module):
        def forward(self, x: Tensor, twice: bool = False) -> Tensor:
            return x.relu().relu() if twice else x.relu()

    for twice, count in ((True, 2), (False, 1)):
        graph = MaseGraph(Switch(), cf_args={"twice": twice})
        assert sum(get_mase_op(node) == "relu" for node in graph.nodes) == count


def test_targets_and_parents() -> None:
    graph = MaseGraph(Mixed())
    targets = {node.name: get_node_actual_target(node) for node in graph.nodes}
    assert targets["seq_blocks_2"] is graph.modules["seq_blocks.2"]
    assert targets["relu"] is F.relu
    assert targets["view"] == "view"
    assert get_parent_name("a.b.2") == ("a.b", "2")
    assert get_parent_name("fc") == ("", "fc")


def test_the_model_keeps_its_structure_and_shares_its_parameters() -> None:
    model = Mixed()
    graph = MaseGraph(model)
    assert graph.modules["seq_blocks.2"].weight is model.seq_blocks[2].weight
    graph.model.get_submodule("seq_blocks").__setattr__("2", nn.Identity())
    assert isinstance(model.seq_blocks[2], nn.Linear)
    again = MaseGraph(graph.model)
    again.model.get_submodule("layers").__setattr__("0", nn.Identity())
    assert isinstance(graph.modules["layers.0"], nn.Linear)


@pytest.mark.parametrize("copied", [deepcopy_mase_graph, copy.deepcopy])
def test_a_deep_copy_shares_nothing(copied) -> None:  # type: ignore[no-untyped-def]
    graph, _ = init_metadata_analysis_pass(MaseGraph(Mixed().eval()))
    first = graph.nodes[3].meta["mase"]
    first.parameters["common"]["args"] = {"weight": {"precision": [32]}}
    new = copied(graph)
    second = new.nodes[3].meta["mase"]
    assert second.parameters == first.parameters
    second.parameters["common"]["args"]["weight"]["precision"] = [8, 4]
    assert first.parameters["common"]["args"]["weight"]["precision"] == [32]
    assert second.node is new.nodes[3]
    assert second.module is new.modules["seq_blocks.2"]
    assert second.module is not first.module
    assert second.place == first.place
    x = torch.randn(2, 8)
    assert torch.equal(new.model(x), graph.model(x))


def test_fx_graph_can_be_set() -> None:
    graph = MaseGraph(nn.Sequential(nn.ReLU(), nn.ReLU()))
    new = copy.deepcopy(graph.fx_graph)
    last = list(new.nodes)[-2]
    last.replace_all_uses_with(last.args[0])
    new.erase_node(last)
    graph.fx_graph = new
    assert len(graph.nodes) == 3
    assert graph.model(torch.tensor([-1.0])).item() == 0


def test_readers_after_an_inplace_relu_read_its_result() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.act = nn.Linear(4, 4), nn.ReLU(inplace=True)

        def forward(self, x: Tensor) -> Tensor:
            x = self.fc(x)
            before = x * 2
            x.relu_()
            y = x + before
            F.relu(y, inplace=True)
            z = self.act(y - 1)
            return z + y

    model = InPlace()
    graph = MaseGraph(model)
    nodes = {node.name: node for node in graph.nodes}
    assert nodes["add"].args == (nodes["relu_"], nodes["mul"])
    assert nodes["mul"].args[0] is nodes["fc"]
    assert nodes["add_1"].args == (nodes["act"], nodes["relu"])
    x = torch.randn(16, 4)
    assert torch.equal(graph.model(x), model(x))
