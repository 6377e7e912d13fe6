"""add_software_metadata_analysis_pass: a place for the statistics of every argument and result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.graph import MaseGraph
from mase_hw.passes.analysis.init_metadata import metadata_of


def add_software_metadata_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Gives each argument and result named in `common` an empty `stat`; those that have one keep it."""
    for node in graph.fx_graph.nodes:
        metadata = metadata_of(node, graph)
        for side in ("args", "results"):
            entries = metadata.software.setdefault(side, {})
            for name in metadata.common.get(side, {}):
                entries.setdefault(name, {"stat": {}})
    return graph, {}
