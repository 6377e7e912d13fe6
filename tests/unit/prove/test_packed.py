"""Two products in one DSP multiplication: the words take them apart again, whatever is known of the inputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl
from test_prove_pipes import F6, HALF, claim

from mase_hw.ir import Design, full_range
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import Proof, prove_design
from mase_hw.prove.words.carried import Number
from mase_hw.prove.words.words import Words


def packed(
    seed: int, ends: tuple[Integers, Integers] | None, inputs: int, array: tuple[int, int], lanes: int
) -> Design:
    """Four outputs, two in each block; `ends`: the bounds of the inputs."""
    rng = np.random.default_rng(seed)
    x = full_range("data_in_0", inputs, lanes, F6)
    drawn = np.sort(rng.integers(-32, 32, (2, inputs)), 0)
    if ends is not None:
        lo, hi = (drawn[0], drawn[1]) if not len(ends[0]) else ends
        x = replace(x, lo=tuple(map(int, lo)), hi=tuple(map(int, hi)))
    alignment = align(F6, F6, F6)
    weight, bias = rng.integers(-4, 4, (4, inputs)), rng.integers(-20, 20, 4) << alignment.constant_shift
    layer = folded_linear("fc", x, weight, bias, alignment, HALF, out_lanes=2, array=array, use_dsp=True)
    assert layer.array.pairs
    return Design("net", (replace(layer, outputs=(layer.output.renamed("data_out_0"),)),))


def whole(inputs: int, lo: int, hi: int) -> tuple[Integers, Integers]:
    return np.full(inputs, lo), np.full(inputs, hi)


DRAWN = (np.zeros(0, np.int64), np.zeros(0, np.int64))
PACKED = {
    "the lower product has one sign": (0, whole(6, -20, -3), 6, (6, 2), 6),
    "the lower product has the other sign": (0, whole(6, 3, 20), 6, (6, 2), 6),
    "lanes that were never written, times zero": (0, None, 5, (4, 2), 1),
    "sums that are known modulo their bits": (7, DRAWN, 5, (4, 2), 1),
}


def prove_packed(design: Design, folder: Path, change: tuple[str, str] | None = None) -> Proof:
    files = write_rtl(design, folder)
    if change is not None:
        text = (folder / "net_fc.sv").read_text()
        assert change[0] in text
        (folder / "net_fc.sv").write_text(text.replace(*change, 1))
    return prove_design(design, elaborate(files, "net", ["fc"]), any_input=False)


@pytest.mark.parametrize("name", PACKED)
def test_packed_products_are_proved(name: str, tmp_path: Path) -> None:
    proof = prove_packed(packed(*PACKED[name]), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []
    assert "exhaustion" not in claim(proof, "fc", "values").method


CARRY, HIGH = "assign carry0[o+1]   = both_q[ProductBits-1];", "= both_q[2*ProductBits-1:ProductBits] ^"
WRONG = {
    "no carry": (CARRY, "assign carry0[o+1]   = 1'b0;"),
    "a carry from below": (CARRY, "assign carry0[o+1]   = both_q[ProductBits-3];"),
    "a product one bit too high": (HIGH, HIGH.replace(" ^", " << 1 ^")),
}


@pytest.mark.parametrize("name", WRONG)
def test_products_that_are_taken_apart_wrongly_are_refuted(name: str, tmp_path: Path) -> None:
    design = packed(0, None, 5, (4, 2), 1)
    assert claim(prove_packed(design, tmp_path, WRONG[name]), "fc", "values").status == "refuted"


@pytest.mark.parametrize("below", [-9, -8, -1, 0, 3])
def test_what_is_shifted_out_is_left_out_only_if_it_always_counts_the_same(below: int) -> None:
    """`(8 x + y + below) >> 3` with y from 0 to 4: as `x` and a constant, where there is one."""
    words = Words(np.array([-5, 0]), np.array([5, 4]))
    word = words.word(np.array([8, 1]), below)
    found = words.settled(Number(word, 3))
    values = {(y + below) >> 3 for y in range(5)}
    if len(values) > 1:
        assert found.shift == 3
    else:
        assert (found.shift, found.word.factors.tolist(), found.word.constant) == (0, [1, 0], values.pop())
