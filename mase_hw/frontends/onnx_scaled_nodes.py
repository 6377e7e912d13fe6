"""What each operator of a file with scales does to the integer stream before it, or to the chain behind that."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, OnnxNode
from mase_hw.frontends.onnx_nodes import flatten, reshape, squeeze, transpose
from mase_hw.frontends.onnx_scaled_constants import Numbers, ScaledConstants
from mase_hw.frontends.onnx_scaled_layers import average, convolution, linear, padding, pool
from mase_hw.frontends.onnx_scaled_quant import QDQ, Quantizer, dequantized_by, is_quantizer, parse_quantizer
from mase_hw.frontends.onnx_scaled_state import Flowing, ScaledWalk
from mase_hw.frontends.onnx_staircase import Between, Line, Rounded, affine, of_all, ratios
from mase_hw.numerics.codes import Codes
from mase_hw.numerics.crossing import Mode

_FLOAT = 1  # TensorProto.FLOAT
_BITS = 12  # of a stream between layers: every integer has a threshold
Handler = Callable[[ScaledWalk, OnnxNode], None]


def handler(node: OnnxNode) -> Handler | None:
    """What takes the node; None: its operator is not supported here."""
    if is_quantizer(node):
        return _dequantize if node.op == "DequantizeLinear" else _quantize
    return _HANDLERS.get(node.op) if node.domain in STANDARD_DOMAINS else None


def constants_of(state: ScaledWalk) -> ScaledConstants:
    found: Any = state.constants
    assert isinstance(found, ScaledConstants)
    return found


def along(state: ScaledWalk, node: OnnxNode, numbers: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """One number for each channel or feature of the stream, of a constant that is broadcast; None after a problem."""
    if numbers.size == 1:
        return numbers.reshape(1)
    whole = (1, *state.shape)
    padded = (1,) * (len(whole) - len(shape)) + shape
    frame = len(state.shape) > 1
    wanted = (1, state.shape[0], *[1] * (len(state.shape) - 1))
    if len(padded) == len(whole) and padded == wanted:
        values = numbers.reshape(-1)
        if not frame:
            moved = np.empty_like(values)
            moved[state.order] = values
            return moved
        if bool((state.order == np.arange(len(state.order))).all()):
            return values
    text = f"its constant has the shape {shape}, and [batch, {', '.join(map(str, state.shape))}] reaches it"
    state.finder.node(node, text, "the constant is one number, or one for each feature or channel")
    return None


def _operand(state: ScaledWalk, node: OnnxNode) -> tuple[Numbers, bool] | None:
    """The constant of a node with one stream, and whether the stream comes first."""
    constant = [name in state.constants for name in node.inputs]
    if len(node.inputs) != 2 or sum(constant) != 1:
        what = "reads two results of layers" if len(node.inputs) == 2 else f"has {len(node.inputs)} inputs, not 2"
        hint = "in a file with scales that are no powers of two, only constants can be added, or multiplied"
        state.finder.node(node, what, hint)
        return None
    found = constants_of(state).numbers(node.inputs[constant.index(True)])
    if found is None or not np.isfinite(np.asarray(found.values, np.float64)).all():
        state.finder.node(node, "its constant holds no finite numbers", "check the training")
        return None
    return found, not constant[0]


def _arithmetic(state: ScaledWalk, node: OnnxNode) -> None:
    """Mul, Div, Add or Sub by a constant."""
    given = _operand(state, node)
    if given is None:
        return
    numbers, first = given
    values = along(state, node, numbers.ratios, numbers.values.shape)
    if values is None:
        return
    one, nothing = of_all(1), of_all(0)
    if node.op == "Mul":
        line = Line(values, nothing)
    elif node.op == "Div":
        if not first or any(not each for each in values):
            text = "divides by the input" if not first else "divides by zero"
            state.finder.node(node, text, "hardware divides by constants alone")
            return
        line = Line(np.array([1 / each for each in values], object), nothing)
    elif node.op == "Add":
        line = Line(one, values)
    else:
        line = Line(one, -values) if first else Line(of_all(-1), values)
    state.chain = (*state.chain, line)
    state.biasless = False


def _norm(state: ScaledWalk, node: OnnxNode) -> None:
    found = [constants_of(state).numbers(name) for name in node.inputs[1:5]]
    if len(found) < 4 or any(part is None for part in found):
        state.finder.node(
            node, "its scale, B, mean or variance is not a constant", "call model.eval() before the export"
        )
        return
    if state.finder.number(node, "training_mode", 0):
        state.finder.node(node, "is in training mode", "call model.eval() before the export")
        return
    parts = []
    for part in found:
        assert part is not None
        if not np.isfinite(np.asarray(part.values, np.float64)).all() or part.values.shape != state.shape[:1]:
            state.finder.node(node, f"its numbers of shape {part.values.shape} do not fit, or are not finite")
            return
        shape = (*part.values.shape, *[1] * (len(state.shape) - 1))
        values = along(state, node, part.ratios, (1, *shape))
        if values is None:
            return
        parts.append(values)
    gamma, beta, mean, var = parts
    eps = Fraction(float(state.finder.number(node, "epsilon", 1e-5)))
    under = np.array([each + eps for each in var], object)
    if any(each <= 0 for each in under):
        state.finder.node(node, "a variance is negative, or zero without an epsilon", "check the training")
        return
    state.chain = (*state.chain, Line(gamma, -mean * gamma, under, beta))
    state.biasless = False


def _relu(state: ScaledWalk, node: OnnxNode) -> None:
    state.chain = (*state.chain, Between(Fraction(0), None))
    state.biasless = False


def _clip(state: ScaledWalk, node: OnnxNode) -> None:
    ends: list[Fraction | None] = []
    for k, key in enumerate(("min", "max"), 1):
        value = node.attributes.get(key)
        if len(node.inputs) > k and node.inputs[k]:
            found = constants_of(state).numbers(node.inputs[k])
            if found is None or found.values.size != 1:
                state.finder.node(node, f"its {key} is not a constant number")
                return
            value = float(np.asarray(found.values, np.float64).flat[0])
        if value is not None and not isinstance(value, int | float):
            state.finder.node(node, f"its {key} is not a number", "the file is damaged: export it again")
            return
        ends.append(None if value is None or not np.isfinite(value) else Fraction(float(value)))
    state.chain = (*state.chain, Between(*ends))
    state.biasless = False


def _quantize(state: ScaledWalk, node: OnnxNode) -> None:
    state.biasless = False
    quantizer = parse_quantizer(node, state.constants.array, state.finder, len(state.shape) + 1)
    if quantizer is None:
        return
    before, behind = _lines(state, node, quantizer)
    if before is None or behind is None:
        return
    if state.raw:
        _input(state, node, quantizer, before)
        state.chain = (*state.chain, behind)
        return
    if quantizer.fixed.width > _BITS:
        text = f"quantizes a result to {quantizer.fixed.width} bits, and {_BITS} are the most between layers"
        state.finder.node(node, text, "use fewer bits")
        return
    key = node.outputs[0]
    state.coded[key] = quantizer
    state.chain = (*state.chain, before, Rounded(quantizer.lo, quantizer.hi, quantizer.mode, key), behind)


def _lines(state: ScaledWalk, node: OnnxNode, quantizer: Quantizer) -> tuple[Line | None, Line | None]:
    """What stands before the rounding, and what makes a number of the integer behind it."""
    shape = quantizer.scale.shape if quantizer.scale.size > 1 else ()
    if any(side.size > 1 for side in (quantizer.before,)):
        state.finder.node(node, "has several zero points, and a stream has one type", "quantize activations per tensor")
        return None, None
    scale = along(state, node, ratios(quantizer.scale), shape)
    if scale is None:
        return None, None
    add, zero = Fraction(float(quantizer.before.flat[0])), int(quantizer.zero.flat[0])
    inverse = np.array([1 / each for each in scale], object)
    if quantizer.mode is Mode.SIGN:
        return Line(inverse, of_all(0)), Line(2 * scale, -scale)
    if node.op == "QuantizeLinear":
        return Line(inverse, of_all(0)), Line(of_all(1), of_all(zero))
    return Line(inverse, of_all(add)), Line(scale, -scale * add)


def _input(state: ScaledWalk, node: OnnxNode, quantizer: Quantizer, before: Line) -> None:
    """The first quantizer behind an input: the port carries its integers."""
    known, chain = state.real[state.source], (*state.chain[1:], before)
    found = affine(chain, 1) if all(_single(part) for part in chain) else None
    if found is None or found[0][0] <= 0:
        text = "what stands between the input and its Quant is not one positive factor and one number to add"
        state.finder.node(node, text, "let a Quant with one scale be the first node behind the input")
        return
    zero, fixed = int(quantizer.zero.flat[0]), quantizer.fixed
    codes = Codes(1 / found[0][0], found[1][0], zero, quantizer.lo + zero, quantizer.hi + zero, quantizer.mode)
    if (known.codes, known.fixed) not in ((None, None), (codes, fixed)):
        state.finder.node(node, "the input is quantized in two ways", "quantize it once, before it branches")
        return
    known.codes, known.fixed = codes, fixed
    lo, hi = (np.full(state.channels, end, np.int64) for end in (fixed.lo, fixed.hi))
    state.streams[state.source] = Flowing(lo, hi, fixed)
    state.chain = (Line(of_all(1), of_all(-zero)),)


def _single(part: object) -> bool:
    return isinstance(part, Line) and part.under is None and len(part.factor) == len(part.offset) == 1


def _dequantize(state: ScaledWalk, node: OnnxNode) -> None:
    said = dequantized_by(node, state.constants.array, state.finder, len(state.shape) + 1)
    if said is None:
        return
    scale, zero = said
    numbers = along(state, node, ratios(scale), scale.shape if scale.size > 1 else ())
    if numbers is None or zero.size > 1:
        state.finder.node(node, "has several zero points, and a stream has one type", "quantize activations per tensor")
        return
    state.chain = (*state.chain, Line(of_all(1), of_all(-int(zero.flat[0]))), Line(numbers, of_all(0)))


def _shaped(take: Callable[[Any, OnnxNode], None]) -> Handler:
    """Flatten, Reshape, Squeeze, Transpose: the stream is read otherwise."""

    def run(state: ScaledWalk, node: OnnxNode) -> None:
        source = state.source
        take(state, node)
        if state.source == source:
            return
        if state.raw:
            state.real[state.source] = state.real[source]
        else:
            state.flattened(state.streams[source])

    return run


def _nothing(state: ScaledWalk, node: OnnxNode) -> None:
    """Identity; a dropout that does not drop."""


def _cast(state: ScaledWalk, node: OnnxNode) -> None:
    if node.attributes.get("to") != _FLOAT:
        state.finder.node(node, "casts to a type that is not float32", "leave the cast out; Quant nodes say the types")


_HANDLERS: dict[str, Handler] = {
    "Gemm": linear,
    "MatMul": linear,
    "Conv": convolution,
    "MaxPool": pool,
    "GlobalMaxPool": pool,
    "ReduceMax": pool,
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "ReduceMean"), average),
    "Pad": padding,
    **dict.fromkeys(("Mul", "Div", "Add", "Sub"), _arithmetic),
    "BatchNormalization": _norm,
    "Relu": _relu,
    "Clip": _clip,
    "Flatten": _shaped(flatten),
    "Reshape": _shaped(reshape),
    "Squeeze": _shaped(squeeze),
    "Transpose": _shaped(transpose),
    "Identity": _nothing,
    "Dropout": _nothing,
    "Cast": _cast,
}
SUPPORTED = (*_HANDLERS, "Quant", "IntQuant", "BipolarQuant", *QDQ)
