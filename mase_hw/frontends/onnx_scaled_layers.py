"""Matrices, convolutions and pools of a file with scales: integers times integers; scales and biases go on behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mase_hw.frontends.onnx_graph import OnnxNode
from mase_hw.frontends.onnx_nodes import matrix
from mase_hw.frontends.onnx_quant import Constant, grid_type
from mase_hw.frontends.onnx_scaled_constants import Numbers, ScaledConstants
from mase_hw.frontends.onnx_scaled_state import Flowing, ScaledWalk
from mase_hw.frontends.onnx_staircase import Between, Line, Ratios, ratios
from mase_hw.frontends.onnx_steps import Conv, Linear, Pool
from mase_hw.frontends.onnx_windows import average_pool, conv, global_pool, max_pool, pad, reduce
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Fixed
from mase_hw.numerics.rounding import Integers

_POOLS: dict[str, Callable[[Any, OnnxNode], None]] = {
    "MaxPool": max_pool,
    "GlobalMaxPool": global_pool,
    "ReduceMax": reduce,
}


_AVERAGES: dict[str, Callable[[Any, OnnxNode], None]] = {
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool,
    "ReduceMean": reduce,
}


def linear(state: ScaledWalk, node: OnnxNode) -> None:
    """Gemm, MatMul."""
    wanted = {"transA": 0.0, "alpha": 1.0, "beta": 1.0} if node.op == "Gemm" else {}
    given = {key: state.finder.number(node, key, value) for key, value in wanted.items()}
    if given != wanted:
        differ = ", ".join(f"{key} = {given[key]:g}" for key in wanted if given[key] != wanted[key])
        state.finder.node(node, f"{differ} is not supported", "use transA = 0, alpha = 1, beta = 1")
        return
    weight, x = _weight(state, node), _read(state, node)
    if weight is None or x is None or weight.scale is None:
        return
    transposed = node.op == "Gemm" and bool(state.finder.number(node, "transB", 0))
    before, told = state.flowing, len(state.finder.found.problems)
    matrix(state, replace(node, inputs=node.inputs[:2]), transposed)
    if len(state.finder.found.problems) > told:
        return
    step = state.maker
    assert isinstance(step, Linear)
    rows = weight.scale if transposed else weight.scale.T
    _finish(state, node, before, step.weight.values, rows, x, (before.lo, before.hi))


def convolution(state: ScaledWalk, node: OnnxNode) -> None:
    weight, x = _weight(state, node), _read(state, node)
    if weight is None or x is None or weight.scale is None:
        return
    before, told, shape = state.flowing, len(state.finder.found.problems), state.shape
    conv(state, replace(node, inputs=node.inputs[:2]))
    if len(state.finder.found.problems) > told:
        return
    step = state.maker
    assert isinstance(step, Conv)
    values = step.weight.values
    taps, outs, ins = int(np.prod(values.shape[2:])), len(values), values.shape[1]
    own = step.windows.frame != tuple(shape[1:])  # a padding of its own stands before it
    ends = (before.lo, before.hi)
    if own or any(map(any, step.windows.padding)):
        if any(x[1]):
            text = "pads with zeros, and 0 is none of the integers that stand for its input"
            state.finder.node(node, text, "use a zero point of 0 at the input of the model")
            return
        ends = (np.minimum(before.lo, 0), np.maximum(before.hi, 0))
    channels = np.arange(outs)[:, None] // (outs // step.groups) * ins + np.arange(ins)  # that each output reads
    spread = np.repeat(channels, taps, axis=1)
    _finish(state, node, before, values.reshape(outs, -1), weight.scale.reshape(outs, -1), x, ends, spread)


def _read(state: ScaledWalk, node: OnnxNode) -> tuple[Fraction, Ratios] | None:
    """The one factor of all integers that a matrix reads, and the offset of each."""
    if not state.settle(node):
        return None
    lines = state.lines(node)
    if lines is None:
        return None
    factor, offset = lines
    if any(each != factor[0] for each in factor):
        text = "its inputs have different scales, and integers of different scales cannot be added"
        state.finder.node(node, text, "quantize activations per tensor; weights may be quantized per channel")
        return None
    if not factor[0]:
        state.finder.node(node, "its input is multiplied by zero")
        return None
    return factor[0], offset


def _weight(state: ScaledWalk, node: OnnxNode) -> Numbers | None:
    """The weight as integers with a scale for each output."""
    constants: Any = state.constants
    assert isinstance(constants, ScaledConstants)
    name = node.inputs[1] if len(node.inputs) > 1 else ""
    if node.inputs[0] in constants or name not in constants:
        state.finder.node(node, "its weight is not a constant", "hardware multiplies by constants alone")
        return None
    found = constants.numbers(name)
    if found is None:
        return None
    if found.scale is None:
        values = np.asarray(found.values, np.float64)
        fixed = grid_type(values)
        if fixed is None:
            state.finder.node(
                node,
                "its weight has no Quant and is made of floats that no type of 32 bits or fewer has exactly",
                "quantize it (Brevitas: weight_quant=Int8WeightPerTensorFloat)",
            )
            return None
        found = Numbers(values * 2.0**fixed.frac, np.full(values.shape, 2.0**-fixed.frac), found.names)
        constants.keep(name, found)
    return found


def _finish(
    state: ScaledWalk,
    node: OnnxNode,
    before: Flowing,
    weight: Any,
    scale: Any,
    x: tuple[Fraction, Ratios],
    ends: tuple[Integers, Integers],
    channels: Integers | None = None,
) -> None:
    """The stream of the sums, and the chain that they stand for. `channels`: which input each weight multiplies."""
    if (scale != scale[:, :1]).any():
        text = "its weight has a scale for each input, and sums have one for each output"
        state.finder.node(node, text, "quantize weights per tensor, or per output channel")
        return
    factor, offset = x
    whole = weight.astype(np.int64)
    outs = len(whole)
    lo, hi = (side[None] if channels is None else side[channels] for side in ends)
    positive, negative = np.maximum(whole, 0), np.minimum(whole, 0)
    reach = float(np.abs(weight).sum(1).max(initial=0)) * float(max(abs(lo).max(), abs(hi).max(), 1))
    if reach >= 2.0 ** (MAX_ACCUMULATOR_BITS - 1):
        state.finder.node(node, f"its sums can take more than {MAX_ACCUMULATOR_BITS} bits", "use fewer bits")
        return
    least, most = (positive * lo + negative * hi).sum(1), (positive * hi + negative * lo).sum(1)
    if all(each == offset[0] for each in offset):
        added = ratios(whole.sum(1)) * offset[0]
    else:
        each = offset[None] if channels is None else offset[channels]
        added = (np.where(whole == 0, 0, whole).astype(object) * each).sum(1)
    rows = ratios(scale[:, 0])
    bias: Ratios | int = 0
    if len(node.inputs) > 2 and node.inputs[2]:
        constants: Any = state.constants
        found = constants.numbers(node.inputs[2])
        if found is None or found.values.size not in (1, outs):
            state.finder.node(node, "its bias is not one constant number for each output")
            return
        bias = found.ratios
    before.taken = True
    state.streams[state.source] = Flowing(least, most)
    state.chain = (Line(rows * factor, added * rows + bias),)
    state.biasless = False


def pool(state: ScaledWalk, node: OnnxNode) -> None:
    """The largest of each window: where the chain rises, also of what the integers stand for."""
    if not state.settle(node) or not state.rises(node, state.chain):
        return
    before, told = state.flowing, len(state.finder.found.problems)
    _POOLS[node.op](state, node)
    if len(state.finder.found.problems) == told:
        before.taken = True
        state.moved_on(before, replace(before))


def average(state: ScaledWalk, node: OnnxNode) -> None:
    """The sum of each window and channel, as a convolution with ones; what it is divided by goes on behind."""
    if not state.settle(node) or (lines := state.lines(node)) is None:
        return
    before, told, first, shape = state.flowing, len(state.finder.found.problems), len(state.links), state.shape
    _AVERAGES[node.op](state, node)
    if len(state.finder.found.problems) > told:
        return
    made = [k for k in range(first, len(state.links)) if isinstance(state.links[k].step, Pool)]
    step = state.links[made[0]].step if len(made) == 1 else None
    if not isinstance(step, Pool) or step.ceil or any(map(any, step.windows.padding)) or len(state.links) > made[0] + 2:
        state.finder.node(node, "averages padded windows", "use an average without padding and ceil_mode")
        return
    channels, taps = shape[0], step.windows.taps
    ones = Constant(np.ones((channels, 1, *step.windows.kernel)), Fixed(2, 0))
    conv_step = Conv(step.name, node, ones, None, step.windows, channels)
    state.links[made[0]] = replace(state.links[made[0]], step=conv_step)
    before.taken = True
    state.streams[state.source] = Flowing(before.lo * taps, before.hi * taps)
    state.chain = (Line(lines[0] * Fraction(1, taps), lines[1]),)


def padding(state: ScaledWalk, node: OnnxNode) -> None:
    if not state.settle(node):
        return
    if any((isinstance(part, Line) and _moves_zero(part)) or (isinstance(part, Between) and _lifts(part))
           for part in state.chain):  # fmt: skip
        text = "pads with zeros, and 0 is none of the integers that stand for its input"
        state.finder.node(node, text, "put a Quant with the zero point 0 before it")
        return
    before, told = state.flowing, len(state.finder.found.problems)
    pad(state, node)
    if len(state.finder.found.problems) == told:
        before.taken = True
        ends = np.minimum(before.lo, 0), np.maximum(before.hi, 0)
        state.moved_on(before, Flowing(*ends, before.fixed))


def _moves_zero(line: Line) -> bool:
    return any(line.offset) or (line.behind is not None and any(line.behind))


def _lifts(part: Between) -> bool:
    return (part.lo is not None and part.lo > 0) or (part.hi is not None and part.hi < 0)
