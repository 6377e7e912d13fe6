"""A quotient by a constant, computed as a product that is cut off below: compared with the software at its steps.

The software's result goes up in steps: from each one to the next it is the same. The hardware looks at one word, a
multiple of the sum plus a constant. Each bit of its result is a decision diagram over that word, and is the wanted one
for every number from that of the first sum of a step to that of its last. So every sum is covered, and a step costs the
same however many sums it has.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mase_hw.ir.finish import Finish
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import Cones
from mase_hw.prove.netlist.netlist import Cell, Net
from mase_hw.prove.words.carried import UNKNOWN, Bit, Function, Value, Word
from mase_hw.prove.words.symbolic import Symbolic, Values
from mase_hw.prove.words.words import Words

MAX_SUMS = 1 << 22  # whose results are all computed
MAX_STEPS = 1 << 12


class Carried(Symbolic):
    """A constant is added bit by bit where the other side is not affine, such as a quotient that was made even."""

    def _arithmetic(self, cell: Cell, inputs: dict[str, Values]) -> Values:
        found = super()._arithmetic(cell, inputs)
        if cell.type not in ("$add", "$sub") or UNKNOWN not in found:
            return found
        a, b = (self._extended(cell, port, inputs[port], len(found)) for port in ("A", "B"))
        if UNKNOWN in (*a, *b) or not any(all(isinstance(bit, int) for bit in side) for side in (a, b)):
            return found
        carry: Value = int(cell.type == "$sub")
        total: Values = []
        for one, other in zip(a, [self.inverted(bit) for bit in b] if carry else b, strict=True):
            differ = self.differ(one, other)
            total.append(self.differ(differ, carry))
            carry = self.either(self.both(one, other), self.both(differ, carry))
        return total


class Quotient:
    """One variable stands for the finished sum of every lane: lanes that are built alike are compared once."""

    def __init__(self, cones: Cones, finish: Finish) -> None:
        self.cones, self.finish = cones, finish
        self.words = Words(np.array([finish.lo]), np.array([finish.hi]))
        self.evaluator = Carried(self.words)
        self._seen: set[tuple[int, int, int, int]] = set()

    @property
    def steps(self) -> int:
        return len(self._starts)

    @property
    def changes(self) -> Integers:
        """The first and the last sum of each step."""
        return np.unique([*self._starts, *(self._starts[1:] - 1), self.finish.hi])

    @cached_property
    def _starts(self) -> Integers:
        """The first sum of each step. Of very many sums they are found by halving, since rounding keeps order."""
        lo, hi = self.finish.lo, self.finish.hi
        if hi - lo < MAX_SUMS:
            results = self.finish.execute(np.arange(lo, hi + 1))
            return np.asarray(lo + np.append(0, 1 + np.flatnonzero(np.diff(results))))
        least, most = self.finish.execute(np.array([lo, hi])).tolist()
        if most - least > MAX_STEPS:
            raise NotProvedError(f"a quotient with {most - least:,} steps")
        wanted = np.arange(least + 1, most + 1)
        below, above = np.full(len(wanted), lo), np.full(len(wanted), hi)
        while (above - below > 1).any():
            middle = (below + above) // 2
            reached = self.finish.execute(middle) >= wanted
            below, above = np.where(reached, below, middle), np.where(reached, middle, above)
        return np.unique(np.append(lo, above))

    def check(self, held: tuple[Net, ...], taken: tuple[Net, ...]) -> None:
        """Raises unless what is taken is the rounded quotient of what is held, for every sum."""
        if self.steps > MAX_STEPS:
            raise NotProvedError(f"a quotient with {self.steps:,} steps")
        n = self.words.variable(0)
        given = {net: self.words.bit(n, k) for k, net in enumerate(held)}
        for k, bit in enumerate(self.cones.words(taken, given, self.evaluator)):
            base, node = self._function(k, bit)
            factor = int(base.factors[0])
            if (k, node, factor, base.constant) not in self._seen:
                self._check_bit(k, node, factor, base.constant)
                self._seen.add((k, node, factor, base.constant))

    def _function(self, k: int, bit: Value) -> tuple[Word, int]:
        """A bit as a function of a multiple of the sum."""
        if isinstance(bit, Function):
            return bit.word, bit.node
        if isinstance(bit, Bit):
            return bit.word, self.words.diagrams.bit(bit.index)
        if isinstance(bit, int):
            return self.words.variable(0), bit
        raise NotProvedError(f"bit {k} of the quotient is not a function of one multiple of the sum")

    def _check_bit(self, k: int, node: int, factor: int, constant: int) -> None:
        make = self.words.diagrams
        ends = np.append(self._starts[1:] - 1, self.finish.hi)
        results = self.finish.execute(self._starts)
        other = {0: node, 1: make.inverted(node)}
        for first, last, result in zip(self._starts.tolist(), ends.tolist(), results.tolist(), strict=True):
            lo, hi = sorted((factor * first + constant, factor * last + constant))
            if make.first(other[result >> k & 1], lo, hi) is not None:
                text = f"bit {k} of the quotient is not that of {result} for every sum from {first} to {last}"
                raise NotProvedError(text)
