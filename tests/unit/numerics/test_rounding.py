"""The one rounding rule against exact rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mase_hw.modules import Quantizer
from mase_hw.numerics import Fixed, Rounding, requantize, signed_width, to_grid, to_integers

FIXED = st.builds(Fixed, st.integers(2, 32), st.integers(-64, 64), st.booleans())


def exact(value: Fraction, to: Fixed, rounding: Rounding) -> int:
    """The contract, on rationals: Python's round() of a Fraction is half to even."""
    scaled = value * Fraction(2) ** to.frac
    whole = math.floor(scaled) if rounding is Rounding.FLOOR else round(scaled)
    return min(max(whole, to.lo), to.hi)


@settings(max_examples=500, deadline=None)
@given(st.integers(-(2**53) + 1, 2**53 - 1), st.integers(-130, 130), FIXED, st.sampled_from(Rounding))
def test_requantize(n: int, frac: int, to: Fixed, rounding: Rounding) -> None:
    got = requantize(np.array([n], dtype=np.int64), frac, to, rounding)
    assert got.dtype == np.int64
    assert got.tolist() == [exact(Fraction(n) / Fraction(2) ** frac, to, rounding)]


@settings(max_examples=500, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), FIXED, st.sampled_from(Rounding))
def test_to_integers(x: float, to: Fixed, rounding: Rounding) -> None:
    assert to_integers([x], to, rounding).tolist() == [exact(Fraction(x), to, rounding)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1), st.integers(2, 24), st.integers(-20, 20))
@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("signed", [True, False])
def test_torch_and_numpy_round_alike(
    rounding: Rounding, signed: bool, values: list[float], width: int, frac: int
) -> None:
    to = Fixed(width, frac, signed)
    expected = to_integers(values, to, rounding)
    tensor = torch.tensor(values, dtype=torch.float32)
    grid = Quantizer(to, rounding)(tensor)
    if frac >= 0:
        assert torch.equal(to_grid(tensor, to, rounding), grid)
    assert (grid.double().numpy() * 2.0**frac).tolist() == expected.tolist()


def test_a_tiny_negative_number_is_not_lost_before_floor() -> None:
    to = Fixed(2, -8)
    assert Quantizer(to, Rounding.FLOOR)(torch.tensor([-1e-43])).tolist() == [-256.0]
    assert to_integers([-1e-43], to, Rounding.FLOOR).tolist() == [-1]


def test_ties_and_saturation() -> None:
    to = Fixed(4, 1)
    x = [0.25, 0.75, 1.25, -0.25, -0.75, 100.0, -100.0]
    assert to_integers(x, to, Rounding.HALF_EVEN).tolist() == [0, 2, 2, 0, -2, 7, -8]
    assert to_integers(x, to, Rounding.FLOOR).tolist() == [0, 1, 2, -1, -2, 7, -8]


@given(st.integers(-(2**60), 2**60), st.integers(-(2**60), 2**60))
def test_signed_width_is_the_smallest(a: int, b: int) -> None:
    lo, hi = min(a, b), max(a, b)
    width = signed_width(lo, hi)
    assert Fixed(width, 0).holds(lo, hi)
    assert width == 2 or not Fixed(width - 1, 0).holds(lo, hi)


@pytest.mark.parametrize(("width", "signed"), [(1, True), (0, False), (-3, True)])
def test_widths_that_are_none(width: int, signed: bool) -> None:
    with pytest.raises(ValueError, match="needs a width of at least"):
        Fixed(width, 0, signed)


@pytest.mark.parametrize(
    ("fixed", "lo", "hi"), [(Fixed(2, 0), -2, 1), (Fixed(8, 4), -128, 127), (Fixed(1, 0, signed=False), 0, 1)]
)
def test_ranges(fixed: Fixed, lo: int, hi: int) -> None:
    assert (fixed.lo, fixed.hi) == (lo, hi)
