"""summarize_quantization_analysis_pass: which nodes quantization changed, by type and one by one."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import fx

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_mase_type, get_node_actual_target, get_node_module
from mase_hw.modules import QuantizedMixin
from mase_hw.passes.analysis.tables import text_table

SUMMARY = ("Original type", "OP", "Total", "Changed", "Unchanged")
NODES = ("Original name", "New name", "MASE type", "MASE op", "Original type", "New type", "Changed")


def summarize_quantization_analysis_pass(
    ori_graph: MaseGraph, graph: MaseGraph, save_dir: str | Path | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Prints both tables; `save_dir` gets them as quantization_summary.csv and quantization_nodes.csv.

    Nodes are matched by name. A node is changed if it calls something else, or the same quantized class with other
    types. `info`: `summary` and `nodes` (the rows), `added` (nodes of `graph` alone, such as casts), `removed`.
    """
    after = {node.name: node for node in graph.fx_graph.nodes}
    before = {node.name: node for node in ori_graph.fx_graph.nodes}
    common = [(old, after[name]) for name, old in before.items() if name in after]
    if len(common) <= 2 and len(before) > 3:
        text = "summarize_quantization_analysis_pass: the two graphs share no layer"
        raise ProblemsError(Problem(text, hint="give the graph before and the graph after quantize_transform_pass"))
    nodes: list[tuple[str, str, str, str, str, str, bool]] = []
    counts: dict[tuple[str, str], list[int]] = {}
    for old, new in common:
        changed = _kind(old) != _kind(new) or _spec(old) != _spec(new)
        nodes.append((old.name, new.name, get_mase_type(old), get_mase_op(old), _kind(old), _kind(new), changed))
        count = counts.setdefault((_kind(old), get_mase_op(old)), [0, 0])
        count[0] += 1
        count[1] += changed
    summary = [(kind, op, total, changed, total - changed) for (kind, op), (total, changed) in sorted(counts.items())]
    print(text_table("Quantized graph summary", SUMMARY, summary))
    print(text_table("Node by node", NODES, nodes))
    if save_dir is not None:
        _save(Path(save_dir) / "quantization_summary.csv", SUMMARY, summary)
        _save(Path(save_dir) / "quantization_nodes.csv", NODES, nodes)
    info = {
        "summary": [dict(zip(SUMMARY, row, strict=True)) for row in summary],
        "nodes": [dict(zip(NODES, row, strict=True)) for row in nodes],
        "added": [name for name in after if name not in before],
        "removed": [name for name in before if name not in after],
    }
    return graph, info


def _kind(node: fx.Node) -> str:
    """What a node calls: a module's class, a function's name; the name of an input, a method, an attribute."""
    target = get_node_actual_target(node)
    if node.op == "call_module":
        return type(target).__name__
    return target if isinstance(target, str) else str(getattr(target, "__name__", target))


def _spec(node: fx.Node) -> object:
    module = get_node_module(node)
    return module.spec if isinstance(module, QuantizedMixin) else None


def _save(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
