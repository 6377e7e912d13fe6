"""report_graph_analysis_pass: the graph in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase_hw.graph import MaseGraph, get_node_module

OPCODES = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")


def report_graph_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Prints the graph, its nodes per torch.fx opcode and its layers; with `file_name` they go to that file."""
    counts = dict.fromkeys(OPCODES, 0)
    layers = []
    for node in graph.fx_graph.nodes:
        counts[node.op] += 1
        module = get_node_module(node)
        if module is not None:
            layers.append(module)
    text = "\n".join([str(graph.fx_graph), "Network overview:", str(counts), "Layer types:", str(layers)])
    file_name = (pass_args or {}).get("file_name")
    if file_name is None:
        print(text)
    else:
        Path(file_name).write_text(text + "\n", encoding="utf-8")
    return graph, {"counts": counts, "layers": [type(layer).__name__ for layer in layers]}
