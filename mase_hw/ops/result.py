"""How an operator's exact result becomes its output stream: the one requantize of a component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mase_hw.hardware.component import Component, Long
from mase_hw.hardware.cost import Cost
from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed, Rounding, requantize, signed_width
from mase_hw.numerics.rounding import Integers

_UNSATURATED = 60  # bits; wide enough that the bounds of what is rounded do not saturate themselves
DIRECT = 5  # what a LUT of six inputs can decide on beside the bit that it changes


@dataclass(frozen=True)
class Result:
    """The type that a result is rounded to, and by which rule."""

    fixed: Fixed
    rounding: Rounding


@dataclass(frozen=True)
class Finish:
    """From exact integers with `frac` fractional bits, within `lo..hi`, to the output type."""

    frac: int
    lo: int
    hi: int
    fixed: Fixed
    rounding: Rounding
    rectify: bool = False  # negative results become 0: a ReLU that was merged into this step

    @property
    def width(self) -> int:
        """Bits of the exact integer, signed: the fewest that hold the bounds."""
        return signed_width(self.lo, self.hi)

    @property
    def half(self) -> int:
        """What half to even adds before it drops bits."""
        parameters = self.parameters()
        return 1 << (parameters["Shift"] - 1) if parameters["HalfEven"] else 0

    @property
    def changes(self) -> bool:
        """Whether the output's integers can differ from the exact ones."""
        fits = self.fixed.holds(self.lo, self.hi) and not (self.rectify and self.lo < 0)
        return self.frac != self.fixed.frac or not fits

    def execute(self, exact: Integers) -> Integers:
        if not self.changes:
            return exact
        result = requantize(exact, self.frac, self.fixed, self.rounding)
        return np.maximum(result, 0) if self.rectify else result

    def parameters(self, bounds: tuple[int, int] | None = None, offset: int = 0) -> dict[str, Any]:
        """Parameters of `mase_requantize`, but for InWidth, for a number within `bounds`, `offset` included.

        Without bounds it is any exact result. Shifts past the width change nothing more and are cut off there.
        """
        lo, hi = bounds or (self.lo, self.hi)
        shift = max(min(self.frac - self.fixed.frac, signed_width(lo, hi) + 1), -(self.fixed.width + 1))
        half_even = self.rounding is Rounding.HALF_EVEN and shift > 0
        half = 1 << (shift - 1) if half_even else 0
        wide = Fixed(_UNSATURATED, self.fixed.frac)
        least, most = requantize(np.array([lo, hi]), self.frac, wide, self.rounding).tolist()
        return {
            "SumWidth": signed_width(lo + half, hi + half),
            "Offset": Long(offset),
            "OutWidth": self.fixed.width,
            "OutSigned": self.fixed.signed,
            "Shift": shift,
            "HalfEven": half_even,
            "Rectify": self.rectify,
            "ClampLo": least < (0 if self.rectify else self.fixed.lo),
            "ClampHi": most > self.fixed.hi,
        }


def finish(
    name: str,
    lanes: int,
    exact: tuple[Integers, Integers],
    frac: int,
    result: Result | None,
    *,
    rectify: bool = False,
) -> tuple[Stream, Finish]:
    """The output stream of an operator whose exact results lie in `exact`, and the step that makes it.

    Without a result type nothing is lost: the stream's type is the narrowest that holds every exact result.
    """
    lo, hi = int(exact[0].min()), int(exact[1].max())
    if result is None:
        result = Result(Fixed(signed_width(lo, hi), frac), Rounding.HALF_EVEN)
    step = Finish(frac, lo, hi, result.fixed, result.rounding, rectify)
    bounds = [tuple(int(n) for n in step.execute(side)) for side in exact]
    return Stream(name, len(exact[0]), lanes, result.fixed, bounds[0], bounds[1]), step


def rectified(component: Component) -> Component | None:
    """The component with a ReLU merged into its last step, where it has one that rounds or clamps anyway."""
    step = getattr(component, "step", None)
    if not isinstance(step, Finish):
        return None
    y = component.output
    low, high = (tuple(max(0, n) for n in side) for side in (y.lo, y.hi))
    out = replace(y, lo=low, hi=high)
    changed: dict[str, Any] = {"outputs": (out,), "step": replace(step, rectify=True)}
    return replace(component, **changed)


def requantize_cost(
    parameters: Mapping[str, Any], *, operand: int = 0, result: tuple[int, int] = (0, 0), spare: int = 0
) -> Cost:
    """What one `mase_requantize` with these parameters takes; `ff` is what a register of its result takes.

    Adding a constant is a carry chain without LUTs, from the constant's lowest bit up. A LUT for each bit that clamping
    can change, and trees for its conditions and for the tie of half to even. Output bits that are always 0, and zeros
    that a shift appends, take nothing; where saturation sets the latter, they are one bit.

    Where the number is unsigned and its width, `operand`, is known, `result` are the bounds of what comes out. `spare`
    inputs of the LUTs are taken by the register behind them.
    """
    shift, bits = parameters["Shift"], parameters["OutWidth"] - parameters["OutSigned"]
    down, up = max(0, shift), max(0, -shift)
    value = max(1, parameters["SumWidth"] - down) + up
    non_negative = not parameters["OutSigned"] or parameters["Rectify"]
    clamps = parameters["ClampLo"] or parameters["ClampHi"]
    half = parameters["HalfEven"] and down > 0
    held = bits if parameters["ClampHi"] else min(bits, value - 1)
    appended = min(up, held)
    moving = held - appended + bool(appended and parameters["ClampHi"])
    lut, ff, depth = moving * clamps, moving + (not non_negative), int(clamps)
    beyond = max(0, value - bits)  # the sign is one of these
    if beyond > DIRECT - spare and clamps:
        both = parameters["ClampHi"] and parameters["ClampLo"] and not non_negative  # two trees, and what joins them
        lut, depth = lut + (1 + both) * tree_luts(beyond) + both, depth + tree_luts(beyond) + both
    if half:  # the tie changes the lowest bit, in its LUT if there is room
        room = DIRECT - spare - (min(beyond, 2) if clamps else 0)
        lut, depth = lut + (not clamps) + (tree_luts(down) if down > room else 0), max(depth, 1 + (down > room))
    constant = parameters["Offset"] + (1 << (down - 1) if half else 0)
    top = _last_carry(constant, operand, parameters["SumWidth"]) if operand else parameters["SumWidth"]
    chain = top - ((constant & -constant).bit_length() - 1) if constant else 0
    carry = -(-chain // 4) if chain > 1 else 0
    if top < parameters["SumWidth"]:  # the sign and what is above do not change, which synthesis sees
        left = 0 if result[0] == result[1] else min(ff, max(0, top - down) + moving - (held - appended))
        lut, ff = max(0, lut - (ff - left) * clamps) if left else 0, left
    return Cost(lut=lut, ff=ff, carry=carry, depth=depth + 2 * (carry > 0))


def _last_carry(constant: int, operand: int, width: int) -> int:
    """Bits of an unsigned operand plus a constant that depend on the operand: a carry ends at a 0 of the constant."""
    zeros = (k for k in range(operand, width) if not constant >> k & 1)
    return next(zeros, width - 1) + 1


def tree_luts(inputs: int) -> int:
    """LUTs of six inputs that AND or OR so many, as a balanced tree."""
    return max(1, -(-(inputs - 1) // 5))
