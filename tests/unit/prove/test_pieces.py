"""Whatever numbers side by side are read as, it is what the bits are, for every input."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from test_prove_pipes import HALF, claim, design_of, prove

from mase_hw.ir import Component, Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.make import linear
from mase_hw.prove.words.carried import Bit, Number, Value, Word
from mase_hw.prove.words.pieces import side_by_side
from mase_hw.prove.words.words import Words

LO, HI = np.array([0, -4, 0, -2]), np.array([3, 3, 5, 1])
EVERY = np.array(list(product(*(range(lo, hi + 1) for lo, hi in zip(LO, HI, strict=True)))))


def of(word: Word) -> Integers:
    return np.asarray(EVERY @ word.factors + word.constant)


def on_wires(bits: list[Value]) -> Integers:
    """The number that the bits are, for every input."""
    columns = [(of(bit.word) >> bit.index) & 1 if isinstance(bit, Bit) else np.full(len(EVERY), bit) for bit in bits]
    return np.asarray(sum(column << k for k, column in enumerate(columns)))


def value(number: Number) -> Integers:
    return np.asarray(((of(number.word) >> number.shift) << number.lift) + number.below)


def bits_of(words: Words, word: Word, first: int, count: int) -> list[Value]:
    return [words.bit(word, first + k) for k in range(count)]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_read_is_what_is_there(seed: int) -> None:
    """Pieces of any words, whole or not, some bits inverted: it is read right, or not at all."""
    rng, words = np.random.default_rng(seed), Words(LO, HI)
    bits: list[Value] = [1] * int(rng.integers(3))
    lowest = len(bits)
    for _ in range(int(rng.integers(1, 4))):
        word = words.word(rng.integers(-5, 6, 4) * rng.integers(2, size=4), int(rng.integers(-9, 9)))
        piece = bits_of(words, word, int(rng.integers(3)), int(rng.integers(1, 6)))
        if rng.random() < 0.3:
            piece[-1] = words.bit(words.inverted(word), int(rng.integers(3)))
        elif rng.random() < 0.3:
            piece = [words.bit(word, max(abs(word.lo), abs(word.hi)).bit_length())]  # its sign
        bits += piece
    if isinstance(bits[lowest], int):
        return
    found = side_by_side(words, bits, lowest, (1 << lowest) - 1)
    if found is not None:
        assert ((value(found) - on_wires(bits)) % (1 << len(bits)) == 0).all()


def test_pieces_that_are_whole_are_read() -> None:
    """The lowest cut off below, one with its sign inverted, one that is small only modulo, the highest not whole."""
    words = Words(LO, HI)
    first, second = words.word(np.array([-1, 0, 0, 0]), -1), words.word(np.array([0, -1, 0, 0]), -1)
    third, last = words.word(np.array([0, 0, 1, 8]), 0), words.word(np.array([3, 0, -5, 1]), 7)
    flipped = [*bits_of(words, second, 0, 2), words.bit(words.inverted(second), 2)]
    bits = [1, 1, *bits_of(words, first, 1, 1), *flipped, 0, *bits_of(words, third, 0, 3), *bits_of(words, last, 0, 4)]
    found = side_by_side(words, bits, 2, 3)
    assert found is not None
    assert (found.shift, found.lift, found.below) == (1, 2, 3)
    assert ((value(found) - on_wires(bits)) % (1 << len(bits)) == 0).all()


def test_a_piece_that_is_not_whole_is_not_read() -> None:
    """Two bits of a number of three, below another number: what is above would have to know the third."""
    words = Words(LO, HI)
    cut, other = words.word(np.array([0, 0, 1, 0]), 0), words.word(np.array([1, 0, 0, 0]), 0)
    assert side_by_side(words, [*bits_of(words, cut, 0, 2), *bits_of(words, other, 0, 2)], 0, 0) is None
    assert side_by_side(words, [*bits_of(words, cut, 0, 3), *bits_of(words, other, 0, 2)], 0, 0) is not None


@pytest.mark.parametrize("opposite", [False, True])
def test_a_sign_by_itself_is_read(opposite: bool) -> None:
    """Of a number from -4 to 3, alone or as the highest bits of that number and a constant; another is above it."""
    words = Words(LO, HI)
    number, above = words.word(np.array([0, 1, 0, 0]), 0), words.word(np.array([1, 0, 2, 0]), 0)
    sign = words.bit(words.inverted(number) if opposite else number, 2)
    bits = [sign, *bits_of(words, above, 0, 4)]
    found = side_by_side(words, bits, 0, 0)
    assert found is not None
    assert found.shift == 2
    assert (value(found) == on_wires(bits)).all()


def nested(x: Stream) -> Component:
    """`9 x0 + 16 x1 - 8 x2` as `(x0 + 16 x1) + 8 (x0 - x2)`: of x0 the upper addition reads the sign alone."""
    more = {"out_lanes": 1, "folded": False}
    return linear("fc", x, np.array([[9, 16, -8]]), np.array([0]), Fixed(6, 0), Fixed(6, 0), HALF, **more)  # type: ignore[arg-type]


READ = "6'(n0[7:3])"
NESTED = {
    "": "proved",
    "6'({n0[7:4], ~n0[3]})": "refuted",
    "6'({n0[7:4], n0[2]})": "refuted",
    "6'({n0[7:4], n0[3] & n0[2]})": "refuted",
    "6'({n0[3], n0[7:4]})": "refuted",
}


@pytest.mark.parametrize("wires", NESTED)
def test_a_sign_below_another_number_is_added_exactly(wires: str, tmp_path: Path) -> None:
    change = ("net_fc.sv", READ, wires) if wires else None
    found = claim(prove(design_of(nested, features=3, fixed=Fixed(4, 0)), tmp_path, change), "fc", "values")
    assert (found.status, "exhaustion" in found.method) == (NESTED[wires], False)
