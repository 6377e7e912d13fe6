"""init_metadata_analysis_pass: empty metadata on every node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx

from mase_hw.graph import MaseGraph, MaseMetadata


def init_metadata_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Gives every node a fresh `node.meta["mase"]`."""
    for node in graph.fx_graph.nodes:
        node.meta["mase"] = MaseMetadata(node, graph.model)
    return graph, {}


def metadata_of(node: fx.Node, graph: MaseGraph) -> MaseMetadata:
    """The node's metadata, made on the spot for a node that has none yet."""
    found = node.meta.get("mase")
    if not isinstance(found, MaseMetadata):
        found = node.meta["mase"] = MaseMetadata(node, graph.model)
    return found
