"""remove_identity_transform_pass: takes out what changes nothing: identities, and dropouts that are not training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import fx, nn

from mase_hw.graph import MaseGraph, get_mase_op, get_node_module
from mase_hw.graph.opcodes import arguments


def remove_identity_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """`info["removed"]` names the nodes taken out, `info["kept"]` the dropouts that still drop.

    A module dropout counts as training while the module is; `F.dropout` as the model was when it was traced.
    """
    removed: list[str] = []
    kept: list[str] = []
    for node in list(graph.fx_graph.nodes):
        op = get_mase_op(node)
        if op == "dropout" and _drops(node):
            kept.append(node.name)
        elif op in ("identity", "dropout"):
            node.replace_all_uses_with(node.all_input_nodes[0])
            graph.fx_graph.erase_node(node)
            removed.append(node.name)
    if removed:
        graph.model.recompile()
    return graph, {"removed": removed, "kept": kept}


def _drops(node: fx.Node) -> bool:
    module = get_node_module(node)
    if module is not None:
        assert isinstance(module, nn.Dropout)
        return module.training and module.p > 0
    given = arguments(node, "dropout")
    return bool(given.get("training", given.get("train", True))) and given.get("p", 0.5) > 0
