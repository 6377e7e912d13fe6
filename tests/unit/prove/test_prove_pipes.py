"""Pipes are proved for every input, and whatever is changed in their RTL is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import write_rtl

from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.ir.finish import Finish
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, batch_norm1d, cast, relu
from mase_hw.ops.linear.make import linear
from mase_hw.prove.claims.claim import Claim, NotProvedError
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import Proof, prove_design
from mase_hw.prove.words.carried import Function, Word
from mase_hw.prove.words.reference import Reference, _ratio

F6, U6 = Fixed(6, 3), Fixed(6, 3, signed=False)
F16 = Fixed(16, 12)
HALF16 = Result(Fixed(16, 10), Rounding.HALF_EVEN)
HALF = Result(F6, Rounding.HALF_EVEN)
DOWN = Result(U6, Rounding.FLOOR)


def design_of(*make: Callable[[Stream], Component], features: int = 4, fixed: Fixed = F6, lanes: int = 0) -> Design:
    x = full_range("data_in_0", features, lanes or features, fixed)
    components: list[Component] = []
    for each in make:
        components.append(each(components[-1].output if components else x))
    components[-1] = replace(components[-1], outputs=(components[-1].output.renamed("data_out_0"),))
    design = Design("net", tuple(components))
    design.verify()
    return design


def fc(name: str, result: Result | None, outputs: int = 3, seed: int = 0) -> Callable[[Stream], Component]:
    def make(x: Stream) -> Component:
        rng = np.random.default_rng(seed)
        weight, bias = rng.integers(-20, 20, (outputs, x.features)), rng.integers(-20, 20, outputs)
        return linear(name, x, weight, bias, F6, F6, result, out_lanes=outputs, folded=False)

    return make


def norm(name: str, result: Result, shift_fixed: Fixed = F6) -> Callable[[Stream], Component]:
    def make(x: Stream) -> Component:
        rng = np.random.default_rng(1)
        scale, shift = rng.integers(-20, 20, x.features), rng.integers(-20, 20, x.features)
        return batch_norm1d(name, x, scale, shift, F6, shift_fixed, result)

    return make


def low(x: Stream) -> Component:
    """Sums from -136 to -73: with the half of 8 that rounding adds, they need one bit less."""
    more = {"out_lanes": 1, "folded": False}
    bias, result = np.array([-104]), Result(Fixed(6, 0), Rounding.HALF_EVEN)
    return linear("fc", x, np.array([[1, 0, 0, 0]]), bias, Fixed(6, 1), Fixed(9, 4), result, **more)  # type: ignore[arg-type]


def high(x: Stream) -> Component:
    """Sums from 3572 to 3596, whose upper bits are always the same: they are no numbers from -524 to -500."""
    return batch_norm1d("norm", x, np.full(4, -8), np.full(4, 3580), F6, Fixed(16, 3), None)


def small(x: Stream) -> Component:
    """Sums of -1 and 0: one bit would tell them apart, and a signed number has two."""
    more = {"out_lanes": 1, "folded": False}
    return linear("fc", x, np.array([[1]]), np.array([-1]), Fixed(2, 0), Fixed(2, 0), None, **more)  # type: ignore[arg-type]


def wide(result: Result | None) -> Callable[[Stream], Component]:
    """Sums of more values than are gone through: 2^33 with four inputs."""

    def make(x: Stream) -> Component:
        rng = np.random.default_rng(2)
        weight, bias = rng.integers(-(1 << 15), 1 << 15, (2, x.features)), rng.integers(-(1 << 15), 1 << 15, 2)
        return linear("fc", x, weight, bias, F16, F16, result, out_lanes=2, folded=False)

    return make


def prove(design: Design, folder: Path, change: tuple[str, str, str] | None = None) -> Proof:
    files = write_rtl(design, folder)
    if change is not None:
        file, old, new = change
        text = (folder / file).read_text()
        assert text.count(old) == 1, f"{text.count(old)} of {old}"
        (folder / file).write_text(text.replace(old, new))
    return prove_design(design, elaborate(files, design.name, [c.name for c in design.components]))


def claim(proof: Proof, component: str, about: str) -> Claim:
    return next(c for c in proof.claims if (c.component, c.about) == (component, about))


DESIGNS: dict[str, Callable[[], Design]] = {
    "linear, half to even": lambda: design_of(fc("fc", HALF)),
    "linear, floor, unsigned": lambda: design_of(fc("fc", DOWN)),
    "linear, exact": lambda: design_of(fc("fc", None)),
    "unsigned input": lambda: design_of(fc("fc", HALF), fixed=U6),
    "two layers": lambda: design_of(fc("one", DOWN, 5), fc("two", None, 2, 1)),
    "cast": lambda: design_of(lambda x: cast("cast", x, Result(Fixed(4, 1), Rounding.HALF_EVEN))),
    "relu": lambda: design_of(lambda x: relu("relu", x, HALF)),
    "batch norm, one beat": lambda: design_of(norm("norm", HALF)),
    "batch norm, beats": lambda: design_of(norm("norm", HALF), lanes=2),
    "batch norm, beats, a fine shift": lambda: design_of(norm("norm", HALF, Fixed(6, 9)), lanes=2),
    "batch norm, beats, a large shift": lambda: design_of(high, fixed=Fixed(2, 3), lanes=2),
    "half to even brings the least sum back": lambda: design_of(low),
    "sums of one bit": lambda: design_of(small, features=1, fixed=Fixed(1, 0, signed=False)),
    "16 bits": lambda: design_of(wide(HALF16), fixed=F16),
    "16 bits, floor": lambda: design_of(wide(Result(F16, Rounding.FLOOR)), fixed=F16),
    "a ReLU of 35 bits": lambda: design_of(wide(None), lambda x: relu("relu", x, None), fixed=F16),
    "a cast of 35 bits": lambda: design_of(wide(None), lambda x: cast("cast", x, HALF16), fixed=F16),
    "saturating up": lambda: design_of(lambda x: cast("cast", x, Result(Fixed(8, 7), Rounding.FLOOR))),
    "a component called like an instance": lambda: design_of(fc("u_u_fc", DOWN)),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_proved_whole(name: str, tmp_path: Path) -> None:
    proof = prove(DESIGNS[name](), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []
    assert {c.about for c in proof.claims} == {*("wiring", "progress", "timing", "handshake", "values", "widths")}


@pytest.mark.parametrize(
    ("name", "how"),
    [("linear, half to even", "; rounding gone through for every sum"), ("16 bits", "; rounding as decision diagrams")],
)
def test_the_claim_says_how_rounding_was_compared(name: str, how: str, tmp_path: Path) -> None:
    assert claim(prove(DESIGNS[name](), tmp_path), "fc", "values").method.endswith(how)


REQUANTIZE = "mase_requantize.sv"
MUTANTS = {
    "a clamp at the top": (REQUANTIZE, "ClampHi && !negative && |value", "ClampHi && negative && |value"),
    "a clamp at the bottom": (REQUANTIZE, "(NonNegative || !(&value", "(!NonNegative || !(&value"),
    "the tie": (REQUANTIZE, "wide[Down-1:0] == '0", "wide[Down-1:0] == '1"),
    "one half": (REQUANTIZE, "<<< (Down - 1)", "<<< Down"),
    "the sign": (REQUANTIZE, "Rectify ? 1'b0 : negative", "Rectify ? 1'b0 : !negative"),
    "the offset": (REQUANTIZE, "Constant = Offset + Half", "Constant = Offset + Half + 64'sd1"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_requantize_is_refuted(name: str, tmp_path: Path) -> None:
    proof = prove(design_of(fc("fc", HALF)), tmp_path / "narrow", MUTANTS[name])
    assert claim(proof, "fc", "values").status == "refuted", claim(proof, "fc", "values")
    proof = prove(design_of(wide(HALF16), fixed=F16), tmp_path / "wide", MUTANTS[name])
    assert claim(proof, "fc", "values").status != "proved"


def test_a_number_with_more_bits_than_diagrams_have_is_no_constant(tmp_path: Path) -> None:
    """2^62 is added to a sum, and two of its low bits decide: they are not always 1."""
    result = "assign q_o[Bits-1:0] = (Bits'(value) | {Bits{above}}) & ~{Bits{below}};"
    wrong = f"{result[:-1]} & {{Bits{{t[0] & t[1]}}}};"
    text = f"logic [51:0] t;\n    assign t = 52'(n_i[InWidth-2:Down]) + 52'h4000000000000;\n    {wrong}"
    proof = prove(design_of(wide(Result(F16, Rounding.FLOOR)), fixed=F16), tmp_path, (REQUANTIZE, result, text))
    assert claim(proof, "fc", "values").status == "refuted"


def test_multiples_are_not_taken_modulo_64_bits() -> None:
    exact = Word(np.array([32 * 5, 0]), 0, -160, 155)
    other = Word(np.array([5, 1 << 59]), 0, -(5 + (1 << 59)), 0)  # 32 * 2**59 is 0 there
    assert _ratio(exact, other) is None
    assert _ratio(exact, Word(np.array([5, 0]), 3, -2, 8)) == (32, -96)


def test_constants_may_have_more_than_64_bits() -> None:
    weight, types = 32 * np.array([[20001, -17003, 30011, 25001]]), (Fixed(24, 0), Fixed(24, 0))
    result = Result(Fixed(4, -16), Rounding.FLOOR)
    x = full_range("data_in_0", 4, 4, Fixed(2, 0))
    reference = Reference(linear("fc", x, weight, np.array([0]), *types, result, out_lanes=1, folded=False))
    words = reference.words
    exact = words.word(reference.factors[0], 0)
    base = words.moved(words.shifted_down(exact, 5), 1 << 60)
    bit = Function(base, words.diagrams.both(words.diagrams.bit(3), words.diagrams.bit(4)), words.diagrams)
    with pytest.raises(NotProvedError, match="is wrong where the exact sum is"):
        reference._check(0, exact, [bit] * 4)


def test_a_wrong_addition_is_refuted(tmp_path: Path) -> None:
    """Every sum of the layer in turn is made a difference, and every inverted operand is left as it is."""
    design = design_of(fc("fc", HALF))
    text = next(file for file in write_rtl(design, tmp_path / "rtl") if file.name == "net_fc.sv").read_text()
    sums = [line for line in text.splitlines() if "_sum = " in line]
    assert len(sums) > 10
    for line in sums[::3]:
        proof = prove(design, tmp_path / "mutant", ("net_fc.sv", line, line.replace(" + ", " - ")))
        assert claim(proof, "fc", "values").status != "proved", line
    for line in [line for line in sums if "{~" in line][::2]:
        proof = prove(design, tmp_path / "mutant", ("net_fc.sv", line, line.replace("~", "")))
        assert claim(proof, "fc", "values").status != "proved", line


def test_a_register_that_does_not_hold_is_refuted(tmp_path: Path) -> None:
    change = ("mase_cast.sv", "if (enable) y_q <= y;", "y_q <= y;")
    proof = prove(DESIGNS["cast"](), tmp_path, change)
    assert "does not hold while enable is low" in claim(proof, "cast", "values").detail


def test_data_in_a_valid_is_refuted(tmp_path: Path) -> None:
    change = ("mase_cast.sv", "valid_q <= data_in_0_valid;", "valid_q <= data_in_0_valid || data_in_0[0];")
    proof = prove(DESIGNS["cast"](), tmp_path, change)
    assert claim(proof, "cast", "timing").status == "refuted"
    assert "1 bits of data reach data_out_0_valid" in claim(proof, "cast", "timing").detail


def test_an_output_past_its_register_is_refuted(tmp_path: Path) -> None:
    proof = prove(DESIGNS["cast"](), tmp_path, ("mase_cast.sv", "assign data_out_0 = y_q;", "assign data_out_0 = y;"))
    assert claim(proof, "cast", "handshake").status == "refuted"


def test_a_sum_one_bit_too_wide_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Finish.parameters

    def wider(step: Finish, *arguments: Any) -> dict[str, Any]:
        found = exact(step, *arguments)
        return {**found, "SumWidth": found["SumWidth"] + 1}

    monkeypatch.setattr(Finish, "parameters", wider)
    proof = prove(design_of(fc("fc", HALF)), tmp_path)
    assert claim(proof, "fc", "values").status == "proved"
    assert "bits for sums that need" in claim(proof, "fc", "widths").detail


def test_wires_that_cross_are_refuted(tmp_path: Path) -> None:
    design = DESIGNS["two layers"]()
    crossed = ("net.sv", ".data_in_0(one_out),", ".data_in_0({one_out[5:0], one_out[29:6]}),")
    assert claim(prove(design, tmp_path / "a", crossed), "net", "wiring").status == "refuted"
    gate = ("net.sv", "data_out_0_ready || !data_out_0_valid", "data_out_0_ready && !data_out_0_valid")
    assert claim(prove(design, tmp_path / "b", gate), "net", "wiring").status == "refuted"


@pytest.mark.parametrize(
    ("wires", "status"),
    [
        ("{1'b0, relu_out[22:0]}", "proved"),  # the sign of the last lane, which a ReLU has made 0
        ("{1'b1, relu_out[22:0]}", "refuted"),
        ("{relu_out[23:1], 1'b0}", "refuted"),
        ("{2'b0, relu_out[21:0]}", "refuted"),
    ],
)
def test_a_constant_stands_for_a_bit_that_is_always_this_one(wires: str, status: str, tmp_path: Path) -> None:
    design = design_of(lambda x: relu("relu", x, None), fc("fc", HALF))
    change = ("net.sv", ".data_in_0(relu_out),", f".data_in_0({wires}),")
    assert claim(prove(design, tmp_path, change), "net", "wiring").status == status


def test_nothing_is_proved_from_bounds_that_do_not_hold(tmp_path: Path) -> None:
    """A layer that counts on less than the one before it gives, and a design that leaves inputs out."""
    right = design_of(fc("one", HALF), fc("two", None, 2, 1))
    one, two = right.components
    less = replace(one.output, hi=(one.output.hi[0] - 1, *one.output.hi[1:]))
    inner = replace(right, components=(replace(one, outputs=(less,)), replace(two, inputs=(less,))))
    found = claim(prove(inner, tmp_path / "inner"), "one", "values")
    assert (found.status, found.detail) == ("open", "one_out[0] is taken for -32 to 30 and reaches -32 to 31")
    x = replace(one.input, lo=(one.input.lo[0] + 1, *one.input.lo[1:]))
    outer = replace(right, components=(replace(one, inputs=(x,)), two))
    found = claim(prove(outer, tmp_path / "outer"), "net", "wiring")
    assert (found.status, found.detail) == ("open", "data_in_0 is taken for less than all numbers of its type")


def test_sums_beyond_those_of_the_step_are_not_proved(tmp_path: Path) -> None:
    """Whether anything is clamped follows from them."""
    design = design_of(fc("fc", None, 2))
    layer = design.components[0]
    step = replace(layer.finish, hi=layer.finish.hi - 1)  # type: ignore[attr-defined]
    wrong = replace(design, components=(replace(layer, finish=step),))  # type: ignore[call-arg]
    found = claim(prove(wrong, tmp_path), "fc", "values")
    assert found.status == "open"
    assert "the exact sums reach from" in found.detail
