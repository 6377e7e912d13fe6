"""Thresholds as a multiplication: the constants cross at the very same numbers, and no narrower ones do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mase_hw.numerics.rounding import Integers
from mase_hw.ops.crossing import Crossing, crossing_at


def staircase(slope: Fraction, start: Fraction, bits: int, lo: int, hi: int, first: int) -> list[int]:
    """The least numbers of `lo..hi` that round to each level above `first`; `hi + 1` where none does."""
    every = [round(slope * n + start) for n in range(lo, hi + 1)]
    return [next((n for n, y in zip(range(lo, hi + 1), every, strict=True) if y >= k), hi + 1)
            for k in range(first + 1, first + (1 << bits))]  # fmt: skip


def wanted(limits: Integers, first: int, x: Integers) -> Integers:
    return first + (x[:, None, None] >= limits[None]).sum(2)


@given(
    st.lists(
        st.tuples(st.fractions(Fraction(1, 200), 2, max_denominator=997), st.fractions(-20, 20, max_denominator=97)),
        min_size=1,
        max_size=3,
    ),
    st.integers(2, 5),
    st.integers(1, 150),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_constants_cross_at_the_thresholds(
    lines: list[tuple[Fraction, Fraction]], bits: int, reach: int, signed: bool
) -> None:
    first = -(1 << bits - 1) if signed else 0
    limits = np.array([staircase(*line, bits, -reach, reach, first) for line in lines])
    lo, hi = np.full(len(lines), -reach), np.full(len(lines), reach)
    found = crossing_at(limits, first, lo, hi, (True, True))
    x = np.arange(-reach, reach + 1)
    if found is None:
        return
    levels = np.clip(found.levels(x[:, None]), first, first + (1 << bits) - 1)
    assert np.array_equal(levels, wanted(limits, first, x))
    assert (found.factor >= 0).all()


def test_no_shift_that_is_smaller_has_constants() -> None:
    """Every factor and offset is tried."""
    limits = np.array([staircase(Fraction(5, 17), Fraction(1, 3), 3, -20, 20, 0)])
    ends = np.array([-20]), np.array([20])
    found = crossing_at(limits, 0, *ends, (True, True))
    assert found is not None
    x = np.arange(-20, 21)
    for shift in range(found.shift):
        for factor in range(1 << shift + 1):
            for offset in range(-(4 << shift), 4 << shift):
                trial = Crossing(np.array([factor]), np.array([offset]), shift)
                assert not np.array_equal(np.clip(trial.levels(x[:, None]), 0, 7), wanted(limits, 0, x))


def test_without_a_clamp_the_ends_stay_within() -> None:
    limits = np.array([[-3, 0, 3]])
    found = crossing_at(limits, 0, np.array([-6]), np.array([5]), (False, False))
    assert found is not None
    levels = found.levels(np.arange(-6, 6)[:, None])
    assert (levels.min(), levels.max()) == (0, 3)
    steep = crossing_at(np.array([[-3, -2, -1]]), 0, np.array([-9]), np.array([9]), (False, False))
    assert steep is None


def test_no_line_crosses_at_uneven_thresholds() -> None:
    assert crossing_at(np.array([[-8, -7, 0, 9]]), 0, np.array([-20]), np.array([20]), (True, True)) is None


def test_channels_that_never_move() -> None:
    limits = np.array([[-5, -5, -5], [6, 6, 6]])
    found = crossing_at(limits, 0, np.array([-5, -5]), np.array([5, 5]), (True, True))
    assert found is not None
    levels = np.clip(found.levels(np.arange(-5, 6)[:, None]), 0, 3)
    assert (levels[:, 0] == 3).all()
    assert (levels[:, 1] == 0).all()
