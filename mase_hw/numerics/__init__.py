"""The one rounding rule: fixed-point types, quantize, requantize and exact bounds. No torch is imported here."""

from mase_hw.numerics.fixed import MAX_ACCUMULATOR_BITS, MAX_FRAC, MAX_WIDTH, Fixed, Rounding, signed_width
from mase_hw.numerics.rounding import requantize, requantize_quotient, to_grid, to_integers, to_narrow_integers

__all__ = [
    "MAX_ACCUMULATOR_BITS",
    "MAX_FRAC",
    "MAX_WIDTH",
    "Fixed",
    "Rounding",
    "requantize",
    "requantize_quotient",
    "signed_width",
    "to_grid",
    "to_integers",
    "to_narrow_integers",
]
