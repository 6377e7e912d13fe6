"""Lists of nodes in a pass's arguments: operator types, names or patterns."""

from __future__ import annotations

import re

from torch import fx

from mase_hw.config.table import Table, nearest, shown
from mase_hw.graph import MaseGraph, get_mase_op
from mase_hw.graph.opcodes import known


def find_targets(graph: MaseGraph, table: Table, key: str, by: str) -> list[fx.Node]:
    """The nodes that a list of types, names or patterns means; a word that can mean none is a problem."""
    words = table.values.get(key, [])
    if isinstance(words, str) or not isinstance(words, list | tuple | set | frozenset):
        table.problem(f"{key} = {shown(words)} is not a list", key, hint='such as ["linear"]')
        return []
    ops = {node: get_mase_op(node) for node in graph.fx_graph.nodes if node.op.startswith("call_")}
    names = [node.name for node in ops]
    allowed = sorted({*ops.values(), *known().types}) if by == "type" else names
    chosen: set[fx.Node] = set()
    for word in words:
        if by == "regex_name":
            meant = [node for node in ops if re.fullmatch(str(word), node.name)]
        else:
            meant = [node for node, op in ops.items() if word == (op if by == "type" else node.name)]
        chosen.update(meant)
        if not meant and (by == "regex_name" or word not in allowed):
            what = "is no operator type" if by == "type" else "names no node"
            offered = sorted(set(ops.values())) if by == "type" else names
            table.problem(f"{key}: {shown(word)} {what}", key, hint=nearest(str(word), offered, "the graph has"))
    return [node for node in ops if node in chosen]
