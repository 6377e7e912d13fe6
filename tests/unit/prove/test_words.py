"""What the prover says of words, bits and ranges, against plain numbers."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from mase_hw.prove.cells import function, operands
from mase_hw.prove.netlist import Cell
from mase_hw.prove.ranges import BitRanges
from mase_hw.prove.reading import Reader
from mase_hw.prove.symbolic import Symbolic
from mase_hw.prove.words import Bit, Value, Words

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


KINDS = [
    "$not",
    "$neg",
    "$and",
    "$or",
    "$xor",
    "$xnor",
    "$add",
    "$sub",
    "$mul",
    "$eq",
    "$ne",
    "$lt",
    "$le",
    "$gt",
    "$ge",
]
KINDS += ["$logic_not", "$logic_and", "$logic_or", "$reduce_or", "$reduce_and", "$reduce_xor", "$reduce_xnor"]
KINDS += ["$mux", "$bwmux", "$bmux", "$demux", "$shl", "$shr", "$sshr", "$shiftx"]


@pytest.mark.parametrize("kind", KINDS)
def test_cells_on_numbers_do_what_cells_on_bits_do(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(40):
        cell = random_cell(kind, rng)
        compute = function(cell)
        for _ in range(10):
            numbers = {port: rng.getrandbits(cell.width(port)) for port in operands(cell)}
            bits = {port: [(n >> k) & 1 for k in range(cell.width(port))] for port, n in numbers.items()}
            found = Symbolic(WORDS).evaluate(cell, {port: list(values) for port, values in bits.items()})
            assert found == [(compute(*numbers.values()) >> k) & 1 for k in range(cell.width("Y"))], (cell, numbers)


def random_cell(kind: str, rng: random.Random) -> Cell:
    a, b, y = (rng.randint(1, 6) for _ in range(3))
    s = 0
    if kind in ("$mux", "$bwmux"):
        a = b = y
        s = 1 if kind == "$mux" else y
    elif kind == "$bmux":
        s = rng.randint(1, 3)
        a, b = y << s, 0
    elif kind == "$demux":
        s = rng.randint(1, 3)
        b, y = 0, a << s
    elif kind in ("$not", "$neg", "$logic_not") or kind.startswith("$reduce"):
        b = 0
    if kind.startswith(("$reduce", "$logic")) or kind in ("$eq", "$ne", "$lt", "$le", "$gt", "$ge"):
        y = 1
    widths = {port: n for port, n in (("A", a), ("B", b), ("S", s), ("Y", y)) if n}
    signed = rng.getrandbits(1) if kind not in ("$shl", "$shr", "$shiftx") else 0
    parameters = {"A_SIGNED": signed, "B_SIGNED": 0 if kind.startswith("$s") else signed}
    if kind == "$sub" or kind == "$sshr":
        parameters["B_SIGNED"] = signed if kind == "$sub" else 0
    return Cell("c", kind, parameters, {port: tuple(range(n)) for port, n in widths.items()}, "")
