"""The fractional width that brings a type of given width nearest to given real values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp

import numpy as np
import numpy.typing as npt

from mase_hw.numerics import MAX_FRAC, Fixed, Rounding, to_grid

Reals = npt.NDArray[np.float64]
_WIDE = 53  # bits that a float64 holds: in such a type nothing here saturates that does not in every type


@dataclass(frozen=True)
class Fit:
    """How well a type holds values: mean squared error, and how many of them are beyond its ends."""

    fixed: Fixed
    mse: float
    saturated: int
    total: int


def measure(values: Reals, fixed: Fixed, rounding: Rounding) -> Fit:
    """The error of exactly this type."""
    on_grid = to_grid(values, fixed, rounding)
    unbounded = to_grid(values, Fixed(_WIDE, fixed.frac), rounding)
    return Fit(fixed, _mse(values, on_grid), int((on_grid != unbounded).sum()), values.size)


def best_fit(values: Reals, like: Fixed, rounding: Rounding, highest: int = MAX_FRAC) -> Fit:
    """The best of all fractional widths from -MAX_FRAC to `highest`.

    Values that the type can hold exactly get no more fractional bits than that takes: the rest is headroom. Values that
    vanish on every grid are held like zeros, by frac 0, which widens no sum.

    Two facts spare most of them. Below the largest frac that holds the largest magnitude, each step down only takes
    grid points away, so the error never shrinks. Above it, the largest value alone contributes (largest - the type's
    end)^2 / count, which grows with frac: once that passes the best error so far, no higher frac can win.
    """
    highest = max(-MAX_FRAC, min(MAX_FRAC, highest))
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0.0:
        return measure(values, replace(like, frac=min(0, highest)), rounding)
    # largest < 2**exponent: with this frac it fills half of the range at most, so that rounding cannot saturate it
    start = like.width - int(like.signed) - frexp(largest)[1] - 1
    start = max(-MAX_FRAC, min(highest, start))
    best, error = start, _error(values, replace(like, frac=start), rounding)
    for frac in range(start + 1, highest + 1):
        if _least(values, replace(like, frac=frac)) > error:
            break
        now = _error(values, replace(like, frac=frac), rounding)
        if now < error:
            best, error = frac, now
    while best > 0 and error == 0.0 and _error(values, replace(like, frac=best - 1), rounding) == 0.0:
        best -= 1
    fit = measure(values, replace(like, frac=best), rounding)
    vanished = not to_grid(values, fit.fixed, rounding).any()
    return measure(values, replace(like, frac=min(0, highest)), rounding) if vanished else fit


def _least(values: Reals, fixed: Fixed) -> float:
    """A bound: no rounding brings the extreme values nearer than the type's ends."""
    above = max(0.0, float(values.max()) - fixed.hi * 2.0**-fixed.frac)
    below = max(0.0, fixed.lo * 2.0**-fixed.frac - float(values.min()))
    return float((above**2 + below**2) / values.size) if fixed.signed else float(above**2 / values.size)


def _error(values: Reals, fixed: Fixed, rounding: Rounding) -> float:
    return _mse(values, to_grid(values, fixed, rounding))


def _mse(values: Reals, on_grid: Reals) -> float:
    return float(np.mean((values - on_grid) ** 2)) if values.size else 0.0
