"""Metadata and the report: shapes, types, values, errors inside a layer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.graph import MaseGraph
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    init_metadata_analysis_pass,
    report_graph_analysis_pass,
)


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Linear(16, 5), nn.ReLU(inplace=True))


def with_common(model: nn.Module, **pass_args: object) -> MaseGraph:
    graph, _ = init_metadata_analysis_pass(MaseGraph(model))
    given = {"dummy_in": {graph.nodes[0].target: torch.randn(8, 16)}, **pass_args}
    return add_common_metadata_analysis_pass(graph, given)[0]


def test_init_gives_every_node_the_three_parts() -> None:
    graph, info = init_metadata_analysis_pass(MaseGraph(net()))
    assert info == {}
    for node in graph.nodes:
        assert node.meta["mase"].parameters == {"common": {}, "software": {}, "hardware": {}}
        assert node.meta["mase"].node is node
    assert graph.nodes[3].meta["mase"].module is graph.modules["2"]
    assert graph.nodes[0].meta["mase"].module is None


def test_common_metadata_of_a_linear() -> None:
    common = with_common(net(), add_value=False).nodes[3].meta["mase"].parameters["common"]
    number = {"torch_dtype": torch.float32, "type": "float", "precision": [32]}
    assert common == {
        "mase_type": "module_related_func",
        "mase_op": "linear",
        "args": {
            "data_in_0": {"shape": [8, 16], **number},
            "weight": {"shape": [5, 16], **number},
            "bias": {"shape": [5], **number},
        },
        "results": {"data_out_0": {"shape": [8, 5], **number}},
    }


def test_values_are_those_before_an_inplace_layer_overwrites_them() -> None:
    model = net().eval()
    x = torch.randn(8, 16)
    graph = with_common(model, dummy_in={"input": x.clone()})
    common = [node.meta["mase"].parameters["common"] for node in graph.nodes]
    expected = model[0](x)
    assert (expected < 0).any()
    assert torch.equal(common[1]["results"]["data_out_0"]["value"], expected)
    assert torch.equal(common[2]["args"]["data_in_0"]["value"], expected)
    assert torch.equal(common[2]["results"]["data_out_0"]["value"], expected.relu())
    assert torch.equal(common[-1]["results"]["data_out_0"]["value"], model(x))


def test_analysis_runs_in_eval_mode_and_gives_the_flags_back() -> None:
    model = net().train()
    model[2].eval()
    before = model[0].running_mean.clone()
    graph = with_common(model)
    assert torch.equal(model[0].running_mean, before)
    assert [graph.modules[str(k)].training for k in range(4)] == [True, True, False, True]


def test_functional_arguments_have_their_names() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 16))
            self.register_buffer("mean", torch.zeros(4))
            self.register_buffer("var", torch.ones(4))

        def forward(self, x: Tensor) -> Tensor:
            x = F.linear(x, weight=self.weight)
            x = F.batch_norm(x, self.mean, self.var)
            return x + x.relu()

    graph = with_common(Functional().eval())
    common = {node.name: node.meta["mase"].parameters["common"] for node in graph.nodes}
    assert {name: entry["shape"] for name, entry in common["linear"]["args"].items()} == {
        "data_in_0": [8, 16],
        "weight": [4, 16],
    }
    assert common["batch_norm"]["mase_op"] == "batch_norm1d"
    assert set(common["batch_norm"]["args"]) == {"data_in_0", "running_mean", "running_var"}
    assert set(common["add"]["args"]) == {"data_in_0", "data_in_1"}


class Mismatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(16, 8)
        self.fc2 = nn.Linear(9, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc1(x)
        return self.fc2(x)  # here


def test_an_error_inside_a_layer_names_it_and_its_line() -> None:
    model = Mismatch().train()
    with pytest.raises(ProblemsError) as caught:
        with_common(model)
    (problem,) = caught.value.problems
    assert problem.message.startswith("fc2 (Linear): fails on an input of shape [8, 8]: mat1 and mat2 shapes")
    assert problem.where is not None
    assert problem.where.path == Path(__file__)
    assert "# here" in str(problem.where.source())
    assert model.fc1.training, "the training flags come back after an error too"


def test_dummy_in_is_checked() -> None:
    graph = MaseGraph(Mismatch())
    with pytest.raises(ProblemsError, match="dummy_in is missing"):
        add_common_metadata_analysis_pass(graph)
    with pytest.raises(ProblemsError) as caught:
        add_common_metadata_analysis_pass(graph, {"dummy_in": {"xx": torch.zeros(1)}})
    assert [p.message for p in caught.value.problems] == [
        "dummy_in: forward has no argument xx",
        "dummy_in: x is missing",
    ]


def test_software_metadata_has_a_place_for_every_statistic_and_keeps_them() -> None:
    graph, _ = add_software_metadata_analysis_pass(with_common(net()))
    software = graph.nodes[3].meta["mase"].parameters["software"]
    assert software == {
        "args": {"data_in_0": {"stat": {}}, "weight": {"stat": {}}, "bias": {"stat": {}}},
        "results": {"data_out_0": {"stat": {}}},
    }
    software["args"]["weight"]["stat"]["variance_precise"] = 1
    add_software_metadata_analysis_pass(graph)
    assert software["args"]["weight"]["stat"] == {"variance_precise": 1}


def test_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    counts = "{'placeholder': 1, 'get_attr': 0, 'call_function': 0, 'call_method': 0, 'call_module': 4, 'output': 1}"
    _, info = report_graph_analysis_pass(MaseGraph(net()))
    said = capsys.readouterr().out
    assert counts in said
    assert "Linear(in_features=16, out_features=5, bias=True)" in said
    assert info["layers"] == ["BatchNorm1d", "ReLU", "Linear", "ReLU"]
    report_graph_analysis_pass(MaseGraph(net()), {"file_name": tmp_path / "graph.txt"})
    assert capsys.readouterr().out == ""
    assert counts in (tmp_path / "graph.txt").read_text()
