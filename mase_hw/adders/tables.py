"""Sums of single bits by constants as tables: five bits at a time, looked up and added in the same LUTs.

The LUT in front of each bit of a carry chain adds two bits and so has inputs to spare: one operand of an adder may be
any function of five bits without costing more. A sum of many bits, each by a constant, is a chain of such additions.

Several groups of constants can share the chain, one at a time: which group it is takes some of the five bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

ADDED_BITS = 5  # that a table may depend on where it is added to something
ALONE_BITS = 6  # where it stands alone


@dataclass(frozen=True)
class Bit:
    """A bit of an input's digit, and what it counts in the sum of each group."""

    input: int
    place: int
    weights: tuple[int, ...]

    @cached_property
    def most(self) -> int:
        return max(abs(weight) for weight in self.weights)

    @cached_property
    def zeros(self) -> int:
        """Low bits that are zero in all of its weights."""
        return min(_zeros(weight) for weight in self.weights if weight)


@dataclass(frozen=True)
class Table:
    """The weights of those bits that are set, summed: `base + (entry << zeros)`, entries unsigned, a base a group."""

    bits: tuple[Bit, ...]
    raised: tuple[int, ...] = ()  # what every entry of a group is made larger by, and its base smaller

    @property
    def groups(self) -> int:
        return len(self.bits[0].weights)

    @cached_property
    def bases(self) -> tuple[int, ...]:
        raised = self.raised or (0,) * self.groups
        return tuple(sum(min(0, bit.weights[g]) for bit in self.bits) - raised[g] for g in range(self.groups))

    @cached_property
    def highest(self) -> tuple[int, ...]:
        """The largest value above the base, for each group."""
        tops = (sum(max(0, bit.weights[g]) for bit in self.bits) for g in range(self.groups))
        return tuple(top - base for top, base in zip(tops, self.bases, strict=True))

    @property
    def hi(self) -> int:
        return max(self.highest)

    @cached_property
    def zeros(self) -> int:
        """Low bits that are zero in every entry."""
        return min(bit.zeros for bit in self.bits)

    @property
    def width(self) -> int:
        """Bits of an entry."""
        return (self.hi >> self.zeros).bit_length()

    @cached_property
    def entries(self) -> list[int]:
        """By address, in which the first bit is the lowest and the group the highest; a group that is none is 0."""
        found: list[int] = []
        for g, base in enumerate(self.bases):
            sums = [-base]
            for bit in self.bits:
                sums += [total + bit.weights[g] for total in sums]
            found += [total >> self.zeros for total in sums]
        return found + [0] * ((1 << len(self.bits) + group_bits(self.groups)) - len(found))

    @cached_property
    def columns(self) -> int:
        """A bit for each column that is not constant."""
        used = 0
        for entry in self.entries:
            used |= entry
        return used

    @property
    def luts(self) -> int:
        return self.columns.bit_count()


def group_bits(groups: int) -> int:
    """Bits that say which group it is."""
    return (groups - 1).bit_length()


def tables(bits: Sequence[Bit], alone: bool) -> list[Table]:
    """The bits in as cheap tables as we find, the narrowest first; `alone`: the first is not added to anything.

    Bits that count similarly much go together: a table of small weights is narrow, and one of multiples of 2**k has no
    columns below. In which sense similar is tried both ways.
    """
    if not bits:
        return []
    orders = (
        sorted(bits, key=lambda bit: (bit.most, bit.input, bit.place)),
        sorted(bits, key=lambda bit: (-bit.zeros, bit.most, bit.input, bit.place)),
    )
    found = [_cut(order, alone) for order in orders]
    best = min(found, key=lambda cut: (sum(table.luts for table in cut), len(cut)))
    if not alone:
        best.sort(key=lambda table: table.hi)
    return best


def _cut(order: Sequence[Bit], alone: bool) -> list[Table]:
    """Where to cut a sequence of bits into tables such that they take the fewest LUTs, of equals the fewest tables."""
    taken = group_bits(len(order[0].weights))
    magnitudes = np.abs([bit.weights for bit in order])
    singles = np.bitwise_or.reduce(magnitudes, 1).tolist()
    upto = np.vstack([np.zeros_like(magnitudes[:1]), magnitudes.cumsum(0)])
    best = [(0, 0, 0)]  # for each number of bits: LUTs, tables, where the last table starts
    for end in range(1, len(order) + 1):
        found = []
        largest = (ALONE_BITS if alone and end <= ALONE_BITS - taken else ADDED_BITS) - taken
        for start in range(max(0, end - largest), end):
            if end - start > ADDED_BITS - taken and start > 0:
                continue
            zeros = min(bit.zeros for bit in order[start:end])
            columns = int((upto[end] - upto[start]).max()).bit_length() - zeros
            cost = singles[start].bit_count() if end - start == 1 else columns
            found.append((best[start][0] + cost, best[start][1] + 1, start))
        best.append(min(found))
    cuts = [len(order)]
    while cuts[-1]:
        cuts.append(best[cuts[-1]][2])
    return [Table(tuple(order[start:end])) for end, start in pairwise(cuts)][::-1]


def _zeros(n: int) -> int:
    """Zero bits below the lowest that is set."""
    return (n & -n).bit_length() - 1
