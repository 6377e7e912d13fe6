"""The inputs that reach the bounds of a sum are replayed: an adder that holds another, or is too wide, is found."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import write_rtl
from test_certificate import build, made  # noqa: F401  fixtures
from test_prove_pipes import DESIGNS as PIPES
from test_prove_pipes import claim, prove
from test_prove_streams import DESIGNS as STREAMS

from mase_hw.emit import Build
from mase_hw.ir import Component
from mase_hw.ir.finish import Finish
from mase_hw.ops.linear.folded_array import FoldedArray
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.handshake import is_chain, prove_handshake
from mase_hw.prove.claims.replay import Adder, replay, search
from mase_hw.prove.claims.values import prove_values
from mase_hw.prove.claims.widths import View, _below_zeros, _needed, looked_at, prove_widths
from mase_hw.prove.netlist.netlist import Cell, Netlist, elaborate
from mase_hw.prove.words.ranges import BitRanges
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words


@pytest.mark.parametrize("seed", range(5))
def test_the_inputs_give_the_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lo = rng.integers(-9, 9, 6)
    hi = lo + rng.integers(0, 9, 6)
    words = Words(lo, hi)
    word = words.word(rng.integers(-9, 9, 6), 7)
    least, greatest = words.reaching(word)
    assert [int(word.factors @ x) + word.constant for x in (least, greatest)] == [word.lo, word.hi]
    assert all(((lo <= x) & (x <= hi)).all() for x in (least, greatest))


@pytest.mark.parametrize("ends", [(-5, 6), (3, 12), (0, 0), (-8, 7), (-1, -1), (0, 9)])
def test_the_inputs_give_the_bounds_of_sums_of_bits(ends: tuple[int, int]) -> None:
    """Of every number in a range, the bits' sum is looked at: one of them has the least, one the greatest."""
    width, used = 5, max(ends[0], ~ends[0], ends[1], ~ends[1]).bit_length() + (ends[0] < 0)
    ranges = BitRanges([ends, (-16, 15)], [used, width], width)
    for seed in range(20):
        factors = np.random.default_rng(seed).integers(-20, 20, 2 * width)
        factors[used:width] = 0  # copies of the sign, or zeros
        least, greatest = ranges.reaching(factors)
        numbers = [(a, b) for a, b in product(range(ends[0], ends[1] + 1), range(-16, 16))]
        bits = [[(n >> k) & 1 for n in pair for k in range(width)] for pair in numbers]
        every = dict(zip(numbers, (np.array(bits) @ factors).tolist(), strict=True))
        assert (every[tuple(least)], every[tuple(greatest)]) == (min(every.values()), max(every.values()))
        assert ranges.bounds(factors) == (min(every.values()), max(every.values()))


LAYERS = {
    **{name: PIPES[name] for name in ("linear, half to even", "batch norm, beats")},
    **{name: STREAMS[name] for name in ("folded 2 x 3", "folded, DSP", "serial, 2 bits", "serial, 2 groups")},
}


def proved(name: str, folder: Path) -> tuple[Component, Netlist, Symbolic]:
    design = LAYERS[name]()
    component = design.components[0]
    netlist = elaborate(write_rtl(design, folder), design.name, [component.name])[component.name]
    explored = prove_handshake(component, netlist)[1]
    return component, netlist, prove_values(component, netlist, explored)[1]


@pytest.mark.parametrize("name", LAYERS)
def test_an_adder_that_holds_another_sum_is_found(name: str, tmp_path: Path) -> None:
    """The proof is of one netlist, the replay of another: in turn, each adder that was looked at subtracts instead.

    Of the serial layer one adder holds the very sums on the way to others; its values are not proved then.
    """
    component, netlist, symbolic = proved(name, tmp_path)
    shared = not is_chain(component)
    method, reached = prove_widths([View(component, netlist, symbolic)], accumulates=shared)
    assert reached
    assert "has no bit to spare" in method
    other = {"$add": "$sub", "$sub": "$add"}
    said: list[str] = []
    unseen: list[str] = []
    for source in sorted({each.source for each in reached})[:8]:
        cells = [replace(cell, type=other.get(cell.type, cell.type)) if cell.source == source else cell
                 for cell in netlist.cells]  # fmt: skip
        wrong = replace(netlist, cells=tuple(cells))
        try:
            prove_widths([View(component, wrong, symbolic)], accumulates=shared)
        except NotProvedError as error:
            said.append(str(error))
        else:
            with pytest.raises(NotProvedError):
                prove_values(component, wrong, prove_handshake(component, wrong)[1])
            unseen.append(source)
    assert all("never gives the sum" in text for text in said)
    assert len(unseen) == (name == "serial, 2 bits")


