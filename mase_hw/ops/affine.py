"""What linear and batch norm share: exact sums of products and a constant, aligned to one binary point, with bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Alignment:
    """Where the binary points of products and constants meet: `frac = max(fx + fw, fb)`."""

    frac: int
    product_shift: int
    constant_shift: int


def align(x: Fixed, weight: Fixed, constant: Fixed | None) -> Alignment:
    """Both shifts are to the left: nothing is lost before the one requantize."""
    product = x.frac + weight.frac
    frac = product if constant is None else max(product, constant.frac)
    return Alignment(frac, frac - product, 0 if constant is None else frac - constant.frac)


def matrix_bounds(x: Stream, matrix: Integers, constant: Integers) -> tuple[Integers, Integers]:
    """Exact bounds of `matrix @ x + constant` over the box of x's bounds. `matrix` is [out, in]."""
    lo, hi = x.bounds
    up, down = np.maximum(matrix, 0), np.minimum(matrix, 0)
    bounds = [low @ up.T + high @ down.T + constant for low, high in ((lo, hi), (hi, lo))]
    return np.asarray(bounds[0], np.int64), np.asarray(bounds[1], np.int64)


def matrix_extremes(x: Stream, matrix: Integers) -> Integers:
    """For each row the input that makes it smallest and the one that makes it largest: [2 * out, in]."""
    lo, hi = x.bounds
    return np.concatenate([np.where(matrix > 0, lo, hi), np.where(matrix > 0, hi, lo)])
