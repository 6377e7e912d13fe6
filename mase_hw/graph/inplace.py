"""In-place operations: afterwards the graph says what torch computes, and nothing but a ReLU overwrites anything."""

from __future__ import annotations

from torch import fx

from mase_hw.diagnostics import Collector
from mase_hw.graph.metadata import get_mase_op, get_node_module, get_node_place
from mase_hw.graph.opcodes import INPLACE_OPERATORS, is_inplace

# The result may lie in the memory of the (first) input.
_VIEWS = frozenset(
    (
        *(
            "flatten",
            "unflatten",
            "view",
            "reshape",
            "squeeze",
            "unsqueeze",
            "transpose",
            "permute",
            "identity",
            "dropout",
        ),
        *("getitem", "to", "detach", "t", "chunk", "split", "narrow", "unbind", "view_as", "expand"),
    )
)
_NUMBERS = frozenset(("size", "numel", "dim", "item", "stride"))


def settle_inplace(model: fx.GraphModule) -> None:
    """Nodes that read an overwritten tensor later read the result of the node that overwrote it.

    Otherwise `x.relu_()` as a statement would look like a node that nobody reads, and `x += y` would leave the old x
    to its later readers. A tensor that is overwritten through a view of it, and read later, is a Problem.
    """
    position = {node: k for k, node in enumerate(model.graph.nodes)}
    changed = False
    with Collector() as problems:
        for node in model.graph.nodes:
            op, module = get_mase_op(node), get_node_module(node)
            source = node.args[0] if node.args else next(iter(node.all_input_nodes), None)
            if not is_inplace(node, op, module) or not isinstance(source, fx.Node):
                continue
            if not is_number(source):
                _check_views(node, source, position, problems)
                for reader in list(source.users):
                    if position[reader] > position[node]:
                        reader.replace_input_with(source, node)
                        changed = True
            if op != "relu" and source.op != "get_attr":
                # Overwriting would also squeeze a float64 result into float32.
                node.target = _plain(node.target, op)
                changed = True
    if changed:
        model.recompile()


def _plain(target: fx.node.Target, op: str) -> fx.node.Target:
    """The method or function that computes the same and overwrites nothing."""
    if isinstance(target, str):
        return op if target.startswith("__") else target.rstrip("_")
    return INPLACE_OPERATORS.get(target, target)


def _check_views(node: fx.Node, source: fx.Node, position: dict[fx.Node, int], problems: Collector) -> None:
    base = _base(source)
    for other in node.graph.nodes:
        if other is source or other is node or position[other] > position[node] or _base(other) is not base:
            continue
        late = [reader.name for reader in other.users if position[reader] > position[node]]
        if late:
            text = f"{node.name} overwrites {source.name}, which shares memory with {other.name}"
            hint = "write x = x + y instead of x += y, F.relu(x) instead of F.relu(x, inplace=True)"
            problems.add(f"{text}; {', '.join(late)} would read the overwritten values", get_node_place(node), hint)


def _base(node: fx.Node) -> fx.Node:
    """The node whose memory this one's result may be."""
    while True:
        op = get_mase_op(node)
        if op not in _VIEWS and not is_inplace(node, op, get_node_module(node)):
            return node
        first = node.all_input_nodes
        if not first:
            return node
        node = first[0]


def is_number(node: fx.Node) -> bool:
    """`x.size(0)`, `x.shape` and what is computed from them alone: Python numbers have no memory to overwrite."""
    op = get_mase_op(node)
    if op in _NUMBERS:
        return True
    if op == "getattr":
        return node.args[1] in ("shape", "ndim")
    inputs = node.all_input_nodes
    return bool(inputs) and all(is_number(source) for source in inputs)
