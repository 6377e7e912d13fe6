"""What is called false has an input that shows it; sums that no input gives do not count; known bits are constants."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl
from test_prove_control import SERIAL, SERIAL_DESIGN
from test_prove_pipes import DESIGNS as PIPES
from test_prove_pipes import DOWN, F6, HALF, claim, design_of, prove
from test_prove_streams import DESIGNS as STREAMS
from test_prove_streams import digits, folded

from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.make import linear
from mase_hw.prove.claims.witness import find_witness
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.words.sums import Sums


@pytest.mark.parametrize("seed", range(6))
def test_sums_are_those_that_some_input_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors, lo = rng.integers(-9, 10, 4), rng.integers(-3, 3, 4)
    hi = lo + rng.integers(0, 4, 4)
    found = Sums(factors, 5, lo, hi)
    every = np.array(list(product(*(range(a, b + 1) for a, b in zip(lo, hi, strict=True))))) @ factors + 5
    for total in range(int(every.min()) - 20, int(every.max()) + 20):
        vector = found.any_of(np.array([total]))
        assert (vector is not None) == (total in every)
        if vector is not None:
            assert vector @ factors + 5 == total
            assert (vector >= lo).all()
            assert (vector <= hi).all()


RIGHT = {
    **{name: PIPES[name] for name in ("linear, half to even", "batch norm, beats")},
    **{name: STREAMS[name] for name in ("skid buffer", "gather", "scatter", "folded, DSP", "serial, 2 groups")},
}


@pytest.mark.parametrize("name", RIGHT)
def test_no_witness_against_what_is_right(name: str, tmp_path: Path) -> None:
    design = RIGHT[name]()
    component = design.components[0]
    netlists = elaborate(write_rtl(design, tmp_path), design.name, [component.name])
    assert find_witness(component, netlists[component.name]) is None


def test_a_witness_needs_stalls(tmp_path: Path) -> None:
    change = (SERIAL, "    if (move && done) y_q <= y;", "    if (done) y_q <= y;")
    found = claim(prove(STREAMS[SERIAL_DESIGN](), tmp_path, change), "fc", "values")
    assert found.status == "refuted"
    assert "a run on numbers gives data_out_0[" in found.detail


def test_a_witness_is_the_input_that_gives_the_wrong_sum(tmp_path: Path) -> None:
    """Four of 2**24 inputs show it, none of them a corner: the sign is wrong for a sum of 123."""
    weight = np.ones((1, 4), np.int64)
    bias, more = np.zeros(1, np.int64), {"out_lanes": 1, "folded": False}
    design = design_of(lambda x: linear("fc", x, weight, bias, F6, F6, HALF, **more))  # type: ignore[arg-type]
    change = ("mase_requantize.sv", "1'b0 : negative;", "1'b0 : negative ^ (sum == SumWidth'(127));")
    found = claim(prove(design, tmp_path, change), "fc", "values")
    assert found.status == "refuted", found
    assert "the exact sum is 123; a run on numbers gives" in found.detail


def half_known(x: Stream) -> Component:
    """Its first output is a constant, its second a small number, its third any."""
    weight = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [3, -5, 7, 9]])
    return linear("one", x, weight, np.array([44, 3, -2]), F6, F6, HALF, out_lanes=3, folded=False)


BEHIND = {"2 bits": digits(2, DOWN), "1 bit": digits(1, None), "array": folded((3, 3), 3)}


@pytest.mark.parametrize("name", BEHIND)
def test_an_input_with_one_value_is_a_constant(name: str, tmp_path: Path) -> None:
    design = design_of(half_known, BEHIND[name])
    assert design.components[-1].input.lo[0] == design.components[-1].input.hi[0] != 0
    assert [c for c in prove(design, tmp_path).claims if c.status != "proved"] == []


def test_a_signed_sum_that_is_never_negative_has_its_sign(tmp_path: Path) -> None:
    def make(x: Stream) -> Component:
        one = np.ones((1, 1), np.int64)
        return linear("fc", x, one, 3 * one[0], Fixed(2, 0), Fixed(4, 0), None, out_lanes=1, folded=False)

    design: Design = design_of(make, features=1, fixed=Fixed(2, 0))
    assert claim(prove(design, tmp_path), "fc", "widths").status == "proved"


def test_a_number_beside_its_opposite_is_read(tmp_path: Path) -> None:
    """128 x - x without an adder: x, zeros, and x inverted, side by side."""

    def make(x: Stream) -> Component:
        weight, more = np.array([[127]]), {"out_lanes": 1, "folded": False}
        return linear("fc", x, weight, np.array([5]), Fixed(8, 6), Fixed(8, 6), DOWN, **more)  # type: ignore[arg-type]

    design = design_of(make, features=1, fixed=Fixed(3, 1))
    assert [c for c in prove(design, tmp_path).claims if c.status != "proved"] == []


def test_a_sum_that_is_a_bit_short_is_false_at_its_bounds(tmp_path: Path) -> None:
    """Of nine inputs less eight others; its highest bit is 1 for very few vectors, and for none that is a corner."""
    x = full_range("data_in_0", 17, 17, Fixed(6, 0, signed=False))
    weight, types = np.array([[1] * 9 + [-1] * 8]), (Fixed(2, 0), Fixed(2, 0))
    layer = linear("fc", x, weight, np.array([0]), *types, None, out_lanes=1, folded=False)
    design = design_of(lambda _: layer, features=17, fixed=x.fixed)
    text = next(file for file in write_rtl(design, tmp_path / "sound") if file.name == "net_fc.sv").read_text()
    (last,) = re.findall(r"logic \[10:0\] (n\d+_sum);", text)
    narrow = f"logic [10:0] {last};", f"logic [9:0] {last};"
    found = claim(prove(design, tmp_path / "narrow", ("net_fc.sv", *narrow)), "fc", "values")
    assert found.status == "refuted"
    assert str([63] * 9 + [0] * 8) in found.detail
