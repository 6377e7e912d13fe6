"""Gates on single bits of words: what is known stays known, and functions of one word are gone through."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mase_hw.prove.words.carried import UNKNOWN, Bit, Function, Unknown, Value, Word
from mase_hw.prove.words.words import Words


class BitLogic:
    """NOT, AND, OR, XOR and multiplexers."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def inverted(self, a: Value) -> Value:
        if isinstance(a, int):
            return 1 - a
        if isinstance(a, Bit):
            return self.words.bit(self.words.inverted(a.word), a.index)
        if isinstance(a, Function):
            return Function(a.word, self.words.diagrams.inverted(a.node), self.words.diagrams)
        return UNKNOWN

    def both(self, a: Value, b: Value) -> Value:
        """a AND b"""
        for one, other in ((a, b), (b, a)):
            if isinstance(one, int):
                return other if one else 0
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return UNKNOWN
        if isinstance(a, Bit) and a == b:
            return a
        return self._function(self.words.diagrams.both, a, b)

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
        return self._function(self.words.diagrams.differ, a, b)

    def chosen(self, select: Value, zero: Value, one: Value) -> Value:
        if isinstance(select, int):
            return one if select else zero
        if isinstance(zero, int) and isinstance(one, int) and zero == one:
            return zero
        if isinstance(zero, Bit) and zero == one:
            return zero
        return self.either(self.both(select, one), self.both(self.inverted(select), zero))

    def _function(self, rule: Callable[[int, int], int], a: Value, b: Value) -> Value:
        """A function of two bits of one word; a constant where it is the same for every value of that word."""
        bases = [x.word for x in (a, b) if isinstance(x, Function)]
        bases += [x.word for x in sorted((x for x in (a, b) if isinstance(x, Bit)), key=lambda x: -x.index)]
        for base in map(self.words.upright, bases):
            nodes = [self._node(x, base) for x in (a, b)]
            if nodes[0] is not None and nodes[1] is not None:
                found, make = rule(nodes[0], nodes[1]), self.words.diagrams
                if make.first(found, base.lo, base.hi) is None:
                    return 0
                if make.first(make.inverted(found), base.lo, base.hi) is None:
                    return 1
                return Function(base, found, make)
        return UNKNOWN

    def _node(self, a: Value, base: Word) -> int | None:
        if isinstance(a, Bit):
            return self.words.function(a, base)
        assert isinstance(a, Function)
        same = np.array_equal(a.word.factors, base.factors) and a.word.constant == base.constant
        return a.node if same else None

    def reduced(self, kind: str, bits: Sequence[Value]) -> Value:
        rules = {"$reduce_and": self.both, "$reduce_xor": self.differ, "$reduce_xnor": self.differ}
        rule = rules.get(kind, self.either)
        result: Value = 1 if kind == "$reduce_and" else 0
        for bit in bits:
            result = rule(result, bit)
        return result
