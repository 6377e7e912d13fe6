"""Adds, subs and muls that stay unquantized between quantized layers: made exact, or refused where nothing is."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, fx, nn

from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.graph import get_mase_op, get_node_place
from mase_hw.graph.joins import BRANCH_OPS, Operands, operands, why_not_plain
from mase_hw.modules import QuantizedMixin
from mase_hw.modules.exact import Accumulator, exact_constant, hull, product, range_of, total
from mase_hw.modules.mul import constant_tensor
from mase_hw.modules.unquantized import EXACT_FUNCTIONS
from mase_hw.passes.analysis.tensors import attribute_of

_SAME_RANGE = ("relu", "identity", "dropout", "flatten", "view", "reshape", "squeeze", "unsqueeze", "to")


def find_exact(graph: fx.Graph, module_of: Callable[[fx.Node], nn.Module | None], problems: Collector) -> list[fx.Node]:
    """The unquantized adds, subs and muls that read values of fixed-point types alone.

    `module_of` gives the module that a node calls, or is going to call. A result that float64 cannot hold is a problem.
    """
    ranges: dict[fx.Node, Accumulator] = {}  # of nodes whose values lie on a grid
    found: list[fx.Node] = []
    for node in graph.nodes:
        op, module = get_mase_op(node), module_of(node)
        if isinstance(module, QuantizedMixin):
            if not module.bypass:
                ranges[node] = _range(module)
        elif op in _SAME_RANGE and node.all_input_nodes and node.all_input_nodes[0] in ranges:
            ranges[node] = ranges[node.all_input_nodes[0]]
        elif op in BRANCH_OPS and module is None and why_not_plain(node, op) is None:
            given = operands(node, op)
            if not all(stream in ranges for stream in given.streams):
                continue
            read = [ranges[stream] for stream in given.streams]
            made = problems.attempt(lambda node=node, op=op, given=given, read=read: _joined(node, op, given, read))  # type: ignore[misc]
            if made is not None:
                ranges[node] = made
            if op in EXACT_FUNCTIONS:
                found.append(node)
    return found


def make_exact(nodes: list[fx.Node]) -> None:
    """Gives each of the nodes its exact function; name and readers stay."""
    for node in nodes:
        op = get_mase_op(node)
        given = operands(node, op)
        constant = () if given.constant is None else (given.constant,)
        node.op, node.target = "call_function", EXACT_FUNCTIONS[op]
        node.args, node.kwargs = (*given.streams, *constant), {}


def _joined(node: fx.Node, op: str, given: Operands, read: list[Accumulator]) -> Accumulator:
    try:
        if op == "cat":
            return hull(read)
        if op in ("add", "sub"):
            return total(node.name, read)
        assert given.constant is not None
        constant: Tensor | float = (
            given.constant if not isinstance(given.constant, fx.Node) else attribute_of(given.constant)
        )
        fixed = exact_constant(node.name, constant_tensor(node.name, constant))
        return product(node.name, read[0], fixed)
    except ProblemsError as error:
        problems = [Problem(p.message, p.where or get_node_place(node), p.hint, p.notes) for p in error.problems]
        raise ProblemsError(*problems) from None


def _range(module: QuantizedMixin) -> Accumulator:
    if module.spec.data_out is not None:
        return range_of(module.spec.data_out)
    exact = getattr(module, "accumulator", None)
    return exact if isinstance(exact, Accumulator) else range_of(module.x_quantizer.to)
