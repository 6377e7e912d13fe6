"""Numbers that are wired side by side, read as one: the lowest may be cut off below, the highest is known modulo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mase_hw.prove.words.carried import Bit, Number, Value, Word
from mase_hw.prove.words.words import Words


def side_by_side(words: Words, bits: Sequence[Value], lowest: int, low: int) -> Number | None:
    """`bits` as one number, of which the first `lowest` are known to be `low`.

    A piece is `word >> shift` and whole within its own bits: then what stands above it is added without a carry. The
    shift of the lowest one is that of the sum: `(a >> s) + (b << n)` is `(a + (b << (n + s))) >> s`.
    """
    found = _piece(words, bits[lowest:], any_shift=True)
    if found is None:
        return None
    total, shift, place = found
    while lowest + place < len(bits):
        bit = bits[lowest + place]
        if isinstance(bit, int):
            total, place = words.moved(total, bit << (place + shift)), place + 1
            continue
        found = _piece(words, bits[lowest + place :], any_shift=False)
        if found is None:
            return None
        total, place = words.plus(total, found[0], place + shift), place + found[2]
    if shift:
        return Number(total, shift, lowest, low)
    return Number(words.moved(words.times(total, 1 << lowest), low))


def _piece(words: Words, bits: Sequence[Value], *, any_shift: bool) -> tuple[Word, int, int] | None:
    """The word, the shift and the length of the longest piece that begins with the first of these bits."""
    best: tuple[Word, int, int] | None = None
    for word, shift in _candidates(words, bits):
        if shift and not any_shift:
            settled = words.settled(Number(word, shift))
            if settled.shift:
                continue
            word, shift = settled.word, 0
        for fit in (False, True):
            fitted, length = _matched(words, word, shift, bits, fit=fit)
            if length == len(bits):
                return fitted, shift, length
            while length > (best[2] if best else 0):
                if (whole := _whole(words, fitted, shift + length)) is not None:
                    best = whole, shift, length
                length -= 1
    return best


def _candidates(words: Words, bits: Sequence[Value]) -> Iterator[tuple[Word, int]]:
    """Words that the first bit may be of, and which of their bits it is: those of the bits that follow, too.

    The opposite words come last. A sign says whether a word is negative, and so it is the highest bit of the opposite
    and a constant, which is never negative: of that number the sign is a whole piece.
    """
    seen = {}
    for k, bit in enumerate(bits):
        if isinstance(bit, Bit) and bit.index >= k and (id(bit.word), bit.index - k) not in seen:
            seen[id(bit.word), bit.index - k] = bit.word
            yield bit.word, bit.index - k
    for (_, shift), word in seen.items():
        yield words.inverted(word), shift


def _matched(words: Words, word: Word, shift: int, bits: Sequence[Value], *, fit: bool) -> tuple[Word, int]:
    """How many bits are the word's; `fit`: of the word and a constant, which has a one where a bit would differ."""
    for k, bit in enumerate(bits):
        if words.bit(word, shift + k) != bit:
            moved = words.moved(word, 1 << (shift + k))
            if not fit or words.bit(moved, shift + k) != bit:
                return word, k
            word = moved
    return word, len(bits)


def _whole(words: Words, word: Word, bits: int) -> Word | None:
    """`word` modulo 2**bits, where that is affine: where the part above is the same for all values."""
    for same in (word, words.residue(word, bits)):
        above = same.lo >> bits
        if above == same.hi >> bits:
            return words.moved(same, -(above << bits))
    return None
