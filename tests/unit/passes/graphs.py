"""What the tests of the passes share: small models as graphs with metadata."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import fx, nn

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import MaseGraph
from mase_hw.models import get_model
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    init_metadata_analysis_pass,
)


def graph_of(model: nn.Module | str, *shape: int, batch: int = 8, add_value: bool = True) -> MaseGraph:
    """A graph with metadata; the dummy input is random, of shape [batch, *shape] (default 16 features)."""
    torch.manual_seed(0)
    net = get_model(model) if isinstance(model, str) else model
    graph, _ = init_metadata_analysis_pass(MaseGraph(net.eval()))
    dummy = {str(graph.nodes[0].target): torch.randn(batch, *(shape or (16,)))}
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": dummy, "add_value": add_value})
    return add_software_metadata_analysis_pass(graph)[0]


def node_of(graph: MaseGraph, name: str) -> fx.Node:
    return next(node for node in graph.nodes if node.name == name)


def common(graph: MaseGraph, name: str) -> dict[str, Any]:
    found: dict[str, Any] = node_of(graph, name).meta["mase"].parameters["common"]
    return found


def software(graph: MaseGraph, name: str) -> dict[str, Any]:
    found: dict[str, Any] = node_of(graph, name).meta["mase"].parameters["software"]
    return found


def problems_of(call: Any, *args: Any, **kwargs: Any) -> list[Problem]:
    with pytest.raises(ProblemsError) as caught:
        call(*args, **kwargs)
    return list(caught.value.problems)


def eight(*arguments: str, frac: int = 4, name: str = "integer") -> dict[str, Any]:
    """A config of 8 bits for the given arguments."""
    types = {f"{argument}_width": 8 for argument in arguments} | {f"{a}_frac_width": frac for a in arguments}
    return {"config": {"name": name, **types}}


LINEAR = {"by": "type", "default": {"config": {"name": None}}, "linear": eight("data_in", "weight", "bias")}
