"""Every cell type has the right kind, and paths run through cells where they do in silicon."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from mase_hw.synth.cells import cascades, kind_of, level, passes, reaches, units

KINDS = {
    "lut": ["LUT1", "LUT6", "LUT4", "SB_LUT4", "$lut"],
    "lutram": ["RAM32M", "RAM64M8", "RAM32X1D", "RAM256X1S", "SRL16E", "SRLC32E", "DPR16X4C", "TRELLIS_DPR16X4"],
    "ff": ["FDRE", "FDSE_1", "LDCE", "TRELLIS_FF", "SB_DFF", "SB_DFFESR", "$_DFF_P_", "$_SDFFE_PP0P_", "$_DLATCH_P_"],
    "carry": ["CARRY4", "CARRY8", "CCU2C", "SB_CARRY"],
    "dsp": ["DSP48E1", "DSP48E2", "MULT18X18D", "ALU54B", "SB_MAC16"],
    "bram": ["RAMB18E2", "RAMB36E1", "DP16KD", "PDPW16KD", "SB_RAM40_4K", "SB_RAM40_4KNR", "SB_SPRAM256KA"],
}


@pytest.mark.parametrize(("cell", "kind"), [(cell, kind) for kind, cells in KINDS.items() for cell in cells])
def test_kind(cell: str, kind: str) -> None:
    assert kind_of(cell) == kind


@pytest.mark.parametrize("cell", ["INV", "BUFG", "MUXF7", "PFUMX", "LUT6_2", "LUT7", "IBUF", "$mul", "$mem_v2"])
def test_no_kind(cell: str) -> None:
    assert kind_of(cell) is None


def test_yosys_libraries_hold_no_memory_or_register_that_is_not_known() -> None:
    spec = importlib.util.find_spec("pyosys")
    assert spec is not None
    assert spec.submodule_search_locations
    share = Path(spec.submodule_search_locations[0]) / "share"
    expected = {r"(RAM\d|SRL)\w*": "lutram", r"FD[RSCP]E(_1)?": "ff", r"SB_DFF\w*": "ff", r"SB_RAM\w*": "bram"}
    seen = set()
    for library in ("xilinx/cells_sim.v", "ice40/cells_sim.v"):
        for name in re.findall(r"^module\s+(\w+)", (share / library).read_text("utf-8"), re.MULTILINE):
            for pattern, kind in expected.items():
                if re.fullmatch(pattern, name):
                    seen.add(kind)
                    assert kind_of(name) == kind, name
    assert seen == {"lutram", "ff", "bram"}


def test_units_and_levels() -> None:
    assert (units("RAMB36E2"), units("RAMB18E2"), units("LUT6")) == (2, 1, 1)
    assert (level("BUFG"), level("LUT1"), level("INV"), level("MUXF7")) == (0, 1, 1, 1)


def test_registers_cut_paths() -> None:
    assert passes("LUT6", {}, "I0")
    assert not passes("FDRE", {}, "D")
    assert not passes("RAMB18E2", {}, "ADDRARDADDR")
    assert passes("RAM32M", {}, "ADDRA")
    assert passes("TRELLIS_DPR16X4", {}, "RAD")
    assert not passes("TRELLIS_DPR16X4", {}, "WAD")
    assert not passes("RAM32M", {}, "DIA")
    zeros = dict.fromkeys(("AREG", "BREG", "MREG", "PREG"), "0" * 32)
    assert passes("DSP48E2", zeros, "A")
    assert not passes("DSP48E2", {**zeros, "MREG": "0" * 31 + "1"}, "A")


def test_carries_run_upwards() -> None:
    assert reaches("CARRY4", "S", 1, 2)
    assert reaches("CARRY4", "S", 2, 2)
    assert not reaches("CARRY4", "S", 3, 2)
    assert reaches("LUT6", "S", 3, 0)
    assert cascades("CO", "CI")
    assert not cascades("O", "CI")
    assert not cascades("CO", "S")
