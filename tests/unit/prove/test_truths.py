"""Where words end, every vector is gone through: that proves what is right, and finds what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_prove_control import SERIAL
from test_prove_pipes import DOWN, F6, HALF, MUTANTS, claim, design_of, fc, norm, prove
from test_prove_streams import digits, folded

from mase_hw.ir import Component, Design, Stream
from mase_hw.numerics import Fixed
from mase_hw.ops import relu
from mase_hw.ops.linear.make import linear
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.reference import Reference

F4 = Fixed(4, 2)
DESIGNS: dict[str, Callable[[], Design]] = {
    "linear": lambda: design_of(fc("fc", HALF), features=2, fixed=F4),
    "linear, exact": lambda: design_of(fc("fc", None), features=2, fixed=F4),
    "batch norm, beats": lambda: design_of(norm("fc", HALF), lanes=2),
    "relu": lambda: design_of(lambda x: relu("fc", x, DOWN)),
    "folded": lambda: design_of(folded((1, 2), 1), features=2, lanes=1, fixed=F4),
    "folded, DSP": lambda: design_of(folded((1, 1), 1, use_dsp=True), features=2, lanes=1, fixed=F4),
    "serial": lambda: design_of(digits(2), features=2, fixed=F4),
}


@pytest.fixture
def no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The affine argument leaves every output open."""

    def fail(*_: object) -> None:
        raise NotProvedError("no word is read")

    monkeypatch.setattr(Reference, "_check", fail)


@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_proved_without_words(name: str, tmp_path: Path, no_words: None) -> None:
    found = claim(prove(DESIGNS[name](), tmp_path), "fc", "values")
    assert found.status == "proved", found
    assert "outputs by exhaustion, of " in found.method


WRONG = {
    **{f"linear, {name}": ("linear", change) for name, change in MUTANTS.items()},
    "folded, the tie": ("folded", MUTANTS["the tie"]),
    "norm, a clamp": ("batch norm, beats", MUTANTS["a clamp at the top"]),
    "serial, stalls": ("serial", (SERIAL, "    if (move && done) y_q <= y;", "    if (done) y_q <= y;")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted_without_words(name: str, tmp_path: Path, no_words: None) -> None:
    design, change = WRONG[name]
    found = claim(prove(DESIGNS[design](), tmp_path, change), "fc", "values")
    assert found.status == "refuted", found
    assert "a run on numbers gives" in found.detail


def one_of_two(x: Stream) -> Component:
    weight, bias = np.array([[3, 0], [0, 5]]), np.zeros(2, np.int64)
    return linear("fc", x, weight, bias, F6, F6, None, out_lanes=2, folded=False)


def test_an_output_that_depends_on_another_input_is_refuted(tmp_path: Path, no_words: None) -> None:
    """Only for one vector of the two inputs, of which the output has to depend on one alone."""
    design = design_of(one_of_two, features=2, fixed=Fixed(7, 3))
    assert claim(prove(design, tmp_path / "right"), "fc", "values").status == "proved"
    line = "assign x0 = {~data_in_0[6], data_in_0[0+:6]};"
    change = ("net_fc.sv", line, line.replace(";", " ^ 7'(data_in_0 == 14'h15a5);"))
    found = claim(prove(design, tmp_path / "wrong", change), "fc", "values")
    assert found.status == "refuted", found
    assert "a run on numbers gives" in found.detail


def test_too_many_vectors_stay_open(tmp_path: Path, no_words: None) -> None:
    found = claim(prove(design_of(fc("fc", HALF)), tmp_path), "fc", "values")
    assert found.status == "open"
    assert "no word is read; the inputs that it depends on have too many vectors to go through" in found.detail
