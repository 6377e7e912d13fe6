"""Products through floats are the integers' own, up to and beyond where floats end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mase_hw.numerics.product import product


@given(st.integers(1, 40), st.integers(1, 33), st.integers(0, 2**32 - 1), st.sampled_from([1, 9, 15, 16, 24, 27]))
def test_equals_the_integer_product(inner: int, outer: int, seed: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-(2**bits), 2**bits, (7, inner))
    matrix = rng.integers(-(2**bits), 2**bits, (inner, outer))
    got = product(x, matrix)
    assert got.dtype == np.int64
    assert np.array_equal(got, x @ matrix)


@pytest.mark.parametrize("bits", [24, 53])
def test_one_beyond_what_a_float_holds(bits: int) -> None:
    """2**bits + 1 is the first whole number that the float does not have."""
    odd = np.array([[2**bits, 1]])
    ones = np.ones((2, 1), np.int64)
    assert product(odd, ones).tolist() == [[2**bits + 1]]
    assert product(ones.T, odd.T).tolist() == [[2**bits + 1]]


def test_a_large_input_on_a_zero_column() -> None:
    assert product(np.array([[2**60 + 1, 3]]), np.array([[0], [1]])).tolist() == [[3]]


def test_nothing() -> None:
    assert product(np.zeros((0, 3), np.int64), np.ones((3, 2), np.int64)).shape == (0, 2)
