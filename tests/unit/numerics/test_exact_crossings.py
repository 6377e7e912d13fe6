"""Roundings as crossings, codes of real numbers, and numbers with a square root: against Python's own exact numbers."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mase_hw.numerics.codes import Affine, Codes, least_float
from mase_hw.numerics.crossing import Edge, Mode, rounded

FLOATS = st.floats(-1e6, 1e6, width=32)
RATIOS = st.fractions(-50, 50, max_denominator=64)


def _by_hand(x: Fraction, mode: Mode) -> int:
    """The rounding by its definition."""
    sign, size = (-1 if x < 0 else 1), abs(x)
    if mode in (Mode.HALF_EVEN, Mode.HALF_AWAY, Mode.HALF_ZERO):
        rules = {Mode.HALF_EVEN: ROUND_HALF_EVEN, Mode.HALF_AWAY: ROUND_HALF_UP, Mode.HALF_ZERO: ROUND_HALF_DOWN}
        with localcontext(prec=60):
            return int((Decimal(x.numerator) / Decimal(x.denominator)).quantize(Decimal(1), rounding=rules[mode]))
    found = {
        Mode.HALF_UP: math.floor(x + Fraction(1, 2)),
        Mode.FLOOR: math.floor(x),
        Mode.CEIL: math.ceil(x),
        Mode.AWAY: sign * math.ceil(size),
        Mode.ZERO: sign * math.floor(size),
        Mode.SIGN: int(x >= 0),
    }
    return found[mode]


@given(RATIOS | st.integers(-40, 40).map(lambda n: Fraction(n, 2)), st.sampled_from(Mode))
def test_a_rounding_is_what_its_name_says(x: Fraction, mode: Mode) -> None:
    assert rounded(x, mode) == _by_hand(x, mode)


@given(
    st.fractions(Fraction(1, 100), 3, max_denominator=1 << 24),
    st.sampled_from([Fraction(0), Fraction(-1), Fraction(1, 2), Fraction(5)]),
    st.integers(-3, 3),
    st.sampled_from([mode for mode in Mode if mode is not Mode.SIGN]),
    st.lists(FLOATS | st.integers(-20, 20).map(lambda n: n / 4), min_size=1, max_size=20),
)
def test_codes_divide_exactly(scale: Fraction, shift: Fraction, zero: int, mode: Mode, x: list[float]) -> None:
    codes = Codes(scale, shift, zero, -8, 7, mode)
    wanted = [min(max(rounded(Fraction(each) / scale + shift, mode) + zero, -8), 7) for each in x]
    assert codes.integers(x).tolist() == wanted
    assert Codes.of(codes.manifest()) == codes


def test_a_tie_that_float32_division_misses() -> None:
    scale = Fraction(float(np.float32(0.1)))
    x = float(np.nextafter(np.float64(scale * 5 / 2), np.inf))  # a hair above 2.5 steps
    assert round(float(np.float32(x) / np.float32(0.1))) == 2
    assert Codes(scale, Fraction(0), 0, -8, 7).integers([x]).tolist() == [3]


@given(st.fractions(-100, 100, max_denominator=10**6), st.booleans())
def test_the_least_float_that_reaches_a_number(at: Fraction, reached: bool) -> None:
    least = least_float(at, reached=reached)
    below = math.nextafter(least, -math.inf)
    assert (Fraction(least) >= at) if reached else (Fraction(least) > at)
    assert not ((Fraction(below) >= at) if reached else (Fraction(below) > at))


@given(RATIOS, RATIOS, st.fractions(Fraction(1, 64), 50, max_denominator=64), st.booleans())
def test_edges_with_a_root(at: Fraction, factor: Fraction, under: Fraction, reached: bool) -> None:
    edge = Edge(factor).rooted(under).moved(at)
    with localcontext(prec=80):
        root = (Decimal(under.numerator) / Decimal(under.denominator)).sqrt()
        near = Decimal(at.numerator) / at.denominator + Decimal(factor.numerator) / factor.denominator * root
    whole = near.to_integral_value()
    exact = abs(near - whole) < Decimal(10) ** -60
    least = int(whole) + (not reached) if exact else math.ceil(near)
    assert edge.least(reached=reached) == least
    assert edge.greatest(reached=reached) == (int(whole) - (not reached) if exact else math.floor(near))
    assert edge.sign == (0 if abs(near) < Decimal(10) ** -60 else (1 if near > 0 else -1))


def test_a_sum_that_is_zero_only_with_its_root() -> None:
    edge = Edge(Fraction(-3)).rooted(Fraction(2)).moved(Fraction(0))
    assert edge.sign == -1
    assert Edge(Fraction(3), Fraction(-3), Fraction(1)).sign == 0


@pytest.mark.parametrize("pairs", [1, 3])
def test_values_of_integers(pairs: int) -> None:
    affine = Affine((0.5,) * pairs, (-1.0,) * pairs)
    assert affine.values(np.array([[0, 2, 4]])).tolist() == [[-1.0, 0.0, 1.0]]
    assert affine.zero_point == (2.0,) * pairs
    assert affine.uniform
