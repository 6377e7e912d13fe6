"""Sums and differences of streams with binary points of their own, against real numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mase_hw.ir import full_range
from mase_hw.numerics import Fixed, Rounding, to_integers
from mase_hw.ops import Result
from mase_hw.ops.add import add

TYPES = (Fixed(4, 1), Fixed(3, 3), Fixed(4, -2), Fixed(3, 1, signed=False))


@pytest.mark.parametrize("signs", [(1, 1), (1, -1)])
@pytest.mark.parametrize(("one", "other"), product(TYPES, TYPES), ids=str)
def test_every_pair_of_numbers(one: Fixed, other: Fixed, signs: tuple[int, int]) -> None:
    """Exact, then rounded and saturated: all numbers of both types."""
    pairs = [(a, b) for a in range(one.lo, one.hi + 1) for b in range(other.lo, other.hi + 1)]
    x, y = (np.array(side)[:, None] for side in zip(*pairs, strict=True))
    real = signs[0] * x * 2.0**-one.frac + signs[1] * y * 2.0**-other.frac
    inputs = [full_range(f"data_in_{k}", 1, 1, fixed) for k, fixed in enumerate((one, other))]
    exact = add("sum", inputs, signs, None)
    (found,) = exact.execute(x, y)
    assert np.array_equal(found * 2.0**-exact.output.fixed.frac, real)
    assert (found.min(), found.max()) == (exact.output.lo[0], exact.output.hi[0])
    narrow = Fixed(4, 0)
    for rounding in Rounding:
        (found,) = add("sum", inputs, signs, Result(narrow, rounding)).execute(x, y)
        assert np.array_equal(found, to_integers(real, narrow, rounding))
