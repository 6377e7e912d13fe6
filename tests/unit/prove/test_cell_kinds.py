"""Cells on words, on numbers and on many samples compute what Yosys says that they compute; an x is no value."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from pyosys import libyosys as ys

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.gates import Gates, Wire
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.words.carried import UNKNOWN, Value
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

TWO = ("and", "or", "xor", "xnor", "add", "sub", "mul", "logic_and", "logic_or")
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge", "eqx", "nex")
SHIFTS = ("shl", "shr", "sshl", "sshr", "shift", "shiftx")
ONE = ("not", "pos", "neg", "logic_not", "reduce_and", "reduce_or", "reduce_xor", "reduce_xnor", "reduce_bool")
CHOICES = ("mux", "bwmux", "pmux", "bmux", "demux")
SAMPLE, SAMPLES = 3, 5  # which of how many is the one that is compared


def drawn(kind: str, rng: random.Random) -> Cell:
    """A cell of this kind: any widths and signs that Yosys allows."""
    a, b, y = rng.randint(1, 7), rng.randint(1, 4 if kind in SHIFTS else 7), rng.randint(1, 9)
    s, signed = rng.randint(1, 3), rng.randint(0, 1)
    signs = {"A_SIGNED": int(signed and kind != "shiftx"), "B_SIGNED": signed}
    if kind in SHIFTS:
        signs["B_SIGNED"] = rng.randint(0, 1) if kind in ("shift", "shiftx") else 0
    widths = {"A": a, "B": b, "Y": y}
    if kind in ONE:
        widths, signs = {"A": a, "Y": y}, {"A_SIGNED": signed}
    elif kind in CHOICES:
        bits = {"mux": (a, a, 1, a), "bwmux": (a, a, a, a), "pmux": (a, a * s, s, a)}
        bits |= {"bmux": (a << s, 0, s, a), "demux": (a, 0, s, a << s)}
        widths, signs = {port: n for port, n in zip("ABSY", bits[kind], strict=True) if n}, {}
    nets = {port: tuple(range(width)) for port, width in widths.items()}
    return Cell("cell", f"${kind}", signs, nets, "here")


def said_by_yosys(cell: Cell, numbers: dict[str, int]) -> str:
    """The output, lowest bit first."""
    given = {port: ys.Const(number, cell.width(port)) for port, number in numbers.items()}
    compute = getattr(ys, f"const_{cell.type[1:]}")
    if "S" in given:
        found = compute(*(given[port] for port in operands(cell)))
    else:
        signs = (bool(cell.parameters.get(f"{port}_SIGNED")) for port in "AB")
        found = compute(given["A"], given.get("B", ys.Const(0, 1)), *signs, cell.width("Y"))
    text: str = found.as_string()
    return text[::-1].ljust(cell.width("Y"), "0")[: cell.width("Y")]


def is_true(found: Sequence[Value | Wire], wanted: str) -> bool:
    """Whether all that is known of an output is what Yosys says."""
    return len(found) == len(wanted) and all(
        bit is UNKNOWN or str(bit) == said for bit, said in zip(found, wanted, strict=True)
    )


@pytest.mark.parametrize("kind", [*TWO, *COMPARED, *SHIFTS, *ONE, *CHOICES])
def test_a_cell_is_what_yosys_says(kind: str) -> None:
    rng, gates = random.Random(kind), Gates(SAMPLES)
    symbolic = Symbolic(Words(np.array([0]), np.array([1])))
    known = 0
    for _ in range(150):
        cell = drawn(kind, rng)
        numbers = {port: rng.getrandbits(cell.width(port)) for port in operands(cell)}
        bits = {port: [(n >> k) & 1 for k in range(cell.width(port))] for port, n in numbers.items()}
        wanted = said_by_yosys(cell, numbers)
        for hidden in (0.0, 0.3):
            some = {port: [UNKNOWN if rng.random() < hidden else bit for bit in held] for port, held in bits.items()}
            found = symbolic.evaluate(cell, {port: list(held) for port, held in some.items()})
            assert is_true(found, wanted), (cell, numbers, some)
            known += UNKNOWN not in found
            others = rng.choice((0, rng.getrandbits(SAMPLES) & ~(1 << SAMPLE)))  # what the other samples carry
            wires: dict[str, list[Wire]] = {
                port: [UNKNOWN if bit is UNKNOWN else (gates.ones if others == 0 else 1 << SAMPLE) * bit
                       | (others if rng.random() < 0.5 else 0) for bit in held]
                for port, held in some.items()
            }  # fmt: skip
            try:
                many = gates.evaluate(cell, wires)
            except NotProvedError:
                continue
            seen = [wire if wire is UNKNOWN else (wire >> SAMPLE) & 1 for wire in many]  # type: ignore[operator]
            assert is_true(seen, wanted), (cell, numbers, wires)
        try:
            number = function(cell)(*(numbers[port] for port in operands(cell)))
        except NotProvedError:
            assert "x" in wanted
            continue
        assert is_true([(number >> k) & 1 for k in range(cell.width("Y"))], wanted), (cell, numbers)
    assert known > 30
