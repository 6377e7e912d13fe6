"""A netlist that is missing, cut off or not what was asked for is an error, never a zero."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import ProblemsError
from mase_hw.synth.netlist import count, read_netlist


def empty(**cells: str) -> dict[str, Any]:
    made = {n: {"type": t, "parameters": {}, "port_directions": {}, "connections": {}} for n, t in cells.items()}
    return {"cells": made, "ports": {}, "netnames": {}}


def test_count() -> None:
    cells = {"LUT2": 3, "LUT6": 4, "FDRE": 5, "RAMB36E2": 2, "RAMB18E2": 1, "SRL16E": 6, "CARRY4": 7, "INV": 8}
    assert count(cells) == Cost(lut=7, lutram=6, ff=5, carry=7, bram=5)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="without an error and without a netlist"):
        read_netlist(tmp_path / "netlist.json", "dut")


@pytest.mark.parametrize("size", [0, 1, 20, 60])
def test_cut_off(size: int, tmp_path: Path) -> None:
    text = json.dumps({"creator": "Yosys", "modules": {"dut": empty(a="LUT2")}})
    assert len(text) > size
    (tmp_path / "netlist.json").write_text(text[:size], encoding="utf-8")
    with pytest.raises(ProblemsError, match="cut off"):
        read_netlist(tmp_path / "netlist.json", "dut")


def test_another_top(tmp_path: Path) -> None:
    (tmp_path / "netlist.json").write_text(json.dumps({"modules": {"other": empty()}}), encoding="utf-8")
    with pytest.raises(ProblemsError, match="without the module dut"):
        read_netlist(tmp_path / "netlist.json", "dut")


def test_components(tmp_path: Path) -> None:
    modules = {"dut": empty(u_one="hold", u_two="gone", glue="LUT2"), "hold": empty(a="FDRE", b="XYZ")}
    (tmp_path / "netlist.json").write_text(json.dumps({"modules": modules}), encoding="utf-8")
    netlist = read_netlist(tmp_path / "netlist.json", "dut")
    one = netlist.component("one")
    assert (one.cost, one.other) == (Cost(ff=1), {"XYZ": 1})
    with pytest.raises(ProblemsError, match="hold is left"):
        netlist.whole()
    with pytest.raises(ProblemsError, match="module gone of component two is not in the netlist"):
        netlist.component("two")
    with pytest.raises(ProblemsError, match="dut has no instance u_three of component three"):
        netlist.component("three")
    assert netlist.outside().cells == {"LUT2": 1, "gone": 1}
