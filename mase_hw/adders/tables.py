"""Sums of single bits by constants as tables: five bits at a time, looked up and added in the same LUTs.

The LUT in front of each bit of a carry chain adds two bits and so has inputs to spare: one operand of an adder may be
any function of five bits without costing more. A sum of many bits, each by a constant, is a chain of such additions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

ADDED_BITS = 5  # that a table may depend on where it is added to something
ALONE_BITS = 6  # where it stands alone


@dataclass(frozen=True)
class Bit:
    """A bit of an input's digit, and what it counts in a sum."""

    input: int
    place: int
    weight: int


@dataclass(frozen=True)
class Table:
    """The weights of those bits that are set, summed: `base + (entry << zeros)`, entries unsigned."""

    bits: tuple[Bit, ...]

    @cached_property
    def base(self) -> int:
        return sum(min(0, bit.weight) for bit in self.bits)

    @cached_property
    def hi(self) -> int:
        """The largest value above the base."""
        return sum(abs(bit.weight) for bit in self.bits)

    @cached_property
    def zeros(self) -> int:
        """Low bits that are zero in every entry."""
        return min(_zeros(bit.weight) for bit in self.bits)

    @property
    def width(self) -> int:
        """Bits of an entry."""
        return (self.hi >> self.zeros).bit_length()

    @cached_property
    def entries(self) -> list[int]:
        """By address, in which the first bit is the lowest."""
        sums = [-self.base]
        for bit in self.bits:
            sums += [total + bit.weight for total in sums]
        return [total >> self.zeros for total in sums]

    @cached_property
    def luts(self) -> int:
        """Columns that are not constant."""
        used = 0
        for entry in self.entries:
            used |= entry
        return used.bit_count()


def tables(bits: Sequence[Bit], alone: bool) -> list[Table]:
    """The bits in as cheap tables as we find, the narrowest first; `alone`: the first is not added to anything.

    Bits that count similarly much go together: a table of small weights is narrow, and one of multiples of 2**k has no
    columns below. In which sense similar is tried both ways.
    """
    if not bits:
        return []
    orders = (
        sorted(bits, key=lambda bit: (abs(bit.weight), bit.input, bit.place)),
        sorted(bits, key=lambda bit: (-_zeros(bit.weight), abs(bit.weight), bit.input, bit.place)),
    )
    found = [_cut(order, alone) for order in orders]
    best = min(found, key=lambda cut: (sum(table.luts for table in cut), len(cut)))
    if not alone:
        best.sort(key=lambda table: table.hi)
    return best


def _cut(order: Sequence[Bit], alone: bool) -> list[Table]:
    """Where to cut a sequence of bits into tables such that they take the fewest LUTs, of equals the fewest tables."""
    magnitudes = [abs(bit.weight) for bit in order]
    zeros = [_zeros(bit.weight) for bit in order]
    best = [(0, 0, 0)]  # for each number of bits: LUTs, tables, where the last table starts
    for end in range(1, len(order) + 1):
        found = []
        largest = ALONE_BITS if alone and end <= ALONE_BITS else ADDED_BITS
        for start in range(max(0, end - largest), end):
            if end - start > ADDED_BITS and start > 0:
                continue
            part = slice(start, end)
            cost = magnitudes[start].bit_count() if end - start == 1 else _columns(magnitudes[part], zeros[part])
            found.append((best[start][0] + cost, best[start][1] + 1, start))
        best.append(min(found))
    cuts = [len(order)]
    while cuts[-1]:
        cuts.append(best[cuts[-1]][2])
    return [Table(tuple(order[start:end])) for end, start in pairwise(cuts)][::-1]


def _columns(magnitudes: Sequence[int], zeros: Sequence[int]) -> int:
    return sum(magnitudes).bit_length() - min(zeros)


def _zeros(n: int) -> int:
    """Zero bits below the lowest that is set."""
    return (n & -n).bit_length() - 1
