"""Adds, subs, muls and averages left unquantized between quantized layers: made exact, or refused where nothing is."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, fx, nn

from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.geometry import Frame
from mase_hw.graph import get_mase_op, get_node_place
from mase_hw.graph.joins import BRANCH_OPS, Operands, operands, why_not_plain
from mase_hw.graph.opcodes import known
from mase_hw.modules import QuantizedMixin
from mase_hw.modules.average import averaged
from mase_hw.modules.exact import Accumulator, exact_constant, hull, product, range_of, total
from mase_hw.modules.mul import constant_tensor
from mase_hw.modules.unquantized import EXACT_FUNCTIONS
from mase_hw.ops.window_options import WindowOptions
from mase_hw.passes.analysis.tensors import attribute_of
from mase_hw.passes.analysis.windows import AVERAGES, MAXIMA, float_form, options_of

_SAME_RANGE = (
    *("relu", "identity", "dropout", "flatten", "unflatten", "view", "reshape", "squeeze", "unsqueeze", "to"),
    *("transpose", "permute", "upsample", "zero_pad", *MAXIMA),
)


def find_exact(graph: fx.Graph, module_of: Callable[[fx.Node], nn.Module | None], problems: Collector) -> list[fx.Node]:
    """The unquantized adds, subs, muls and averages that read values of fixed-point types alone.

    `module_of` gives the module that a node calls, or is going to call. A result that float64 cannot hold is a problem.
    The average of a number of values that is no power of two lies on no grid: it is exact, and what reads it is not,
    unless that quantizes it.
    """
    ranges: dict[fx.Node, Accumulator] = {}  # of nodes whose values lie on a grid
    found: list[fx.Node] = []
    for node in graph.nodes:
        op, module = get_mase_op(node), module_of(node)
        made: Accumulator | None
        if isinstance(module, QuantizedMixin):
            typed = module.spec.data_out is not None or op not in AVERAGES
            made = _range(module) if typed else _average(node, op, range_of(module.x_quantizer.to), problems)
            if not module.bypass and made is not None:
                ranges[node] = made
        elif op in AVERAGES:
            source = node.all_input_nodes[0]
            if source not in ranges or _windows(node, op) is None:
                continue
            made = _average(node, op, ranges[source], problems)
            if made is not None:
                ranges[node] = made
            found.append(node)
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
        if op in AVERAGES:
            _make_average(node, op)
            continue
        given = operands(node, op)
        constant = () if given.constant is None else (given.constant,)
        node.op, node.target = "call_function", EXACT_FUNCTIONS[op]
        node.args, node.kwargs = (*given.streams, *constant), {}


def _make_average(node: fx.Node, op: str) -> None:
    """The function of the same name and arguments; a module's options become arguments."""
    module = float_form(node, op)
    source = node.all_input_nodes[0]
    options = [getattr(module, name) for name in known().signatures[op][1:]]
    node.op, node.target, node.args, node.kwargs = "call_function", EXACT_FUNCTIONS[op], (source, *options), {}


def _windows(node: fx.Node, op: str) -> tuple[WindowOptions, Frame] | None:
    """The windows of an average and the frame that they lie on; None where it is none over positions."""
    metadata = node.meta.get("mase")
    shape = metadata.common.get("args", {}).get("data_in_0", {}).get("shape", []) if metadata is not None else []
    frame = tuple(shape[2:])
    try:
        return (options_of(node, op, frame), frame) if frame else None
    except ProblemsError:
        return None


def _average(node: fx.Node, op: str, read: Accumulator, problems: Collector) -> Accumulator | None:
    """What an average gives, where that lies on a grid; a sum that float64 cannot hold is a problem."""
    windows = _windows(node, op)
    try:
        return None if windows is None else averaged(node.name, *windows, read)
    except ProblemsError as error:
        problems.problems += _placed(node, error)
        return None


def _placed(node: fx.Node, error: ProblemsError) -> list[Problem]:
    return [Problem(p.message, p.where or get_node_place(node), p.hint, p.notes) for p in error.problems]


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
        raise ProblemsError(*_placed(node, error)) from None


def _range(module: QuantizedMixin) -> Accumulator:
    if module.spec.data_out is not None:
        return range_of(module.spec.data_out)
    exact = getattr(module, "accumulator", None)
    return exact if isinstance(exact, Accumulator) else range_of(module.x_quantizer.to)
