"""Quantizers of a file with scales: Quant, BipolarQuant, QuantizeLinear and DequantizeLinear, as plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, Array, Finder, OnnxNode, Reals
from mase_hw.frontends.onnx_quant import bits_of, flag_of
from mase_hw.numerics import Fixed
from mase_hw.numerics.crossing import Mode

QDQ = ("QuantizeLinear", "DequantizeLinear")
MAX_BITS = 16  # of a quantizer with a scale: each of its integers has a threshold
MODES = {
    "ROUND": Mode.HALF_EVEN,
    "HALF_EVEN": Mode.HALF_EVEN,
    "FLOOR": Mode.FLOOR,
    "CEIL": Mode.CEIL,
    "UP": Mode.AWAY,
    "DOWN": Mode.ZERO,
    "HALF_UP": Mode.HALF_AWAY,
    "HALF_DOWN": Mode.HALF_ZERO,
}
_Value = Callable[[str], Array | None]


@dataclass(frozen=True)
class Quantizer:
    """`clamp(round(x / scale + before), lo, hi)` is what stands for `scale * (n - before)`; a sign for `2n - 1` scales.

    `lo` and `hi` are those of the rounded number. A port carries it with `zero` added, in the type `fixed`.
    """

    node: OnnxNode
    scale: Reals
    before: Reals  # added before the rounding
    zero: Array  # added behind it, by QuantizeLinear
    lo: int
    hi: int
    mode: Mode
    fixed: Fixed


def is_bipolar(node: OnnxNode) -> bool:
    return node.op == "BipolarQuant" and node.domain not in STANDARD_DOMAINS


def is_quantizer(node: OnnxNode) -> bool:
    return node.is_quant or is_bipolar(node) or (node.op in QDQ and node.domain in STANDARD_DOMAINS)


def parse_quantizer(node: OnnxNode, value: _Value, finder: Finder, rank: int) -> Quantizer | None:
    """The node, or None and a problem. `rank`: axes of the tensor that it quantizes, the batch among them."""
    if node.op == "QuantizeLinear":
        return _quantize_linear(node, value, finder, rank)
    count = 2 if is_bipolar(node) else 4
    if len(node.inputs) != count:
        finder.node(node, f"has {len(node.inputs)} inputs, not {count}")
        return None
    arrays = [value(name) for name in node.inputs[1:]]
    for what, array in zip(("scale", "zero point", "bit width"), arrays, strict=False):
        if array is None or not array.size or array.dtype.kind not in "fiu":
            finder.node(node, f"its {what} is not a constant number", "fold constants before: qonnx-cleanup does")
            return None
    found = [array for array in arrays if array is not None]
    scale = np.asarray(found[0], np.float64)
    nothing = np.zeros((), np.int64)
    if not _check_scale(node, scale, finder):
        return None
    if is_bipolar(node):
        return Quantizer(node, scale, np.zeros(()), nothing, 0, 1, Mode.SIGN, Fixed(1, 0, signed=False))
    bits = bits_of(node, found[2], finder)
    flags = [flag_of(node, key, finder) for key in ("signed", "narrow")]
    zero = np.asarray(found[1], np.float64)
    if bits is None or None in flags:
        return None
    if not (np.isfinite(zero).all() and (zero == np.floor(zero)).all()):
        finder.node(node, f"its zero point is {zero.flat[0]:g}", "a zero point is a whole number")
        return None
    signed, narrow = bool(flags[0]), bool(flags[1])
    if signed and bits == 1:
        if zero.any():
            finder.node(node, "a bipolar Quant has a zero point", "leave it out")
            return None
        return Quantizer(node, scale, zero, nothing, 0, 1, Mode.SIGN, Fixed(1, 0, signed=False))
    if bits > MAX_BITS:
        text = f"its bit width is {bits}, and quantizers with scales that are no powers of two have at most {MAX_BITS}"
        finder.node(node, text, "use fewer bits, or a scale that is a power of two")
        return None
    told = str(node.attributes.get("rounding_mode", "ROUND")).upper()
    if told not in MODES:
        finder.node(node, f'rounding_mode = "{told}" is unknown', f"use one of {', '.join(MODES)}")
        return None
    fixed = Fixed(bits, 0, signed)
    lo, hi = fixed.lo + (narrow and signed), fixed.hi - (narrow and not signed)
    return Quantizer(node, scale, zero, nothing, lo, hi, MODES[told], fixed)


def _quantize_linear(node: OnnxNode, value: _Value, finder: Finder, rank: int) -> Quantizer | None:
    said = _scale_and_zero(node, value, finder, rank)
    if said is None:
        return None
    scale, zero = said
    kind = zero.dtype
    fixed = Fixed(8 * kind.itemsize, 0, kind.kind == "i")
    if (zero != zero.flat[0]).any():
        finder.node(node, "has several zero points, and a stream has one type", "quantize activations per tensor")
        return None
    first = int(zero.flat[0])
    whole = zero.astype(np.int64)
    return Quantizer(node, scale, np.zeros(()), whole, fixed.lo - first, fixed.hi - first, Mode.HALF_EVEN, fixed)


def dequantized_by(node: OnnxNode, value: _Value, finder: Finder, rank: int) -> tuple[Reals, Array] | None:
    """Scale and zero point of a DequantizeLinear, to be broadcast to its input."""
    return _scale_and_zero(node, value, finder, rank)


def _scale_and_zero(node: OnnxNode, value: _Value, finder: Finder, rank: int) -> tuple[Reals, Array] | None:
    if len(node.inputs) not in (2, 3):
        finder.node(node, f"has {len(node.inputs)} inputs, not 2 or 3")
        return None
    scale = value(node.inputs[1])
    zero = value(node.inputs[2]) if len(node.inputs) == 3 and node.inputs[2] else np.zeros((), np.uint8)
    if scale is None or zero is None or not scale.size or scale.dtype.kind != "f":
        finder.node(node, "its scale or zero point is not a constant number", "fold constants before the export")
        return None
    if zero.dtype.kind not in "iu" or (zero.dtype.itemsize > 2 and node.op == "QuantizeLinear"):
        finder.node(node, f"its zero point is of {zero.dtype}", "int8, uint8, int16 and uint16 are supported")
        return None
    if finder.number(node, "block_size", 0) or not _check_scale(node, np.asarray(scale, np.float64), finder):
        return None
    wide = np.asarray(scale, np.float64)
    if wide.size == 1:
        return wide.reshape(()), zero.reshape(())
    axis = int(finder.number(node, "axis", 1))
    shape = [1] * rank
    if not -rank <= axis < rank or wide.ndim != 1 or zero.size not in (1, wide.size):
        finder.node(node, f"its scale has the shape {wide.shape}, axis = {axis}", "one scale for each channel")
        return None
    shape[axis] = -1
    return wide.reshape(shape), zero.reshape(shape) if zero.size > 1 else zero.reshape(())


def _check_scale(node: OnnxNode, scale: Reals, finder: Finder) -> bool:
    bad = ~(np.isfinite(scale) & (scale > 0))
    if bad.any():
        finder.node(node, f"its scale is {scale[bad].flat[0]:g}", "a scale is a positive number: check the training")
    return not bad.any()
