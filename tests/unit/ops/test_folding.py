"""Folding: which stream lanes suit an array, and the digits in which a folded layer stores its weights."""

from __future__ import annotations

import numpy as np
import pytest

from mase_hw.ops.linear.digits import digits_of, levels
from mase_hw.ops.linear.fold import Fold, fits, stream_lanes


@pytest.mark.parametrize(
    ("features", "array", "lanes"),
    [
        ((16, 64), (4, 8), (4, 8)),  # the array divides the layer: its own
        ((16, 5), (16, 4), (16, 5)),  # one cycle a block: all five at once
        ((16, 5), (4, 4), (4, 1)),  # four cycles a block: one after another
        ((16, 64), (3, 8), (1, 8)),  # 48 steps for 16 inputs
        ((16, 5), (3, 5), (8, 5)),  # 6 steps for 16 inputs: 3 words in each of two beats
        ((7, 7), (4, 4), (7, 7)),  # 4 steps for 7 inputs
    ],
)
def test_lanes_are_the_fewest_that_keep_the_interval(
    features: tuple[int, int], array: tuple[int, int], lanes: tuple[int, int]
) -> None:
    assert stream_lanes(*features, array) == lanes


def test_every_array_has_lanes_that_keep_its_interval() -> None:
    for inputs in range(1, 13):
        for outputs in (1, 2, 5, 12):
            for array in [(p, q) for p in range(1, inputs + 1) for q in range(1, outputs + 1)]:
                fold = Fold(inputs, outputs, *array, *stream_lanes(inputs, outputs, array))
                assert fold.interval == -(-inputs // array[0]) * -(-outputs // array[1]), fold


def test_a_beat_is_a_part_of_a_word_or_whole_words() -> None:
    assert [lanes for lanes in range(1, 17) if fits(16, 8, lanes)] == [1, 2, 4, 8, 16]
    assert [lanes for lanes in range(1, 17) if fits(16, 3, lanes)] == [1, 8, 16]  # beats of 2 or 4 take 8 words, not 6
    assert [lanes for lanes in range(1, 11) if fits(10, 7, lanes)] == [1, 10]  # 5 are neither a part nor whole words


@pytest.mark.parametrize("lo", [-128, -86, -32, -22, -3, -1, 0])
@pytest.mark.parametrize("hi", [0, 1, 2, 21, 31, 86, 127, 255])
def test_digits_add_up_to_the_weight(lo: int, hi: int) -> None:
    found = levels(lo, hi)
    weights = np.arange(lo, hi + 1)
    digits = digits_of(weights, found)
    total = sum(digit << level.shift for digit, level in zip(digits, found, strict=True))
    assert np.array_equal(total, weights)
    for digit, level in zip(digits, found, strict=True):
        assert level.lo <= digit.min()
        assert digit.max() <= level.hi
        assert level.hi - level.lo < 4
        assert -2 <= level.lo <= level.hi <= 2


def test_levels_are_few() -> None:
    """4**n neighbouring weights take n digits where they lie suitably around 0, else one of a single bit more."""
    assert [(level.lo, level.hi) for level in levels(-37, 26)] == [(-1, 2), (-1, 2), (-2, 1)]
    assert [(level.lo, level.hi) for level in levels(-32, 31)] == [(-1, 2), (-1, 2), (-1, 2), (-1, 0)]
    assert [level.bits for level in levels(-128, 127)] == [2, 2, 2, 2, 1]
    assert len(levels(0, 0)) == 1
