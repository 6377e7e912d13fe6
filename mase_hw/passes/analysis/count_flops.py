"""count_flops_analysis_pass: floating-point computations of a graph, for the batch it was analysed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.graph import MaseGraph
from mase_hw.passes.analysis.operations import computations
from mase_hw.passes.analysis.tensors import common_of


def count_flops_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """A node that reads floats counts its computations (the table in `operations`), one that reads integers none.

    Each node's figure is `parameters["common"]["flop"]`. `info`: `total_flops`; `flops` by node; `uncounted`, the
    nodes whose op has no formula here: they are in no sum.
    """
    flops: dict[str, int] = {}
    uncounted: list[str] = []
    for node in graph.fx_graph.nodes:
        common = common_of(node, graph, "count_flops_analysis_pass")
        count = computations(node, common)
        common.pop("flop", None)
        if count is None:
            uncounted.append(node.name)
            continue
        floats = common["args"].get("data_in_0", {}).get("type") == "float"
        flops[node.name] = common["flop"] = count if floats else 0
    return graph, {"total_flops": sum(flops.values()), "flops": flops, "uncounted": uncounted}
