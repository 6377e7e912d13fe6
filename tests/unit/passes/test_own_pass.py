"""docs/own_pass.md: its example runs as it stands, does what it says, and refuses what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from graphs import problems_of
from torch import nn

from mase_hw.graph import MaseGraph

PAGE = Path(__file__).parents[3] / "docs" / "own_pass.md"


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    space: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), space)
    return space


def test_the_example_runs_and_says_what_the_page_says(names: dict[str, Any]) -> None:
    assert f"# {names['info']['replaced']}" in PAGE.read_text(encoding="utf-8")
    kinds = [type(module).__name__ for module in names["graph"].model.children()]
    assert kinds == ["LinearInteger", "ReLUInteger", "LinearInteger"]
    assert type(names["model"][1]) is nn.LeakyReLU


def test_the_example_refuses_and_leaves_the_graph(names: dict[str, Any]) -> None:
    net = nn.Sequential(nn.LeakyReLU(0.01), nn.LeakyReLU(0.5), nn.LeakyReLU(0.3))
    graph = MaseGraph(net)
    told = [problem.message for problem in problems_of(names["replace_leaky_relu_transform_pass"], graph)]
    assert told == [
        "_1: its slope 0.5 is above largest_slope = 0.1",
        "_2: its slope 0.3 is above largest_slope = 0.1",
    ]
    assert float(graph.model(torch.tensor(-100.0))) == float(net(torch.tensor(-100.0)))
    _, info = names["replace_leaky_relu_transform_pass"](graph, {"largest_slope": 0.5})
    assert info["replaced"] == ["_0", "_1", "_2"]
    assert float(graph.model(torch.tensor(-100.0))) == 0.0