@pytest.mark.parametrize("name", ["linear, half to even", "serial, 2 groups"])
def test_an_input_that_does_not_reach_a_bound_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    component, netlist, symbolic = proved(name, tmp_path)
    sums = [one for one in symbolic.sums if one.total.lo < one.total.hi][:1]
    replay(component, netlist, sums, symbolic.words)
    right = Words.reaching
    monkeypatch.setattr(Words, "reaching", lambda words, word: right(words, word)[::-1])
    with pytest.raises(NotProvedError, match="never gives the sum"):
        replay(component, netlist, sums, symbolic.words)


def wider_array(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = FoldedArray.__dict__["acc_bits"].func
    monkeypatch.setattr(FoldedArray, "acc_bits", property(lambda array: wide(array) + 1))
    wider_end(monkeypatch)  # or the bit more would lead nowhere


def wider_end(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Finish.parameters

    def wider(step: Finish, *arguments: Any) -> dict[str, Any]:
        found = exact(step, *arguments)
        return {**found, "SumWidth": found["SumWidth"] + 1}

    monkeypatch.setattr(Finish, "parameters", wider)


WIDER = {"folded 2 x 3": wider_array, "folded, exact": wider_array, "serial, 1 bit": wider_end}


@pytest.mark.parametrize("name", WIDER)
def test_an_accumulator_one_bit_too_wide_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert claim(prove(STREAMS[name](), tmp_path / "right"), "fc", "widths").status == "proved"
    WIDER[name](monkeypatch)
    found = claim(prove(STREAMS[name](), tmp_path / "wide"), "fc", "widths")
    assert found.status == "open"
    assert "bits for sums that need" in found.detail
    assert name.startswith("serial") == ("mase_requantize.sv" in found.detail)


def test_an_input_that_takes_the_highest_bit_is_found_by_trying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every adder of a pipe, as if no sum of it were known; where one has a bit more, there is no such input."""
    design = PIPES["linear, half to even"]()
    component = design.components[0]

    def adders(folder: Path) -> tuple[Netlist, list[Adder]]:
        netlist = elaborate(write_rtl(design, folder), design.name, [component.name])[component.name]
        return netlist, list(looked_at(netlist, accumulates=False).values())

    netlist, every = adders(tmp_path / "right")
    found = search(component, netlist, every)
    assert len(found) == len(every) > 10
    exact = {one.cell.source: one.total for one in proved("linear, half to even", tmp_path / "again")[2].sums}
    for each in found:  # no more than the exact sums
        assert each.sums[1] - each.sums[0] <= exact[each.source].hi - exact[each.source].lo
    wider_end(monkeypatch)
    netlist, every = adders(tmp_path / "wide")
    with pytest.raises(NotProvedError, match="no input was found that takes all"):
        search(component, netlist, every)


def test_the_certificate_has_inputs_that_give_its_sums(build: Build) -> None:  # noqa: F811
    """Of this layer's adders the widest are the two sums of its outputs, but for constants that cancel out."""
    content = json.loads((build.path / "certificate.json").read_text())
    adders = next(c for c in content["claims"] if c["about"] == "widths")["adders"]
    rows = [[1, -3, 5], [0, 7, 2]]
    for row in rows:
        spreads = {int(np.dot(row, np.subtract(*each["inputs"][::-1]))) for each in adders}
        wanted = int(np.abs(row).sum()) * 15  # every input is a number of 4 bits
        assert wanted in spreads
        assert any(each["sums"][1] - each["sums"][0] == wanted for each in adders)
    assert all(-8 <= n <= 7 for each in adders for vector in each["inputs"] for n in vector)


@pytest.mark.parametrize(
    ("lo", "hi", "bits", "modulo", "alone"), [(50, 60, 6, 5, 7), (8, 15, 6, 5, 5), (0, 1, 6, 2, 2)]
)
def test_a_sum_with_zeros_above_it_is_not_taken_modulo(lo: int, hi: int, bits: int, modulo: int, alone: int) -> None:
    """6 bits from 50 to 60 may be -14 to -4 if something extends them; with zeros above they are not."""
    assert _needed(lo, hi, bits, signed=True) == modulo
    assert _needed(lo, hi, bits, signed=True, alone=True) == alone


@pytest.mark.parametrize(("second", "zeros"), [((2, 3, "0"), True), ((2, 3, 3), False), ((3,), False), ((2, 3), False)])
def test_zeros_stand_above_a_net_in_everything_that_reads_it(second: tuple[int | str, ...], zeros: bool) -> None:
    cells = [Cell(str(n), "$not", {}, {"A": a, "Y": (9 + n,)}, "") for n, a in enumerate([(2, 3, "0", "0"), second])]
    assert (3 in _below_zeros(Netlist("net", {}, tuple(cells)))) == zeros
