"""What the bits on some wires are as a number: found by looking for words whose bits they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from mase_hw.prove.words.bits import BitLogic
from mase_hw.prove.words.carried import Bit, Number, Value, Word
from mase_hw.prove.words.pieces import side_by_side
from mase_hw.prove.words.words import Words

MAX_BITS, MAX_JOINT_BITS = 60, 52  # numbers of more bits are not looked for: their bounds would not be exact


class Reader:
    """Reads bits back. Whatever it finds was compared bit by bit, so a wrong guess costs time and nothing else."""

    def __init__(self, words: Words) -> None:
        self.words = words

    def read(self, bits: Sequence[Value]) -> Number | None:
        """What the bits are modulo 2**len(bits); None where they are not bits of one word, in order."""
        if len(bits) > (MAX_BITS if self.words.joint is None else MAX_JOINT_BITS):
            return None
        lowest = next((k for k, bit in enumerate(bits) if not isinstance(bit, int)), len(bits))
        low = sum(bit << k for k, bit in enumerate(bits[:lowest]) if isinstance(bit, int))
        words = self.words
        if lowest == len(bits):
            return Number(words.word(np.zeros_like(words.lo), low))
        end = max(k for k, bit in enumerate(bits) if not isinstance(bit, int)) + 1
        high = sum(bit << k for k, bit in enumerate(bits) if k >= end and isinstance(bit, int))
        for first in dict.fromkeys((0, lowest)):  # known bits below may be those of the word, or not
            for word, start in self._candidates(bits[first:end]):
                if all(words.bit(word, start + k) == bit for k, bit in enumerate(bits[first:end])):
                    found = word if end == len(bits) else _cut(words, word, start + end - first)
                    if found is None:
                        continue
                    found = words.moved(found, high >> first << start)
                    below = low if first else 0
                    if start:
                        return Number(found, start, first, below)
                    return Number(words.moved(words.times(found, 1 << first), below))
        found_low = self._fitted(bits, lowest, low) or self._pieces(bits)
        return found_low or side_by_side(words, bits, lowest, low)

    def read_extended(self, bits: Sequence[Value]) -> Number | None:
        """The same, where copies of a sign at the top may be taken for what they extend."""
        found = self.read(bits)
        if found is not None:
            return found
        top, end = bits[-1], len(bits)
        if not isinstance(top, Bit):
            return None
        while end > 1 and bits[end - 2] == top:
            end -= 1
        for word, start in self._candidates(bits[:end]):
            if all(self.words.bit(word, start + k) == bit for k, bit in enumerate(bits)):
                return Number(word, start)
        return None

    def _candidates(self, bits: Sequence[Value]) -> Iterator[tuple[Word, int]]:
        """Words that these bits may be of, and where they start; the last ones have their highest bit inverted."""
        words = self.words
        first, last, top = bits[0], bits[-1], len(bits) - 1
        ends = [(bit.word, bit.index - k) for bit, k in ((last, top), (first, 0)) if isinstance(bit, Bit)]
        ends = [(word, start) for word, start in ends if start >= 0]
        for word, start in ends:
            yield word, start
            yield words.residue(word, start + top + 1), start
        for word, start in ends[-1:]:
            yield words.moved(word, 1 << (start + top)), start
            yield words.moved(words.residue(word, start + top + 1), 1 << (start + top)), start
            yield words.moved(words.inverted(word), 1 << (start + top)), start

    def _fitted(self, bits: Sequence[Value], lowest: int, low: int) -> Number | None:
        """A word and a constant, which is found from the lowest bit up: where a bit differs, the constant has it."""
        words, first = self.words, bits[lowest]
        if not isinstance(first, Bit) or first.index:
            return None
        word = first.word
        for k, bit in enumerate(bits[lowest:]):
            if words.bit(word, k) != bit:
                word = words.moved(word, 1 << k)
                if words.bit(word, k) != bit:
                    return None
        return Number(words.moved(words.times(word, 1 << lowest), low))

    def _pieces(self, bits: Sequence[Value]) -> Number | None:
        """Numbers side by side: each one whole within its own bits, but for the highest, which is known modulo."""
        words = self.words
        total, place = words.word(np.zeros_like(words.lo), 0), 0
        while place < len(bits):
            bit = bits[place]
            if isinstance(bit, int):
                total, place = words.moved(total, bit << place), place + 1
                continue
            if not isinstance(bit, Bit):
                return None
            found = self._piece(bits[place:], bit)
            if found is None:
                return None
            total, place = words.plus(total, found[0], place), place + found[1]
        return Number(total)

    def _piece(self, bits: Sequence[Value], first: Bit) -> tuple[Word, int] | None:
        """The number that begins with the first of these bits, and how many are its own."""
        words = self.words
        start = words.settled(Number(first.word, first.index))
        if not start.shift:
            for fit in (False, True):  # with a constant that is found from the lowest bit up, where it takes one
                word, length = start.word, 0
                while length < len(bits):
                    if words.bit(word, length) != bits[length]:
                        moved = words.moved(word, 1 << length)
                        if not fit or words.bit(moved, length) != bits[length]:
                            break
                        word = moved
                    length += 1
                if length == len(bits):
                    return word, length
                if length and (whole := _cut(words, word, length)) is not None:
                    return whole, length
        one = self.lone(first)
        return None if one is None else (one, 1)

    def looked_up(self, table: Sequence[Value], select: Sequence[Value], width: int) -> list[Value] | None:
        """A table of numbers that is a sum of its select bits times constants: gone through for all of these."""
        free = [(i, bit) for i, bit in enumerate(select) if not isinstance(bit, int)]
        ones = [self.lone(bit) for _, bit in free]
        if self.words.joint is None or not free or any(one is None for one in ones):
            return None
        fixed = sum(bit << i for i, bit in enumerate(select) if isinstance(bit, int))
        place = {bit: (n, 0) for n, (_, bit) in enumerate(free)} | {
            BitLogic(self.words).inverted(bit): (n, 1) for n, (_, bit) in enumerate(free)
        }
        if any(not isinstance(bit, int) and bit not in place for bit in table):
            return None
        cells = [bit if isinstance(bit, int) else place[bit] for bit in table]
        values = []
        for chosen in range(1 << len(free)):
            row = fixed + sum(((chosen >> n) & 1) << i for n, (i, _) in enumerate(free))
            bits = cells[row * width : (row + 1) * width]
            known = [bit if isinstance(bit, int) else ((chosen >> bit[0]) & 1) ^ bit[1] for bit in bits]
            values.append(sum(bit << k for k, bit in enumerate(known)))
        total = self.words.word(np.zeros_like(self.words.lo), values[0])
        steps = [values[1 << n] - values[0] for n in range(len(free))]
        for one, step in zip(ones, steps, strict=True):
            assert one is not None
            total = self.words.plus(total, self.words.times(one, step))
        for chosen, value in enumerate(values):
            if value != values[0] + sum(step for n, step in enumerate(steps) if (chosen >> n) & 1):
                return None
        return [self.words.bit(total, k) for k in range(width)]

    def lone(self, bit: Value) -> Word | None:
        """The word that is 0 or 1 as the bit is, where that is affine."""
        return self._lone.get(bit.key) if isinstance(bit, Bit) else None

    @cached_property
    def _lone(self) -> dict[tuple[int, bytes], Word]:
        """Every variable that is a bit, and its opposite, by the name of their bit."""
        words = self.words
        found = [words.variable(i) for i in range(len(words.lo)) if words.lo[i] == 0 and words.hi[i] == 1]
        found += [words.moved(words.minus(word), 1) for word in found]
        return {bit.key: word for word in found if isinstance(bit := words.bit(word, 0), Bit)}


def _cut(words: Words, word: Word, bits: int) -> Word | None:
    """`word` modulo 2**bits, where that is affine: where the part above is the same for all values."""
    above = word.lo >> bits
    return words.moved(word, -(above << bits)) if above == word.hi >> bits else None


def number(bits: Sequence[Value]) -> int | None:
    """The bits as an unsigned number, where all of them are known."""
    if not all(isinstance(bit, int) for bit in bits):
        return None
    return sum(bit << k for k, bit in enumerate(bits) if isinstance(bit, int))
