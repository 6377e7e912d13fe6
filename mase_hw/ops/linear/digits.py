"""Weights as base-4 digits of at most four values each, so that a digit times a number is one gate per bit.

The digits of a level are -1, 0, 1, 2 or -2, -1, 0, 1; the highest may have fewer. Each is stored in two bits. Times x
it is a row: zero, x, 2x, or the complement of x or 2x; what a complement lacks is a constant, known with the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from mase_hw.numerics.rounding import Integers

_VARIED = 6  # levels, from the top, for which both sets of values are tried


@dataclass(frozen=True)
class Digit:
    """A level: its digits, `lo` to `hi`, count 2**shift."""

    shift: int
    lo: int
    hi: int

    @property
    def bits(self) -> int:
        """Bits that store a digit: its lowest bits."""
        return 1 if self.hi - self.lo < 2 else 2

    @property
    def doubles(self) -> bool:
        return self.lo == -2 or self.hi == 2

    @property
    def name(self) -> str:
        """Its values, as part of a name: m1_2 for -1 to 2."""
        return f"{self.lo}_{self.hi}".replace("-", "m")

    def row_bits(self, x_bits: int) -> int:
        """Bits of a row, a number of `x_bits` signed bits times a digit."""
        return x_bits + self.doubles


def levels(lo: int, hi: int) -> tuple[Digit, ...]:
    """The fewest levels that write every weight of `lo..hi`, and 0, which pads."""
    lo, hi = min(lo, 0), max(hi, 0)
    if lo == hi:
        hi = 1  # no weight at all: one level of nothing but zeros
    lower = 0  # levels below the highest
    while True:
        found = []
        for highs in product((1, 2), repeat=min(lower, _VARIED)):
            lows = [-1] * (lower - len(highs)) + [-low for low in highs]
            least = sum(low << (2 * k) for k, low in enumerate(lows))
            top = Digit(2 * lower, (lo - least) >> (2 * lower), (hi - least) >> (2 * lower))
            if top.lo >= -2 and top.hi <= 2 and top.hi - top.lo < 4:
                found.append((*(Digit(2 * k, low, low + 3) for k, low in enumerate(lows)), top))
        if found:
            return min(found, key=lambda digits: (digits[-1].doubles, digits[-1].bits))
        lower += 1


def digits_of(weights: Integers, found: Sequence[Digit]) -> list[Integers]:
    """The digits of each level: `sum(digit << level.shift)` is the weight."""
    rest, values = weights, []
    for level in found[:-1]:
        values.append(((rest - level.lo) & 3) + level.lo)
        rest = (rest - values[-1]) >> 2
    assert rest.size == 0 or (rest.min() >= found[-1].lo and rest.max() <= found[-1].hi)
    return [np.asarray(value, np.int64) for value in [*values, rest]]
