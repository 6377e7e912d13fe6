"""How an operator's exact result becomes its output stream: the one requantize of a component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed, Rounding, requantize, signed_width
from mase_hw.numerics.rounding import Integers

_UNSATURATED = 60  # bits; wide enough that the bounds of what is rounded do not saturate themselves


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

    @property
    def width(self) -> int:
        """Bits of the exact integer, signed: the fewest that hold the bounds."""
        return signed_width(self.lo, self.hi)

    @property
    def changes(self) -> bool:
        """Whether the output's integers can differ from the exact ones."""
        return self.frac != self.fixed.frac or not self.fixed.holds(self.lo, self.hi)

    def execute(self, exact: Integers) -> Integers:
        return requantize(exact, self.frac, self.fixed, self.rounding) if self.changes else exact

    def parameters(self) -> dict[str, Any]:
        """Parameters of `mase_requantize`. Shifts past the width change nothing more and are cut off there."""
        shift = self.frac - self.fixed.frac
        shift = max(min(shift, self.width + 1), -(self.fixed.width + 1))
        wide = Fixed(_UNSATURATED, self.fixed.frac)
        lo, hi = requantize(np.array([self.lo, self.hi]), self.frac, wide, self.rounding).tolist()
        return {
            "InWidth": self.width,
            "OutWidth": self.fixed.width,
            "OutSigned": self.fixed.signed,
            "Shift": shift,
            "HalfEven": self.rounding is Rounding.HALF_EVEN,
            "Saturate": not self.fixed.holds(lo, hi),
        }


def finish(
    name: str, lanes: int, exact: tuple[Integers, Integers], frac: int, result: Result | None
) -> tuple[Stream, Finish]:
    """The output stream of an operator whose exact results lie in `exact`, and the step that makes it.

    Without a result type nothing is lost: the stream's type is the narrowest that holds every exact result.
    """
    lo, hi = int(exact[0].min()), int(exact[1].max())
    if result is None:
        result = Result(Fixed(signed_width(lo, hi), frac), Rounding.HALF_EVEN)
    step = Finish(frac, lo, hi, result.fixed, result.rounding)
    bounds = [tuple(int(n) for n in step.execute(side)) for side in exact]
    return Stream(name, len(exact[0]), lanes, result.fixed, bounds[0], bounds[1]), step
