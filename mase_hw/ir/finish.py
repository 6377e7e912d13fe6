"""How an operator's exact result becomes its output stream: the one requantize of a component."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mase_hw.ir.division import Division
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed, Rounding, requantize, requantize_quotient, signed_width
from mase_hw.numerics.rounding import Integers

_UNSATURATED = 60  # bits; wide enough that the bounds of what is rounded do not saturate themselves


class Long(int):
    """A parameter of 64 bits; others have 32."""


@dataclass(frozen=True)
class Result:
    """The type that a result is rounded to, and by which rule."""

    fixed: Fixed
    rounding: Rounding


@dataclass(frozen=True)
class Finish:
    """From exact integers with `frac` fractional bits, within `lo..hi`, to the output type.

    With a `divisor` it is the rational `exact / divisor` that is rounded, once.
    """

    frac: int
    lo: int
    hi: int
    fixed: Fixed
    rounding: Rounding
    rectify: bool = False  # negative results become 0: a ReLU that was merged into this step
    divisor: int = 1  # odd: a power of two belongs to `frac`

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
        return self.divisor > 1 or self.frac != self.fixed.frac or not fits

    def execute(self, exact: Integers) -> Integers:
        if not self.changes:
            return exact
        result = self._rounded(exact, self.fixed)
        return np.maximum(result, 0) if self.rectify else result

    def _rounded(self, exact: Integers, to: Fixed) -> Integers:
        if self.divisor > 1:
            return requantize_quotient(exact, self.divisor, self.frac, to, self.rounding)
        return requantize(exact, self.frac, to, self.rounding)

    def division(self) -> Division | None:
        """How the quotient is computed, where there is a divisor."""
        if self.divisor == 1:
            return None
        return Division.of(self.lo, self.hi, self.divisor, self.frac - self.fixed.frac, self.rounding)

    def parameters(self, bounds: tuple[int, int] | None = None, offset: int = 0) -> dict[str, Any]:
        """Parameters of `mase_requantize`, but for InWidth, for a number within `bounds`, `offset` included.

        Without bounds it is any exact result. Shifts past the width change nothing more and are cut off there. Behind
        a division it is the rounded quotient, which is only clamped.
        """
        lo, hi = bounds or (self.lo, self.hi)
        if self.divisor > 1:
            wide = Fixed(_UNSATURATED, self.fixed.frac)
            least, most = self._rounded(np.array([lo, hi]), wide).tolist()
            return replace(self, frac=self.fixed.frac, lo=least, hi=most, divisor=1).parameters(offset=offset)
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


def result_stream(
    name: str,
    lanes: int,
    exact: tuple[Integers, Integers],
    frac: int,
    result: Result | None,
    *,
    frame: tuple[int, ...] = (),
    rectify: bool = False,
    divisor: int = 1,
) -> tuple[Stream, Finish]:
    """The output stream of an operator whose exact results lie in `exact`, and the step that makes it.

    Without a result type nothing is lost: the stream's type is the narrowest that holds every exact result. A quotient
    by anything but a power of two needs a type.
    """
    lo, hi = int(exact[0].min()), int(exact[1].max())
    twos = (divisor & -divisor).bit_length() - 1
    frac, divisor = frac + twos, divisor >> twos
    if result is None:
        assert divisor == 1, f"{name}: a quotient by {divisor} without a type"
        result = Result(Fixed(signed_width(lo, hi), frac), Rounding.HALF_EVEN)
    step = Finish(frac, lo, hi, result.fixed, result.rounding, rectify, divisor)
    bounds = [tuple(int(n) for n in step.execute(side)) for side in exact]
    return Stream(name, len(exact[0]), lanes, result.fixed, bounds[0], bounds[1], frame), step
