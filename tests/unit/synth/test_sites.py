"""LUT sites: what drives the inputs S of a carry cell, and which of its bits are used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_rtl import write

from mase_hw.cost.cost import Cost
from mase_hw.synth import synthesize
from mase_hw.synth.netlist import Netlist
from mase_hw.synth.sites import bare_carries

Bits = list[int | str]
DIRECTIONS = {
    "CARRY4": {"S": "input", "DI": "input", "CI": "input", "O": "output", "CO": "output"},
    "LUT2": {"I0": "input", "I1": "input", "O": "output"},
    "INV": {"I": "input", "O": "output"},
    "FDRE": {"D": "input", "C": "input", "Q": "output"},
    "CCU2C": {"A0": "input", "S0": "output"},
}
COUNTER = """\
module dut (input logic clk, output logic [11:0] n);
  always_ff @(posedge clk) n <= n + 12'd1;
endmodule
"""
S = [21, 22, 23, 24]
O = [31, 32, 33, 34]  # noqa: E741 the cell's own name


def cell(kind: str, **wires: Bits) -> dict[str, Any]:
    return {"type": kind, "parameters": {}, "port_directions": DIRECTIONS[kind], "connections": wires}


def carry(s: Bits, o: Bits = O, co: Bits | None = None) -> dict[str, Any]:
    return cell("CARRY4", S=s, DI=["0"] * 4, CI=["0"], O=o, CO=co or [41, 42, 43, 44])


def module(*cells: dict[str, Any], out: Bits = O, given: Bits = S) -> dict[str, Any]:
    """The outputs `out` are read; `given` come in through a port."""
    ports = {"x": {"direction": "input", "bits": given}, "y": {"direction": "output", "bits": out}}
    return {"cells": {f"c{k}": made for k, made in enumerate(cells)}, "ports": ports, "netnames": {}}


def driven(kind: str, out: str) -> list[dict[str, Any]]:
    return [cell(kind, **{name: [51] for name in DIRECTIONS[kind] if name != out}, **{out: [bit]}) for bit in S]


@pytest.mark.parametrize(
    ("drivers", "sites"),
    [
        pytest.param(driven("FDRE", "Q"), 4, id="registers"),
        pytest.param(driven("INV", "O"), 4, id="inverters"),
        pytest.param(driven("LUT2", "O"), 0, id="LUTs"),
        pytest.param([*driven("FDRE", "Q")[:1], *driven("LUT2", "O")[1:]], 1, id="one register, three LUTs"),
        pytest.param([carry([51] * 4, o=S)], 4 + 4, id="another chain, whose own S is a port"),
    ],
)
def test_what_drives_a_carry(drivers: list[dict[str, Any]], sites: int) -> None:
    assert bare_carries(module(*drivers, carry(S), given=[51])) == sites


def test_a_port_takes_a_site_and_a_constant_none() -> None:
    assert bare_carries(module(carry(S))) == 4
    assert bare_carries(module(carry([21, "0", "1", "x"]))) == 1


def test_upper_bits_that_nothing_reads_are_left_out() -> None:
    assert bare_carries(module(carry(S), out=O[:2])) == 2
    assert bare_carries(module(carry(S), out=[43])) == 3  # the carry out of the third bit
    assert bare_carries(module(carry(S), out=[51])) == 0
    above = carry(["0"] * 4, o=[61, 62, 63, 64], co=[71, 72, 73, 74])
    above["connections"]["CI"] = [44]  # a longer chain reads the carry out of the last bit
    assert bare_carries(module(carry(S), above, out=[61])) == 4


def test_other_carry_cells_take_none() -> None:
    assert bare_carries(module(cell("CCU2C", A0=[21], S0=[31]))) == 0


def test_sites_stand_beside_the_cells() -> None:
    netlist = Netlist("Yosys", "dut", {"dut": module(carry(S), *driven("LUT2", "O")[:1], given=S[1:])})
    assert netlist.whole().cost == Cost(sites=1 + 3, lut=1, carry=1, depth=2)


@pytest.mark.parametrize(("target", "sites"), [("xcup", 12), ("ice40", 12)])
def test_a_counter(target: str, sites: int, tmp_path: Path) -> None:
    """On a Xilinx chip its registers drive the chain, and no LUT cell is left; on an iCE40 LUTs are all there is."""
    found = synthesize(write(tmp_path, COUNTER), "dut", target).total
    assert found.sites == sites
    assert found.lut == (0 if target == "xcup" else sites)
