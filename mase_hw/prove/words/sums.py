"""The exact sum of an adder, and which sums an input can give: where none gets to, a clamp may do anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.words.carried import Word


@dataclass(frozen=True)
class Sum:
    """An adder's exact sum of data: above `lift` bits that are known, its output is the sum from bit `shift` on."""

    cell: Cell
    total: Word
    shift: int = 0
    lift: int = 0

    @property
    def bits(self) -> int:
        """How many of the sum's bits there are, with those that are cut off below."""
        return self.shift + self.cell.width("Y") - self.lift


class Sums:
    """`constant + factors @ x` for every x between `lo` and `hi`: exactly those that are met."""

    def __init__(self, factors: Integers, constant: int, lo: Integers, hi: Integers) -> None:
        self.factors, self.lo, self.hi = factors, lo, hi
        spread = int((np.abs(factors) * (hi - lo)).sum())
        self.size = spread * len(factors) // 8  # bytes that it takes to find out
        self.least = constant + int(np.minimum(factors * lo, factors * hi).sum())

    def any_of(self, totals: Integers) -> Integers | None:
        """An input that gives one of these sums; None where none does."""
        met = np.unpackbits(np.frombuffer(self._met[-1], np.uint8), bitorder="little")
        places = totals - self.least
        places = places[(places >= 0) & (places < len(met))]
        found = places[met[places] == 1]
        return self._vector(int(found[0])) if len(found) else None

    @cached_property
    def _met(self) -> list[bytes]:
        """After each input: the sums so far, counted from the least; sum `n` is bit `n`."""
        found, sums = [b"\1"], 1
        for factor, lo, hi in zip(self.factors.tolist(), self.lo.tolist(), self.hi.tolist(), strict=True):
            step, times = abs(factor), hi - lo if factor else 0
            part = 1
            while times:  # 1, 2, 4, ... and the rest: together every multiple up to `times`
                part = min(part, times)
                sums |= sums << (step * part)
                times, part = times - part, 2 * part
            found.append(sums.to_bytes(sums.bit_length() // 8 + 1, "little"))
        return found

    def _vector(self, rest: int) -> Integers:
        x = np.where(self.factors < 0, self.hi, self.lo)
        for i in reversed(range(len(x))):
            step = abs(int(self.factors[i]))
            times = 0
            while rest >= 8 * len(self._met[i]) or not (self._met[i][rest >> 3] >> (rest & 7)) & 1:
                rest, times = rest - step, times + 1
            x[i] += times if self.factors[i] > 0 else -times
        return np.asarray(x)
