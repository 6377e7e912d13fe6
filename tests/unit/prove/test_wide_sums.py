"""Sums of more values than are gone through: which of them are met, and words of more bits than floats hold."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from test_prove_pipes import claim, design_of, prove

from mase_hw.ir import Component, Design, Stream
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.linear.make import linear
from mase_hw.prove.words.diagrams import Diagrams
from mase_hw.prove.words.rounding import met
from mase_hw.prove.words.words import Words


@pytest.mark.parametrize("seed", range(20))
def test_every_sum_that_is_met_is_among_those_that_are_looked_at(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lo = rng.integers(-4, 3, 3)
    hi = lo + rng.integers(0, 4, 3)
    words, make = Words(lo, hi), Diagrams()
    word = words.word(np.array([1, 8, 64]) * rng.integers(-2, 3, 3), int(rng.integers(-9, 9)))
    column = make.values(met(make, word, words), word.lo, word.hi)
    sums = {int(word.factors @ x) + word.constant for x in product(*map(range, lo, hi + 1))}
    assert all(column[n - word.lo] for n in sums)


def test_sums_that_no_input_gives_are_left_out() -> None:
    """`x + 64 y` with x from -2 to 1: the low six bits are those of one of four numbers."""
    words, make = Words(np.array([-2, -3]), np.array([1, 3])), Diagrams()
    word = words.word(np.array([1, 64]), 5)
    column = make.values(met(make, word, words), word.lo, word.hi)
    assert column.tolist() == [(n - 3) % 64 < 4 for n in range(word.lo, word.hi + 1)]


def far(factor: int, to: Fixed, width: int = 14) -> Design:
    def make(x: Stream) -> Component:
        more = {"out_lanes": 1, "folded": False}
        types = (Fixed(50, 0), Fixed(50, 0))
        weight, result = np.array([[1, factor]]), Result(to, Rounding.FLOOR)
        return linear("fc", x, weight, np.array([0]), *types, result, **more)  # type: ignore[arg-type]

    return design_of(make, features=2, fixed=Fixed(width, 0))


@pytest.mark.parametrize("name", ["a gap", "54 bits"])
def test_it_is_proved(name: str, tmp_path: Path) -> None:
    design = far(1 << 33, Fixed(6, -30)) if name == "a gap" else far((1 << 40) + 1, Fixed(8, -44))
    found = claim(prove(design, tmp_path / "right"), "fc", "values")
    assert found.status == "proved", found
    change = ("mase_requantize.sv", "ClampHi && !negative && |value", "ClampHi && negative && |value")
    assert claim(prove(design, tmp_path / "wrong", change), "fc", "values").status != "proved"
