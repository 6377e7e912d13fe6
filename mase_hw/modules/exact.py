"""How wide an exact accumulator can get, and so which float type computes it without an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.modules.quantizer import FLOAT32_BITS
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Fixed, signed_width

_FLOAT32_LEAST = 149  # 2**-149 is float32's smallest number
_FLOAT32_EXPONENT = 126  # 2**-126 is float32's smallest normal number, 2**127 its largest power of two


@dataclass(frozen=True)
class Accumulator:
    """An exact result, such as a sum of products: integers in units of 2**-frac, none larger than `bound`."""

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


def range_of(fixed: Fixed) -> Accumulator:
    """All values of a type."""
    return Accumulator(fixed.frac, largest(fixed))


def hull(parts: Sequence[Accumulator]) -> Accumulator:
    """What holds a value of any of the parts."""
    frac = max(part.frac for part in parts)
    return Accumulator(frac, max(part.bound << (frac - part.frac) for part in parts))


def total(label: str, parts: Sequence[Accumulator]) -> Accumulator:
    """The sum or the difference of results, aligned; one that even float64 cannot hold is a Problem."""
    frac = max(part.frac for part in parts)
    bound = sum(part.bound << (frac - part.frac) for part in parts)
    if bound > 1 << MAX_ACCUMULATOR_BITS:
        raise ProblemsError(
            Problem(
                f"{label}: the exact sum of its inputs can reach {bound.bit_length()} bits; "
                f"{MAX_ACCUMULATOR_BITS} is the most that stays exact",
                hint="quantize it: data_in_width and data_in_frac_width bring its inputs to one type",
            )
        )
    return Accumulator(frac, bound)


def product(label: str, x: Accumulator, w: Fixed) -> Accumulator:
    """A result times a constant; one that even float64 cannot hold is a Problem."""
    bound = x.bound * largest(w)
    if bound > 1 << MAX_ACCUMULATOR_BITS:
        text = f"{label}: the exact product can reach {bound.bit_length()} bits; {MAX_ACCUMULATOR_BITS} is the most"
        hint = "quantize it: data_in is the type of its input, weight that of its constant"
        raise ProblemsError(Problem(f"{text} that stays exact", hint=hint, notes=(f"the constant is a {w}",)))
    return Accumulator(x.frac + w.frac, bound)


def exact_constant(label: str, values: Tensor) -> Fixed:
    """The narrowest signed type that has all these floats; they must be finite."""
    ratios = [value.as_integer_ratio() for value in values.detach().double().flatten().tolist()]
    # The denominator of a float is a power of two, and then its numerator is odd; a whole number may end in zeros.
    ends = [over.bit_length() - (under & -under).bit_length() for under, over in ratios if under]
    frac = max(ends, default=0)
    integers = [under << frac >> (over.bit_length() - 1) if frac >= 0 else under >> -frac for under, over in ratios]
    width = signed_width(min(integers), max(integers))
    if width > MAX_ACCUMULATOR_BITS or frac > _FLOAT32_LEAST:
        text = f"{label}: its constants need {width} bits in one fixed-point type to be exact"
        hint = f"at most {MAX_ACCUMULATOR_BITS} are possible: give them a type with weight_width and weight_frac_width"
        raise ProblemsError(Problem(text, hint=hint))
    return Fixed(width, frac)
