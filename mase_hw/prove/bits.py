"""Gates on single bits of words: what is known stays known, and functions of one word are gone through."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mase_hw.prove.carried import UNKNOWN, Bit, Table, Unknown, Value, Word
from mase_hw.prove.words import MAX_TABLE, Words


class BitLogic:
    """NOT, AND, OR, XOR and multiplexers."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def inverted(self, a: Value) -> Value:
        if isinstance(a, int):
            return 1 - a
        if isinstance(a, Bit):
            return self.words.bit(self.words.inverted(a.word), a.index)
        return Table(a.word, ~a.values) if isinstance(a, Table) else UNKNOWN

    def both(self, a: Value, b: Value) -> Value:
        """a AND b"""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, int):
                return other if one else 0
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return UNKNOWN
        if isinstance(a, Bit) and a == b:
            return a
        return self._table(np.logical_and, a, b)

    def either(self, a: Value, b: Value) -> Value:
        return self.inverted(self.both(self.inverted(a), self.inverted(b)))

    def differ(self, a: Value, b: Value) -> Value:
        for one, other in ((a, b), (b, a)):
            if isinstance(one, int):
                return self.inverted(other) if one else other
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return UNKNOWN
        if isinstance(a, Bit) and a == b:
            return 0
        return self._table(np.logical_xor, a, b)

    def chosen(self, select: Value, zero: Value, one: Value) -> Value:
        if isinstance(select, int):
            return one if select else zero
        if isinstance(zero, int) and isinstance(one, int) and zero == one:
            return zero
        if isinstance(zero, Bit) and zero == one:
            return zero
        return self.either(self.both(select, one), self.both(self.inverted(select), zero))

    def _table(self, rule: Callable[..., np.ndarray], a: Value, b: Value) -> Value:
        """A function of two bits of one word, gone through for every value of that word."""
        bases = [x.word for x in (a, b) if isinstance(x, Table)]
        bases += [x.word for x in sorted((x for x in (a, b) if isinstance(x, Bit)), key=lambda x: -x.index)]
        for base in map(self.words.upright, bases):
            if base.hi - base.lo >= MAX_TABLE:
                continue
            columns = [self._column(x, base) for x in (a, b)]
            if columns[0] is not None and columns[1] is not None:
                values = rule(*columns)
                if values.all() or not values.any():
                    return int(values[0])
                return Table(base, values)
        return UNKNOWN

    def _column(self, a: Value, base: Word) -> np.ndarray | None:
        if isinstance(a, Bit):
            return self.words.values(a, base)
        assert isinstance(a, Table)
        same = np.array_equal(a.word.factors, base.factors) and a.word.constant == base.constant
        return a.values if same else None

    def reduced(self, kind: str, bits: Sequence[Value]) -> Value:
        rules = {"$reduce_and": self.both, "$reduce_xor": self.differ, "$reduce_xnor": self.differ}
        rule = rules.get(kind, self.either)
        result: Value = 1 if kind == "$reduce_and" else 0
        for bit in bits:
            result = rule(result, bit)
        return result
