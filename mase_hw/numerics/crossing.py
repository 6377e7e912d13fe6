"""Where rounding steps: the real numbers that round to an integer `k` or more, in every rounding mode.

Exact: numbers are rationals, or a rational and a multiple of one square root (a batch norm divides by one).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

_HALF = Fraction(1, 2)


class Mode(StrEnum):
    """How a real number becomes an integer. `away` and `zero` mean away from 0 and towards it."""

    HALF_EVEN = "half_even"
    HALF_UP = "half_up"
    HALF_AWAY = "half_away"
    HALF_ZERO = "half_zero"
    FLOOR = "floor"
    CEIL = "ceil"
    AWAY = "away"
    ZERO = "zero"
    SIGN = "sign"  # 1 from 0 on, and 0 below


@dataclass(frozen=True)
class Edge:
    """The number `at + factor * sqrt(under)`; `root` False: it is `at` alone."""

    at: Fraction
    factor: Fraction = Fraction(0)
    under: Fraction = Fraction(0)

    @property
    def rational(self) -> bool:
        return not self.factor

    def moved(self, by: Fraction) -> Edge:
        return Edge(self.at + by, self.factor, self.under)

    def times(self, by: Fraction) -> Edge:
        return Edge(self.at * by, self.factor * by, self.under)

    def rooted(self, under: Fraction) -> Edge:
        """A rational times `sqrt(under)`."""
        assert self.rational, "two square roots in one number"
        root = exact_root(under)
        return Edge(self.at * root) if root is not None else Edge(Fraction(0), self.at, under)

    def floor(self) -> int:
        """The greatest integer that is not above it."""
        if self.rational:
            return math.floor(self.at)
        square = self.factor * self.factor * self.under  # factor * sqrt(under) = +-sqrt(square)
        # at + sqrt(num / den) = (a + b * sqrt(num * den)) / c, with integers; floors nest.
        den = self.at.denominator * square.denominator
        whole = self.at.numerator * square.denominator
        inside = square.numerator * square.denominator * self.at.denominator**2
        root = math.isqrt(inside)
        if self.factor < 0:
            root = -root - (root * root != inside)
        return (whole + root) // den

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        if self.rational:
            return (self.at > 0) - (self.at < 0)
        square, own = self.factor * self.factor * self.under, self.at * self.at
        term = 1 if self.factor > 0 else -1
        if not square or (self.at and (self.at > 0) != (self.factor > 0) and square < own):
            return (self.at > 0) - (self.at < 0)
        return 0 if self.at and (self.at > 0) != (self.factor > 0) and square == own else term

    def is_integer(self) -> bool:
        return self.moved(Fraction(-self.floor())).sign == 0

    def least(self, *, reached: bool) -> int:
        """The least integer that is not below it; without `reached`, the least above it."""
        below = self.floor()
        return below if reached and self.is_integer() else below + 1

    def greatest(self, *, reached: bool) -> int:
        """The greatest integer that is not above it; without `reached`, the greatest below it."""
        return self.floor() - (not reached and self.is_integer())


def exact_root(number: Fraction) -> Fraction | None:
    """The square root, where it is a rational."""
    above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
    exact = above * above == number.numerator and below * below == number.denominator
    return Fraction(above, below) if exact else None


def crossing(k: int, mode: Mode) -> tuple[Fraction, bool]:
    """Numbers round to `k` or more from this one on; False: only those above it do."""
    match mode:
        case Mode.HALF_EVEN:
            return k - _HALF, k % 2 == 0
        case Mode.HALF_UP:
            return k - _HALF, True
        case Mode.HALF_AWAY:
            return k - _HALF, k > 0
        case Mode.HALF_ZERO:
            return k - _HALF, k <= 0
        case Mode.FLOOR:
            return Fraction(k), True
        case Mode.CEIL:
            return Fraction(k - 1), False
        case Mode.AWAY:
            return (Fraction(k - 1), False) if k > 0 else (Fraction(k), True)
        case Mode.ZERO:
            return (Fraction(k), True) if k > 0 else (Fraction(k - 1), False)
        case Mode.SIGN:
            return Fraction(0), True


def rounded(x: Fraction, mode: Mode) -> int:
    """The integer that `x` rounds to."""
    if mode is Mode.SIGN:
        return int(x >= 0)
    k = math.floor(x) - 1
    while True:
        at, reached = crossing(k + 1, mode)
        if not (x >= at if reached else x > at):
            return k
        k += 1
