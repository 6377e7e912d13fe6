"""What the prover says of words, bits and ranges, against plain numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.carried import Bit, Value
from mase_hw.prove.words.ranges import BitRanges
from mase_hw.prove.words.reading import Reader
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

WORDS = Words(np.array([0, -4, 0]), np.array([5, 3, 200]))


@pytest.mark.parametrize("bounds", [(0, 5), (-4, 3), (3, 3), (-3, 6), (5, 12), (-8, -3), (1, 14)])
def test_bounds_over_bits_are_those_of_the_numbers_that_are_met(bounds: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    lo, hi = bounds
    used = max(lo, ~lo, hi, ~hi).bit_length() + (lo < 0)
    ranges = BitRanges([bounds, (0, 15)], [used, 4], 4)
    for factors in rng.integers(-20, 20, (50, 8)):
        factors[used:4] = 0
        sums = [sum(int(factors[k]) * ((n >> k) & 1) for k in range(4)) for n in range(lo, hi + 1)]
        free = [sum(int(factors[4 + k]) * ((n >> k) & 1) for k in range(4)) for n in range(16)]
        assert ranges.bounds(factors) == (min(sums) + min(free), max(sums) + max(free))


def meaning(bit: Value, x: tuple[int, ...]) -> int:
    if isinstance(bit, int):
        return bit
    assert isinstance(bit, Bit)
    return ((int(bit.word.factors @ np.array(x)) + bit.word.constant) >> bit.index) & 1


READ = {
    "a word and a constant": ([3, 0, 0], 5, 6),
    "negative": ([-1, 2, 0], -7, 7),
    "with its sign": ([1, 1, 1], -100, 12),
}


@pytest.mark.parametrize("name", READ)
def test_bits_are_read_back(name: str) -> None:
    factors, constant, width = READ[name]
    word = WORDS.word(np.array(factors), constant)
    check([WORDS.bit(word, k) for k in range(width)])


def check(bits: list[Value]) -> None:
    found = Reader(WORDS).read(bits)
    assert found is not None
    for x in product(range(6), range(-4, 4), (0, 1, 77, 128, 199, 200)):
        value = int(found.word.factors @ np.array(x)) + found.word.constant
        value = ((value >> found.shift) << found.lift) + found.below
        assert value % (1 << len(bits)) == sum(meaning(bit, x) << k for k, bit in enumerate(bits)), x


def test_numbers_side_by_side_are_read_as_one() -> None:
    low, high = WORDS.word(np.array([2, 0, 0]), 1), WORDS.word(np.array([0, 1, 0]), 4)  # 1..11 and 0..7
    bits = [*(WORDS.bit(low, k) for k in range(4)), 0, *(WORDS.bit(high, k) for k in range(3)), 1]
    check(bits)
    inverted = WORDS.inverted(low)
    check([*(WORDS.bit(inverted, k) for k in range(4)), *(WORDS.bit(high, k) for k in range(3))])


def test_a_number_that_is_cut_off_above_is_not_read_as_one_with_its_neighbour() -> None:
    low, high = WORDS.word(np.array([2, 0, 0]), 1), WORDS.word(np.array([0, 1, 0]), 4)
    assert Reader(WORDS).read([*(WORDS.bit(low, k) for k in range(3)), *(WORDS.bit(high, k) for k in range(3))]) is None


def test_an_inverted_bit_in_the_middle_is_a_constant() -> None:
    word = WORDS.word(np.array([0, 0, 1]), 0)
    bits = [WORDS.bit(word, k) for k in range(8)]
    symbolic = Symbolic(WORDS)
    check([1, *bits[:7], symbolic.inverted(bits[7]), bits[7], 0, 0])
    check([0, *map(symbolic.inverted, bits[:7]), bits[7], symbolic.inverted(bits[7]), 1, 1])


def test_a_sum_of_too_many_bits_is_refused_and_never_taken_modulo() -> None:
    """Both ends of the first are 0 modulo 2**64, though it takes other values."""
    words, large = Words(np.array([0, 0]), np.array([2, 2])), 1 << 62
    with pytest.raises(NotProvedError, match="more bits"):
        words.word(np.array([large - 1024, large + 1024]), 0)
    factor = words.variable(0)
    for grow in (lambda: words.times(factor, large), lambda: words.plus(factor, factor, 62)):
        with pytest.raises(NotProvedError, match="more bits"):
            grow()
    joint = Words(np.zeros(3, np.int64), np.ones(3, np.int64), BitRanges([(0, 5)], [3], 3))
    with pytest.raises(NotProvedError, match="more bits"):
        joint.word(np.array([1 << 53, 1, 0]), 0)
