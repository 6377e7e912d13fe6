"""The two reports: metadata as tables, and what quantization changed."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch.nn.functional as F
from graphs import LINEAR, eight, graph_of, problems_of
from torch import Tensor, nn

from mase_hw.passes import (
    quantize_transform_pass,
    report_node_meta_param_analysis_pass,
    summarize_quantization_analysis_pass,
)


def test_parts_of_the_metadata(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graph = graph_of("jsc-tiny")
    path = tmp_path / "new" / "params.txt"
    _, info = report_node_meta_param_analysis_pass(graph, {"which": ("software",), "save_path": path})
    said = capsys.readouterr().out
    assert said == path.read_text() == info["text"] + "\n"
    assert "Software Param" in said
    assert "Common Param" not in said
    for words in (("seq_blocks_2", "call_module", "module_related_func", "linear"), ("x", "placeholder")):
        assert any(all(f" {word} " in line for word in words) for line in said.splitlines()), words
    for which in ("all", ("all",), None):
        report_node_meta_param_analysis_pass(graph, {} if which is None else {"which": which})
        said = capsys.readouterr().out
        assert all(f"{part} Param" in said for part in ("Common", "Software", "Hardware"))
    assert "shape: [8, 16]" in said
    assert "precision: [32]" in said


def test_nothing_is_wrapped_or_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    graph = graph_of("jsc-tiny")
    long = "a_name_that_is_longer_than_any_terminal_is_wide_" * 3
    graph.nodes[1].meta["mase"].parameters["hardware"][long] = {"inner": 0.123456789, "[bold]": "[/x]"}
    report_node_meta_param_analysis_pass(graph, {"which": ["hardware"]})
    said = capsys.readouterr().out
    assert f"{long}:" in said
    assert "  inner: 0.123457" in said
    assert "  [bold]: [/x]" in said  # not taken for a colour


def test_which_is_checked() -> None:
    told = problems_of(report_node_meta_param_analysis_pass, graph_of("jsc-tiny"), {"which": ("softwar",), "path": 1})
    assert [(problem.message, problem.hint) for problem in told] == [
        ('which: "softwar" is unknown', "did you mean software?"),
        ("report_node_meta_param_analysis_pass: unknown key path", "did you mean save_path?"),
    ]
    assert len(problems_of(report_node_meta_param_analysis_pass, graph_of("jsc-tiny"), {"which": 3})) == 1


def test_summary_of_the_lab(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    after, _ = quantize_transform_pass(graph_of("test-hhy"), LINEAR)
    graph, info = summarize_quantization_analysis_pass(graph_of("test-hhy"), after, save_dir=tmp_path / "new")
    assert graph is after
    rows = [list(row.values()) for row in info["summary"]]
    assert rows == [
        ["BatchNorm1d", "batch_norm1d", 5, 0, 5],
        ["Linear", "linear", 4, 4, 0],
        ["ReLU", "relu", 5, 0, 5],
        ["output", "output", 1, 0, 1],
        ["x", "placeholder", 1, 0, 1],
    ]
    with (tmp_path / "new" / "quantization_summary.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["Original type", "OP", "Total", "Changed", "Unchanged"],
            *[[str(value) for value in row] for row in rows],
        ]
    with (tmp_path / "new" / "quantization_nodes.csv").open() as file:
        nodes = list(csv.DictReader(file))
    assert len(nodes) == 16
    (linear,) = [row for row in nodes if row["New name"] == "seq_blocks_2"]
    assert (linear["Original type"], linear["New type"], linear["Changed"]) == ("Linear", "LinearInteger", "True")
    said = capsys.readouterr().out
    assert "LinearInteger" in said
    assert any(
        line.split() == ["│", "Linear", "│", "linear", "│", "4", "│", "4", "│", "0", "│"] for line in said.splitlines()
    )


class Mixed(nn.Module):
    """A functional form, and a float layer that needs a cast before it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.norm = nn.Linear(16, 4), nn.LayerNorm(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.fc(F.relu(x)))


def test_functional_forms_casts_and_other_types(capsys: pytest.CaptureFixture[str]) -> None:
    wide = {"config": {**LINEAR["linear"]["config"], "data_in_width": 24, "weight_width": 20}}
    config = {"by": "type", "relu": eight("data_in"), "linear": wide}
    after, made = quantize_transform_pass(graph_of(Mixed()), config)
    assert made["casts"] == ["fc_cast"]
    _, info = summarize_quantization_analysis_pass(graph_of(Mixed()), after)
    changed = {row["New name"]: row["New type"] for row in info["nodes"] if row["Changed"]}
    assert changed == {"relu": "ReLUInteger", "fc": "LinearInteger"}
    assert (info["added"], info["removed"]) == (["fc_cast"], [])
    other, _ = quantize_transform_pass(graph_of(Mixed()), {"by": "type", "relu": eight("data_in", frac=3)})
    _, info = summarize_quantization_analysis_pass(after, other)
    assert {row["New name"] for row in info["nodes"] if row["Changed"]} == {"relu", "fc"}  # other types; float again
    assert info["removed"] == ["fc_cast"]
    assert "Node by node" in capsys.readouterr().out


def test_graphs_that_have_nothing_in_common() -> None:
    (problem,) = problems_of(summarize_quantization_analysis_pass, graph_of("jsc-tiny"), graph_of(Mixed()))
    assert "share no layer" in problem.message
