"""Quantize (real to integer) and requantize (integer to integer): nothing else in the project rounds or clamps.

`to_grid` is written with operators that numpy arrays and torch tensors share, so that the torch modules and the
integer reference round by the same lines.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from mase_hw.numerics.fixed import MAX_ACCUMULATOR_BITS, Fixed, Rounding

Array = TypeVar("Array", bound=Any)  # numpy.ndarray or torch.Tensor, of floats
Integers = npt.NDArray[np.int64]


def _drop_fraction(scaled: Array, to: Fixed, rounding: Rounding) -> Array:
    """`scaled` (in units of the type's last bit) rounded and saturated; still floats, but whole ones."""
    near = scaled.clip(to.lo - 1, to.hi + 1)  # so that an overflowed infinity saturates like any other large value
    whole = near // 1 if rounding is Rounding.FLOOR else near.round()
    return cast(Array, whole.clip(to.lo, to.hi))


def to_grid(x: Array, to: Fixed, rounding: Rounding) -> Array:
    """The real values `x` moved to the values of `to`: floats in, floats out (a fake quantizer).

    The float type of `x` must hold `to.width` bits and `x * 2**to.frac` exactly: float32 does not where a negative
    `frac` scales a tiny number to nothing, which floor would see (`modules.Quantizer` then takes float64).
    """
    return cast(Array, _drop_fraction(x * 2.0**to.frac, to, rounding) * 2.0**-to.frac)


def to_integers(x: npt.ArrayLike, to: Fixed, rounding: Rounding) -> Integers:
    """The integers of `to` that stand for the real values `x`."""
    with np.errstate(over="ignore"):  # infinity saturates like any other large value
        scaled = np.asarray(x, dtype=np.float64) * 2.0**to.frac
    return _drop_fraction(scaled, to, rounding).astype(np.int64)


def to_narrow_integers(x: npt.ArrayLike, to: Fixed, rounding: Rounding) -> Integers:
    """The same in a narrow range: a signed type without its smallest integer, an unsigned one without its largest."""
    lo, hi = (to.lo + 1, to.hi) if to.signed else (to.lo, to.hi - 1)
    return np.asarray(np.clip(to_integers(x, to, rounding), lo, hi), np.int64)


def requantize(n: Integers, frac_from: int, to: Fixed, rounding: Rounding) -> Integers:
    """The integers `n` (with `frac_from` fractional bits) as integers of `to`. |n| is below 2**53."""
    shift = frac_from - to.frac
    if shift <= 0:
        # Saturating before the shift keeps int64 from overflowing; a value shifted past the type saturates.
        up = min(-shift, to.width + 1)
        near = np.clip(n, (to.lo >> up) - 1, (to.hi >> up) + 1)
        return np.asarray(np.clip(near << up, to.lo, to.hi), np.int64)
    down = min(shift, MAX_ACCUMULATOR_BITS + 2)  # beyond, every |n| is below a quarter and the result no longer changes
    q = n >> down
    if rounding is Rounding.HALF_EVEN:
        rest = n & ((1 << down) - 1)
        half = 1 << (down - 1)
        q = q + ((rest > half) | ((rest == half) & (q & 1 == 1)))
    return np.asarray(np.clip(q, to.lo, to.hi), np.int64)


def requantize_quotient(n: Integers, divisor: int, frac_from: int, to: Fixed, rounding: Rounding) -> Integers:
    """The rationals `n / divisor` (with `frac_from` fractional bits), rounded once to integers of `to`."""
    shift = frac_from - to.frac
    down = min(max(shift, 0), MAX_ACCUMULATOR_BITS + 2)
    whole, unit = n << max(-shift, 0), divisor << down
    q = whole // unit
    if rounding is Rounding.HALF_EVEN:
        rest = 2 * (whole - q * unit)
        q = q + ((rest > unit) | ((rest == unit) & (q & 1 == 1)))
    return np.asarray(np.clip(q, to.lo, to.hi), np.int64)
