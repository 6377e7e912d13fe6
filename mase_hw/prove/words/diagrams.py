"""Functions of one number as decision diagrams: a node for each function, so equal functions are the same node.

A node looks at one bit of the number, the highest first, and leads to one of two others; the last ones are 0 and 1. How
many values the number has does not matter: rounding and clamping 40 bits takes some dozens of nodes.
"""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers

SIGN = 62  # numbers lie from -2**62 up to 2**62 - 1: this bit is 0 where they are negative, so that it counts


class Diagrams:
    """Makes functions, which are named by the number of their node: 0 and 1 are the constants."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int]] = [(-1, 0, 0), (-1, 1, 1)]  # the bit, and where 0 and 1 lead to
        self._known: dict[tuple[int, int, int], int] = {}
        self._both: dict[tuple[int, int], int] = {}
        self._differ: dict[tuple[int, int], int] = {}

    def bit(self, index: int) -> int:
        """Bit `index` of the number, two's complement."""
        return self._node(index, 0, 1) if index < SIGN else self._node(SIGN, 1, 0)

    def inverted(self, a: int) -> int:
        return self.differ(a, 1)

    def either(self, a: int, b: int) -> int:
        return self.inverted(self.both(self.inverted(a), self.inverted(b)))

    def chosen(self, select: int, zero: int, one: int) -> int:
        return self.either(self.both(select, one), self.both(self.inverted(select), zero))

    def both(self, a: int, b: int) -> int:
        if a > b:
            a, b = b, a
        if a < 2 or a == b:
            return b if a else 0
        found = self._both.get((a, b))
        if found is None:
            bit, zero, one = self._split(a, b)
            found = self._both[a, b] = self._node(bit, self.both(*zero), self.both(*one))
        return found

    def differ(self, a: int, b: int) -> int:
        if a > b:
            a, b = b, a
        if a == b or a == 0:
            return 0 if a == b else b
        found = self._differ.get((a, b))
        if found is None:
            bit, zero, one = self._split(a, b)
            found = self._differ[a, b] = self._node(bit, self.differ(*zero), self.differ(*one))
        return found

    def first(self, a: int, lo: int, hi: int) -> int | None:
        """The least number from `lo` to `hi` for which the function is 1."""
        assert lo >= -(1 << SIGN)
        assert hi < 1 << SIGN
        found = self._first(a, SIGN, lo + (1 << SIGN), hi + (1 << SIGN))
        return None if found is None else found - (1 << SIGN)

    def values(self, a: int, lo: int, hi: int) -> np.ndarray:
        """The function for each number from `lo` to `hi`."""
        assert lo >= -(1 << SIGN)
        assert hi < 1 << SIGN
        return self._values(a, SIGN, lo + (1 << SIGN), hi + (1 << SIGN), {})

    def at(self, a: int, numbers: Integers) -> np.ndarray:
        """The function for each of these numbers."""
        bits, zeros, ones = np.array(self._nodes[: a + 1], np.int64).T
        place = np.full(len(numbers), a)
        counted = numbers + (1 << SIGN)
        while (place > 1).any():
            seen = (counted >> np.maximum(bits[place], 0)) & 1
            place = np.where(seen == 1, ones[place], zeros[place])
        return np.asarray(place == 1)

    def _node(self, bit: int, zero: int, one: int) -> int:
        if zero == one:
            return zero
        found = self._known.setdefault((bit, zero, one), len(self._nodes))
        if found == len(self._nodes):
            self._nodes.append((bit, zero, one))
        return found

    def _split(self, a: int, b: int) -> tuple[int, tuple[int, int], tuple[int, int]]:
        """The highest bit that one of them looks at, and where both lead to."""
        (of_a, *next_a), (of_b, *next_b) = self._nodes[a], self._nodes[b]
        bit = max(of_a, of_b)
        a0, a1 = next_a if of_a == bit else (a, a)
        b0, b1 = next_b if of_b == bit else (b, b)
        return bit, (a0, b0), (a1, b1)

    def _first(self, a: int, top: int, lo: int, hi: int) -> int | None:
        """The same for numbers of bits 0 to `top`; a function that is not 0 is 1 somewhere."""
        if a == 0 or lo > hi:
            return None
        if top < 0 or a == 1:
            return lo
        half = 1 << top
        bit, *after = self._nodes[a]
        zero, one = after if bit == top else (a, a)
        found = self._first(zero, top - 1, lo, min(hi, half - 1)) if lo < half else None
        if found is None and hi >= half:
            found = self._first(one, top - 1, max(lo, half) - half, hi - half)
            return None if found is None else found + half
        return found

    def _values(self, a: int, top: int, lo: int, hi: int, whole: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
        if a < 2:
            return np.full(hi - lo + 1, bool(a))
        all_of_them = lo == 0 and hi == (2 << top) - 1
        if all_of_them and (a, top) in whole:
            return whole[a, top]
        half = 1 << top
        bit, *after = self._nodes[a]
        zero, one = after if bit == top else (a, a)
        parts = [self._values(zero, top - 1, lo, min(hi, half - 1), whole)] if lo < half else []
        parts += [self._values(one, top - 1, max(lo, half) - half, hi - half, whole)] if hi >= half else []
        found = np.concatenate(parts) if len(parts) > 1 else parts[0]
        if all_of_them:
            whole[a, top] = found
        return found
