"""Serial layers keep of their finished sums what differs, and no more; whatever is left out wrongly is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_prove_pipes import claim, design_of, prove

from mase_hw.ir import Component, Design, Stream
from mase_hw.numerics import Fixed
from mase_hw.ops import serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.serial_plan import _kept
from mase_hw.prove.netlist.netlist import netlist_of

WHOLE = Fixed(6, 0)


def made(weights: list[list[int]], bias: list[int], bits: int, digit_bits: int, groups: int = 1) -> Design:
    def make(x: Stream) -> Component:
        types, more = align(x.fixed, WHOLE, Fixed(12, 0)), {"digit_bits": digit_bits, "groups": groups}
        return serial("fc", x, np.array(weights), np.array(bias), types, None, **more)

    return design_of(make, features=len(weights[0]), fixed=Fixed(bits, 0, signed=False))


DESIGNS: dict[str, Callable[[], Design]] = {
    "a first digit of fewer bits, and a large bias": lambda: made([[-1], [4]], [-900, 0], 6, 4),
    "a graph of digits": lambda: made([[-5, -9]], [1500], 7, 5),
    "sums on both sides of a power of two": lambda: made([[-8], [-7], [-18]], [64, 224, 16], 10, 3, 3),
    "a shared digit that is not whole": lambda: made([[10]], [6], 3, 3),
}


@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_proved_whole(name: str, tmp_path: Path) -> None:
    proof = prove(DESIGNS[name](), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []


def changed(name: str, tmp_path: Path, old: str, new: str) -> str:
    return claim(prove(DESIGNS[name](), tmp_path, ("net_fc.sv", old, new)), "fc", "values").status


def test_a_bit_too_few_is_refuted(tmp_path: Path) -> None:
    """Of the sum that is kept, and of the accumulator, whose upper bits never count."""
    name = "a first digit of fewer bits, and a large bias"
    assert changed(name, tmp_path / "a", "sum0 = b0[5:0]", "sum0 = 6'(b0[4:0])") == "refuted"
    assert changed(name, tmp_path / "b", "? sum0[1:0]", "? 2'(sum0[0])") == "refuted"


def test_another_turn_is_refuted(tmp_path: Path) -> None:
    name = "a first digit of fewer bits, and a large bias"
    assert changed(name, tmp_path, "Offset(-64'sd963)", "Offset(-64'sd1027)") == "refuted"


def test_a_sign_that_is_left_out_is_refuted(tmp_path: Path) -> None:
    name = "sums on both sides of a power of two"
    assert changed(name, tmp_path, "{1{sum0[14]}}", "{1{1'b0}}") == "refuted"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_says_the_sum(seed: int) -> None:
    """For every sum of every group, and with a bit less it would not, or a sign would save two."""
    rng = np.random.default_rng(seed)
    lo = rng.integers(-40, 300, 3)
    hi = lo + rng.integers(0, 60, 3)
    bits, signed, turns = _kept(lo, hi)
    for start, end, turn in zip(lo, hi, turns, strict=True):
        for total in range(start, end + 1):
            low = total & ((1 << bits) - 1)
            if signed and low >> (bits - 1):
                low -= 1 << bits
            assert low + (int(turn) << bits) == total
    assert signed or bits == 0 or (lo >> bits - 1 != hi >> bits - 1).any()
    assert _kept(lo[:1], hi[:1])[0] <= int(hi[0] - lo[0]).bit_length() + 2


@pytest.mark.parametrize(("reader", "width"), [("nothing", 3), ("a port", 4), ("a gate", 4)])
def test_upper_bits_of_a_sum_that_nothing_reads_are_left_out(reader: str, width: int) -> None:
    ports = {"a": {"direction": "input", "bits": [2, 3]}, "y": {"direction": "output", "bits": [4, 6]}}
    parameters = {"A_WIDTH": "10", "B_WIDTH": "10", "Y_WIDTH": "100", "A_SIGNED": "0", "B_SIGNED": "0"}
    add = {"type": "$add", "parameters": parameters, "attributes": {}}
    cells = {"sum": {**add, "connections": {"A": [2, 3], "B": [3, 2], "Y": [4, 5, 6, 7]}}}
    if reader == "a port":
        ports["y"]["bits"] = [4, 7]
    if reader == "a gate":
        cells["not"] = {**add, "type": "$not", "connections": {"A": [7], "Y": [8]}}
    found = netlist_of("net", {"cells": cells, "ports": ports, "netnames": {}})
    (one,) = (cell for cell in found.cells if cell.type == "$add")
    assert (one.width("Y"), one.parameters["Y_WIDTH"]) == (width, width)
