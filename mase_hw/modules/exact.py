"""How wide an exact accumulator can get, and so which float type computes it without an error."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.modules.quantizer import FLOAT32_BITS
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Fixed

_FLOAT32_EXPONENT = 126  # 2**-126 is float32's smallest normal number, 2**127 its largest power of two


@dataclass(frozen=True)
class Accumulator:
    """`sum of count products x * w, plus b`: integers in units of 2**-frac, none larger than `bound`."""

    frac: int
    bound: int

    @property
    def dtype(self) -> torch.dtype:
        """float32 while every partial sum is exact in it, else float64."""
        small = self.bound <= 1 << FLOAT32_BITS
        top = self.bound.bit_length() - self.frac
        return torch.float32 if small and self.frac <= _FLOAT32_EXPONENT and top <= _FLOAT32_EXPONENT else torch.float64


def largest(fixed: Fixed) -> int:
    """The largest magnitude among the type's integers."""
    return max(-fixed.lo, fixed.hi)


def accumulator(label: str, count: int, x: Fixed, w: Fixed, b: Fixed | None) -> Accumulator:
    """The worst case over the types' whole ranges; one that even float64 cannot hold is a Problem."""
    frac = x.frac + w.frac if b is None else max(x.frac + w.frac, b.frac)
    bound = count * largest(x) * largest(w) << (frac - x.frac - w.frac)
    if b is not None:
        bound += largest(b) << (frac - b.frac)
    if bound > 1 << MAX_ACCUMULATOR_BITS:
        types = f"data_in {x}, weight {w}" + (f", bias {b}" if b is not None else "")
        raise ProblemsError(
            Problem(
                f"{label}: the exact sum of {count} product{'s' * (count > 1)} can reach {bound.bit_length()} bits; "
                f"{MAX_ACCUMULATOR_BITS} is the most that stays exact",
                hint="use smaller widths, or bring bias_frac_width nearer to data_in_frac_width + weight_frac_width",
                notes=(types,),
            )
        )
    return Accumulator(frac, bound)
