"""A division by a constant is a multiplication that rounds alike, for every integer of its range."""

from __future__ import annotations

import numpy as np
import pytest

from mase_hw.ir.division import Division
from mase_hw.ir.finish import Finish
from mase_hw.numerics import Fixed, Rounding, requantize_quotient

WIDE = Fixed(40, 0)


@pytest.mark.parametrize("rounding", Rounding)
@pytest.mark.parametrize("divisor", [3, 5, 9, 25, 49, 121])
@pytest.mark.parametrize("down", [-3, 0, 1, 4])
def test_every_sum(divisor: int, down: int, rounding: Rounding) -> None:
    for lo, hi in ((-128 * divisor, 127 * divisor), (0, 255 * divisor), (7, 9), (-40, -3)):
        found = Division.of(lo, hi, divisor, down, rounding)
        expected = requantize_quotient(np.arange(lo, hi + 1), divisor, down, WIDE, rounding)
        assert [found.rounded(n) for n in range(lo, hi + 1)] == expected.tolist()
        assert all(0 <= (n << found.up) + found.offset <= found.most for n in (lo, hi))


def test_half_goes_to_even() -> None:
    """By fractions: 9 / 6 is 1.5, 15 / 6 is 2.5, and both become 2."""
    assert requantize_quotient(np.array([9, 15, -9, -15]), 3, 1, WIDE, Rounding.HALF_EVEN).tolist() == [2, 2, -2, -2]
    assert requantize_quotient(np.array([9, 15, -9, -15]), 3, 1, WIDE, Rounding.FLOOR).tolist() == [1, 2, -2, -3]


def test_a_smaller_factor_is_wrong() -> None:
    """The search stops at the first factor that is exact; the one before it is not."""
    found = Division.of(-9 * 128, 9 * 127, 9, 0, Rounding.HALF_EVEN)
    shorter = Division(
        0, 9, found.offset, -(-(1 << found.shift - 1) // 9), found.shift - 1, None, found.back, found.most
    )
    numbers = range(-9 * 128, 9 * 127 + 1)
    assert any(found.rounded(n) != shorter.rounded(n) for n in numbers)


def test_the_quotient_is_clamped() -> None:
    finish = Finish(0, -1152, 1143, Fixed(4, 0), Rounding.HALF_EVEN, divisor=9)
    assert finish.execute(np.array([-1152, -68, 4, 5, 1143])).tolist() == [-8, -8, 0, 1, 7]
    assert finish.parameters()["ClampLo"]
    assert finish.parameters()["Shift"] == 0
