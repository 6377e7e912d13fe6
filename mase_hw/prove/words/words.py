"""Exact words: integers that are affine in a component's inputs, and the single bits of them.

A word is `constant + sum of factors times variables`, where every variable lies in a known range; so its least and its
greatest value are exact. Bit `i` of a word is a fact about that integer (two's complement, extended without end),
whatever wire it is found on. An adder of `w` bits computes the low `w` bits of the exact sum, so its outputs are bits
of that sum: no rule here ever assumes that nothing overflows. What a word looks like beyond the wires follows from its
range.
"""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.carried import Bit, Number, Value, Word
from mase_hw.prove.words.diagrams import SIGN, Diagrams
from mase_hw.prove.words.ranges import BitRanges

MAX_WORD = 1 << 62  # what no term of a word reaches, nor all of them together: they are computed with 64 bits
MAX_JOINT = 1 << 53  # the same, where the bounds are computed with floating point


class Words:
    """Makes words and bits over a fixed set of variables."""

    def __init__(self, lo: Integers, hi: Integers, bits: BitRanges | None = None) -> None:
        self.lo, self.hi = lo.astype(np.int64), hi.astype(np.int64)
        self.joint = bits  # every variable is one bit, of numbers that lie in these ranges
        self.known = self.lo == self.hi if bits is None else bits.known  # variables with one value are constants
        self.only = self.lo if bits is None else bits.only
        self._known_at = np.flatnonzero(self.known)
        self._known_as = self.only[self._known_at]
        self._reach = np.maximum(np.abs(self.lo), np.abs(self.hi)).astype(np.float64)
        self.diagrams = Diagrams()
        self._most = MAX_WORD if bits is None else MAX_JOINT

    def variable(self, i: int) -> Word:
        factors = np.zeros(len(self.lo), np.int64)
        factors[i] = 1
        return self.word(factors, 0)

    def word(self, factors: Integers, constant: int) -> Word:
        far = np.abs(factors).sum(dtype=np.float64) if self.joint is not None else np.abs(factors) @ self._reach
        if far >= self._most:
            raise NotProvedError("a sum has more bits than are computed with")
        if len(self._known_at) and (held := factors[self._known_at]).any():  # or one number would have two forms
            constant += int(held @ self._known_as)
            factors = factors.copy()
            factors[self._known_at] = 0
        if self.joint is not None:
            lo, hi = self.joint.bounds(factors)
            return Word(factors, constant, lo + constant, hi + constant)
        up, down = np.maximum(factors, 0), np.minimum(factors, 0)
        lo, hi = int(up @ self.lo + down @ self.hi), int(up @ self.hi + down @ self.lo)
        return Word(factors, constant, lo + constant, hi + constant)

    def reaching(self, word: Word) -> tuple[Integers, Integers]:
        """Two inputs of the component: one that gives the least value of the word, and one that gives the greatest."""
        if self.joint is not None:
            return self.joint.reaching(word.factors)
        falls = word.factors < 0
        return np.where(falls, self.hi, self.lo), np.where(falls, self.lo, self.hi)

    def plus(self, a: Word, b: Word, shift_b: int = 0) -> Word:
        """`a + (b << shift_b)`"""
        if shift_b:
            b = self.times(b, 1 << shift_b)
        return self.word(a.factors + b.factors, a.constant + b.constant)

    def minus(self, a: Word) -> Word:
        return Word(-a.factors, -a.constant, -a.hi, -a.lo)

    def inverted(self, a: Word) -> Word:
        """`-1 - a`: all its bits are those of `a`, inverted."""
        return Word(-a.factors, -1 - a.constant, -1 - a.hi, -1 - a.lo)

    def upright(self, a: Word) -> Word:
        """The word or the inverted one: that whose first factor is positive."""
        return self.inverted(a) if a.factors[np.flatnonzero(a.factors)[0]] < 0 else a

    def moved(self, a: Word, by: int) -> Word:
        return Word(a.factors, a.constant + by, a.lo + by, a.hi + by)

    def times(self, a: Word, factor: int) -> Word:
        if a.largest * abs(factor) >= MAX_WORD:
            raise NotProvedError("a product has more bits than are computed with")
        ends = sorted((a.lo * factor, a.hi * factor))
        return Word(a.factors * factor, a.constant * factor, ends[0], ends[1])

    def shifted_down(self, a: Word, by: int) -> Word:
        """`a >> by`, where all factors are multiples of `2**by`."""
        return Word(a.factors >> by, a.constant >> by, a.lo >> by, a.hi >> by)

    def settled(self, a: Number) -> Number:
        """Without the shift, where what is shifted out never reaches what stays, or always in the same way.

        That is `2**s * h + l`, where `l >> s` has one value.
        """
        if not a.shift:
            return a
        half = 1 << (a.shift - 1)
        for up in (0, 1):  # one half as a remainder counts as minus one half, or as plus one half
            low = ((a.word.factors + half - up) & (2 * half - 1)) - half + up
            rest = self.word(low, a.word.constant & (2 * half - 1))
            if rest.lo >> a.shift == rest.hi >> a.shift:
                always = (a.word.constant >> a.shift) + (rest.lo >> a.shift)
                high = self.word((a.word.factors - low) >> a.shift, always)
                return Number(self.moved(self.times(high, 1 << a.lift), a.below))
            if not (low == -half).any():
                break  # no remainder is one half
        return a

    def bit(self, word: Word, index: int) -> Value:
        """Bit `index` of a word: a constant where all its values agree, else a bit with its canonical key.

        Bit `i` depends on the word modulo 2**(i+1) alone; inverting a word inverts its bits; beyond the sign all bits
        are the same. So equal bits of different words get the same key.
        """
        found = word.bits.get(index)
        if found is None:
            found = word.bits[index] = self._bit(word, index)
        return found

    def _bit(self, word: Word, index: int) -> Value:
        if word.lo >> index == word.hi >> index:
            return (word.lo >> index) & 1
        if 1 << index >= MAX_WORD:
            raise NotProvedError(f"bit {index} of a sum is more than is computed with")
        drop = word.zeros  # the word's low bits are those of its constant
        if index < drop:
            return (word.constant >> index) & 1
        if drop:
            word, index = self.shifted_down(word, drop), index - drop
        if self.joint is not None and index:
            whole = self.settled(Number(word, index))
            if not whole.shift:  # what is below never reaches this bit
                above = self.bit(whole.word, 0)
                return Bit(word, index, above.key) if isinstance(above, Bit) else above
        above = word.lo >> (index + 1)
        near = self._near(self.residue(word, index + 1), index + 1)
        if near.lo >> index == near.hi >> index:
            return (near.lo >> index) & 1
        if index >= _sign(near):
            key = self._key(near, _sign(near))  # whether it is negative
        elif above == word.hi >> (index + 1):  # whether it reaches a bound, which is whether this is negative:
            less = self.inverted(self.moved(word, -(above << (index + 1)) - (1 << index)))
            key = self._key(less, _sign(less))
        else:
            key = self._key(word, index)
        return key if isinstance(key, int) else Bit(word, index, key)

    def _near(self, word: Word, bits: int) -> Word:
        """The word that is the same modulo 2**bits and nearest to 0."""
        turns = (((word.lo + word.hi) >> 1) + (1 << (bits - 1))) >> bits
        return self.moved(word, -(turns << bits)) if turns else word

    def _key(self, word: Word, index: int) -> tuple[int, bytes] | int:
        """The name of a bit, or the bit where it is known after all."""
        mask = (1 << (index + 1)) - 1
        factors, constant = word.factors & mask, word.constant & mask
        together = int(np.bitwise_or.reduce(factors))
        if not together:
            return (constant >> index) & 1
        drop = (together & -together).bit_length() - 1  # all factors are multiples of 2**drop
        factors, constant, place, mask = factors >> drop, constant >> drop, index - drop, mask >> drop
        first = factors.tobytes() + constant.to_bytes(8, "little")
        opposite = ((1 << place) - 1 - constant) & mask
        second = (-factors & mask).tobytes() + opposite.to_bytes(8, "little")
        return place, min(first, second)

    def function(self, bit: Bit, base: Word) -> int | None:
        """The bit as a function of `base`, if it is a bit of it, or one of its bits inverted."""
        other, sign = self.inverted(base), _sign(base)
        if sign > SIGN:
            return None  # more than diagrams look at
        for index in (bit.index, *range(sign + 1)):
            for word in (base, other):
                if self.bit(word, index) == bit:
                    node = self.diagrams.bit(index if index < sign else SIGN)
                    return node if word is base else self.diagrams.inverted(node)
        return None

    def residue(self, word: Word, bits: int) -> Word:
        """The word with the smallest factors that is the same modulo 2**bits."""
        half = 1 << (bits - 1)
        if word.largest < half:
            return word
        factors = ((word.factors + half) & (2 * half - 1)) - half
        return self.word(factors, ((word.constant + half) & (2 * half - 1)) - half)


def _sign(word: Word) -> int:
    """The lowest bit from which on all bits of the word are its sign."""
    return max(word.lo, ~word.lo, word.hi, ~word.hi).bit_length()
