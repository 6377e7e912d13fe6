"""Quant nodes: from scale, zero point, bits and attributes to our types, where that is exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mase_hw.config.table import shown
from mase_hw.frontends.onnx_graph import Array, Finder, OnnxNode, Reals
from mase_hw.numerics import MAX_FRAC, MAX_WIDTH, Fixed, Rounding, signed_width, to_integers, to_narrow_integers
from mase_hw.numerics.rounding import Integers

MODES = {"ROUND": Rounding.HALF_EVEN, "HALF_EVEN": Rounding.HALF_EVEN, "FLOOR": Rounding.FLOOR}
_POWER = "train with scales that are powers of two: in Brevitas, the quantizers whose names have FixedPoint"


@dataclass(frozen=True)
class Quant:
    """What a Quant node does. `fracs` has one number for each scale; a scale is 2**-frac."""

    node: OnnxNode
    fracs: Integers
    bits: int
    signed: bool
    narrow: bool
    mode: str

    @property
    def rounding(self) -> Rounding | None:
        """None: a mode that our types do not have."""
        return MODES.get(self.mode)


@dataclass(frozen=True)
class ActivationQuant:
    """A Quant on a stream: our type and rule. `narrow`: its smallest (unsigned: largest) integer is not used."""

    node: OnnxNode
    fixed: Fixed
    rounding: Rounding
    narrow: bool

    @property
    def range(self) -> tuple[int, int]:
        lo, hi = self.fixed.lo, self.fixed.hi
        return lo + (self.narrow and self.fixed.signed), hi - (self.narrow and not self.fixed.signed)


@dataclass(frozen=True)
class Constant:
    """Numbers of the file. `fixed`: the type that a Quant gave them; None: floats. `names`: those of the tensors."""

    values: Reals
    fixed: Fixed | None = None
    names: tuple[str, ...] = ()


def parse_quant(node: OnnxNode, value: Callable[[str], Array | None], finder: Finder) -> Quant | None:
    """The node as we have it, or None and a problem. `value` gives the numbers of a constant tensor."""
    if len(node.inputs) != 4:
        finder.node(node, f"has {len(node.inputs)} inputs, not 4: the tensor, scale, zero point and bit width")
        return None
    scale, zero, bits = (value(name) for name in node.inputs[1:])
    for what, array in (("scale", scale), ("zero point", zero), ("bit width", bits)):
        if array is None or not array.size or array.dtype.kind not in "fiu":
            finder.node(node, f"its {what} is not a constant number", "fold constants before: qonnx-cleanup does")
            return None
    assert scale is not None
    assert zero is not None
    assert bits is not None
    fracs, width = _fracs(node, np.asarray(scale, np.float64), finder), bits_of(node, bits, finder)
    if bool((zero != 0).any()):
        text = f"its zero point is {float(zero.ravel()[zero.ravel() != 0][0]):g}, and our types have none"
        finder.node(node, text, "use a symmetric quantizer: zero point 0")
        return None
    flags = [flag_of(node, key, finder) for key in ("signed", "narrow")]
    if fracs is None or width is None or None in flags:
        return None
    signed = bool(flags[0])
    if signed and width == 1:
        finder.node(node, "a signed Quant of 1 bit is bipolar (-1 and 1), which our types are not", "use 2 bits")
        return None
    return Quant(node, fracs, width, signed, bool(flags[1]), str(node.attributes.get("rounding_mode", "ROUND")).upper())


def _fracs(node: OnnxNode, scale: Reals, finder: Finder) -> Integers | None:
    bad = ~(np.isfinite(scale) & (scale > 0)) | (np.frexp(scale)[0] != 0.5)
    if bad.any():
        first = scale[bad].flat[0]
        many = f" (one of {scale.size})" if scale.size > 1 else ""
        finder.node(node, f"its scale {first:.9g}{many} is not a power of two", _POWER)
        return None
    fracs = 1 - np.frexp(scale)[1].astype(np.int64)
    if (np.abs(fracs) > MAX_FRAC).any():
        finder.node(node, f"its scale {scale.flat[0]:g} is not between 2**-{MAX_FRAC} and 2**{MAX_FRAC}", "rescale")
        return None
    return fracs


def bits_of(node: OnnxNode, bits: Array, finder: Finder) -> int | None:
    """The one bit width of a node, or a problem."""
    first = float(bits.flat[0])
    if bits.size != 1 or not 1 <= first <= MAX_WIDTH or first != int(first):
        said = f"{first:g}" if bits.size == 1 else "different for different channels"
        finder.node(node, f"its bit width is {said}", f"one whole number from 1 to {MAX_WIDTH}")
        return None
    return int(first)


def flag_of(node: OnnxNode, key: str, finder: Finder) -> int | None:
    """An attribute that is 0 or 1, or a problem."""
    value = node.attributes.get(key)
    if value in (0, 1):
        return int(value)
    said = "is missing" if value is None else f"is {shown(value) if isinstance(value, str) else value!r}"
    finder.node(node, f"its attribute {key} {said}", f"{key} is 0 or 1")
    return None


def on_activation(quant: Quant, rank: int, finder: Finder) -> ActivationQuant | None:
    """The type and rule of a stream that the node quantizes."""
    node = quant.node
    if (quant.fracs != quant.fracs.flat[0]).any():
        text = "has a scale for each channel, and a stream has one type"
        finder.node(node, text, "quantize activations per tensor; weights may be quantized per channel")
        return None
    if quant.fracs.ndim > rank:
        finder.node(node, f"its scale has {quant.fracs.ndim} axes, the tensor {rank}", "use a scalar scale")
        return None
    if quant.rounding is None:
        text = f'rounding_mode = "{quant.mode}" is not one of ours'
        finder.node(node, text, f"use one of {', '.join(MODES)}")
        return None
    fixed = Fixed(quant.bits, int(quant.fracs.flat[0]), quant.signed)
    return ActivationQuant(node, fixed, quant.rounding, quant.narrow)


def on_constant(quant: Quant, constant: Constant, finder: Finder) -> Constant | None:
    """The constant as the node gives it; with a scale for each channel, in the type of the finest."""
    node, values = quant.node, constant.values
    try:
        fits = np.broadcast_shapes(values.shape, quant.fracs.shape) == values.shape
    except ValueError:
        fits = False
    if not fits:
        finder.node(node, f"a scale of shape {quant.fracs.shape} does not fit numbers of shape {values.shape}")
        return None
    fracs = np.broadcast_to(quant.fracs, values.shape)
    if quant.rounding is None and not _whole(values, fracs):
        text = f'rounding_mode = "{quant.mode}" is not one of ours, and the numbers have to be rounded'
        finder.node(node, text, f"use one of {', '.join(MODES)}, or export numbers that are rounded")
        return None
    rounding = quant.rounding or Rounding.HALF_EVEN
    convert = to_narrow_integers if quant.narrow else to_integers
    made = np.empty(values.shape, np.float64)
    for frac in np.unique(fracs):
        here = fracs == frac
        fixed = Fixed(quant.bits, int(frac), quant.signed)
        made[here] = convert(values[here], fixed, rounding) * 2.0**-frac
    finest = int(quant.fracs.max())
    fixed = Fixed(quant.bits, finest, quant.signed)
    if (quant.fracs != finest).any():
        reach = [int(made.min() * 2.0**finest), int(made.max() * 2.0**finest)] if made.size else [0, 0]
        width = signed_width(*reach)
        if width > MAX_WIDTH:
            text = f"its scales differ so much that the numbers need {width} bits in the finest of them"
            finder.node(node, text, f"{MAX_WIDTH} bits are the most: use one scale, or scales that are nearer")
            return None
        fixed = Fixed(max(width, quant.bits) if quant.signed else width, finest)
    return Constant(made, fixed, constant.names)


def _whole(values: Reals, fracs: Integers) -> bool:
    scaled = values * 2.0 ** fracs.astype(np.float64)
    return bool((scaled == np.floor(scaled)).all())


def grid_type(values: Reals) -> Fixed | None:
    """The smallest signed type that has all these numbers, if there is one."""
    numbers = np.asarray(values, np.float64).ravel()
    if not np.isfinite(numbers).all():
        return None
    numbers = numbers[numbers != 0]
    if not numbers.size:
        return Fixed(2, 0)
    mantissa, exponent = np.frexp(numbers)
    whole = (mantissa * 2.0**53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1] - 1  # how often 2 divides them
    frac = int((53 - exponent - zeros).max())
    if abs(frac) > MAX_FRAC or (np.abs(numbers) * 2.0**frac).max() >= 2.0**MAX_WIDTH:
        return None
    width = signed_width(*(int(end * 2.0**frac) for end in (numbers.min(), numbers.max())))
    return Fixed(width, frac) if width <= MAX_WIDTH else None
