"""Gates on many samples at once compute what each kind of cell computes on single numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.gates import Gates, Wires
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.words.carried import UNKNOWN

SAMPLES = 64
TWO = ("$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$shl", "$sshl", "$shr", "$sshr")
COMPARED = ("$eq", "$ne", "$eqx", "$nex", "$lt", "$le", "$gt", "$ge", "$logic_and", "$logic_or")
REDUCED = ("$reduce_or", "$reduce_bool", "$logic_not", "$reduce_and", "$reduce_xor", "$reduce_xnor")
KINDS = (*TWO, *COMPARED, *REDUCED, "$not", "$pos", "$neg", "$mux", "$bwmux", "$pmux", "$bmux", "$demux", "$shiftx")


def drawn(kind: str, rng: np.random.Generator) -> Cell:
    """A cell of this kind: any widths and signs that Yosys allows."""
    a, b, y = (int(n) for n in rng.integers(1, 7, 3))
    signed = int(rng.integers(2))
    signs = {"A_SIGNED": signed, "B_SIGNED": 0 if "sh" in kind else signed}
    widths = {"A": a, "B": min(b, 3) if "sh" in kind else b, "Y": y}
    if kind in COMPARED:
        widths["Y"] = 1 + y % 2
    elif kind in REDUCED or kind in ("$not", "$pos", "$neg"):
        widths = {"A": a, "Y": 1 if kind in REDUCED else y}
    elif kind in ("$mux", "$bwmux"):
        widths = {"A": y, "B": y, "S": 1 if kind == "$mux" else y, "Y": y}
    elif kind == "$pmux":
        widths = {"A": y, "B": 3 * y, "S": 3, "Y": y}
    elif kind == "$shiftx":
        widths["A"] = y + 7  # nothing beyond it is read, which has no value
    elif kind == "$bmux":
        widths = {"A": 4 * y, "S": 2, "Y": y}
    elif kind == "$demux":
        widths = {"A": y, "S": 2, "Y": 4 * y}
    nets = {port: tuple(range(width)) for port, width in widths.items()}
    return Cell("cell", kind, signs, nets, "here")


def wires(numbers: list[int], width: int) -> Wires:
    return [sum(((number >> k) & 1) << n for n, number in enumerate(numbers)) for k in range(width)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_cell(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        cell = drawn(kind, rng)
        one = function(cell)
        ports = {port: [int(n) for n in rng.integers(1 << cell.width(port), size=SAMPLES)] for port in operands(cell)}
        if kind == "$pmux":  # no two bits of its select are set at once
            ports["S"] = [int(n) for n in rng.choice([0, 1, 2, 4], SAMPLES)]
        found = Gates(SAMPLES).evaluate(cell, {port: wires(many, cell.width(port)) for port, many in ports.items()})
        wanted = [one(*(ports[port][n] for port in operands(cell))) for n in range(SAMPLES)]
        assert found == wires(wanted, cell.width("Y")), cell


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_beside_an_unknown_wire_is_true(kind: str) -> None:
    """Each wire of a cell in turn is unknown: what is known of the output holds for both of its values."""
    rng, gates, known = np.random.default_rng(5), Gates(SAMPLES), 0
    for _ in range(10):
        cell = drawn(kind, rng)
        any_of = [0, gates.ones, int(rng.integers(1 << 62))]
        ports = {port: [any_of[n] for n in rng.integers(3, size=cell.width(port))] for port in operands(cell)}
        if kind == "$pmux":
            ports["S"] = [0, gates.ones, 0]
        for port, held in ports.items():
            for k in range(len(held)):
                if kind == "$pmux" and port == "S":
                    continue
                seen = [gates.evaluate(cell, {**ports, port: [*held[:k], value, *held[k + 1 :]]})
                        for value in (UNKNOWN, 0, gates.ones)]  # fmt: skip
                for hidden, zero, one in zip(*seen, strict=True):
                    known += hidden is not UNKNOWN
                    assert hidden is UNKNOWN or hidden == zero == one, (cell, port, k)
    assert known or kind in ("$reduce_xor", "$reduce_xnor")
