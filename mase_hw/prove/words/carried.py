"""What a wire carries: 0 or 1, a bit of a word, any function of one word, a table of its values, or nothing known."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.words.diagrams import Diagrams


@dataclass(frozen=True, eq=False)
class Word:
    """An affine integer with its exact bounds."""

    factors: Integers
    constant: int
    lo: int
    hi: int
    bits: dict[int, Value] = field(default_factory=dict)  # those that were asked for

    @cached_property
    def zeros(self) -> int:
        """Of how high a power of two all factors are multiples."""
        together = int(np.bitwise_or.reduce(self.factors))
        return (together & -together).bit_length() - 1 if together else 0

    @cached_property
    def largest(self) -> int:
        return int(np.abs(self.factors).max())

    def __str__(self) -> str:
        terms = [f"{n:+d}*v{i}" for i, n in enumerate(self.factors.tolist()) if n]
        return f"{' '.join(terms[:4])}{' ...' if len(terms) > 4 else ''} {self.constant:+d}"


class Bit:
    """Bit `index` of `word`. Equal keys are equal bits; `word` is one of the words that it is a bit of."""

    __slots__ = ("index", "key", "word")

    def __init__(self, word: Word, index: int, key: tuple[int, bytes]) -> None:
        self.word, self.index, self.key = word, index, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bit) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True, eq=False)
class Function:
    """A bit that is any function of one word, for its values from `lo` to `hi`."""

    word: Word
    node: int  # of these:
    diagrams: Diagrams

    @cached_property
    def key(self) -> tuple[bytes, int]:
        """The same for the same word, however often it is computed."""
        return self.word.factors.tobytes(), self.word.constant

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Function) or self.key != other.key:
            return False
        return self.diagrams.first(self.diagrams.differ(self.node, other.node), self.word.lo, self.word.hi) is None

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Truth:
    """A bit as its values for all vectors: that of vector `n` is bit `n` (truths.py)."""

    table: int

    @cached_property
    def _hash(self) -> int:
        return hash(self.table)

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, eq=False)
class Number:
    """`((word >> shift) << lift) + below`, with `below < 2**lift`."""

    word: Word
    shift: int = 0
    lift: int = 0
    below: int = 0


class Unknown:
    """A bit of which nothing is known: what a register held before, or an input that is not valid."""


UNKNOWN = Unknown()
Value = int | Bit | Function | Truth | Unknown  # what a wire carries; int: 0 or 1
