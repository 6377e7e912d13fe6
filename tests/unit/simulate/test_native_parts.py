"""The parts of the native engine that need no compiler: vectors in blocks, predicted cycles, units of C++."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mase_hw.ir import Design
from mase_hw.ir.plumbing import SkidBuffer
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.native_units import split
from mase_hw.simulate.stimulus import stimulus


def _design() -> Design:
    lo, hi = (-128, 0, -3, 5), (127, 255, 3, 5)  # ranges of different kinds, one of them a single number
    x = Stream("data_in_0", 4, 2, Fixed(10, 2), lo, hi)
    return Design("d", (SkidBuffer("s", (x,), (x.renamed("data_out_0"),)),))


@pytest.mark.parametrize("size", [1, 7, 10, 64, 10_000])
def test_blocks_are_the_vectors_of_the_other_engine(size: int) -> None:
    samples = np.arange(12).reshape(3, 4)
    whole = stimulus(_design(), 100, 5, [samples])
    made = blocks(_design(), 100, 5, [samples])
    assert made.vectors == len(whole.x)
    assert made.groups == whole.groups
    assert np.array_equal(np.concatenate([block for (block,) in made(size)]), whole.x)
    assert np.array_equal(made.window(4, 21, size)[0], whole.x[4:21])
    assert all(block.dtype == np.int64 and block.flags.c_contiguous for (block,) in made(size))


def test_no_random_vectors() -> None:
    assert blocks(_design(), 0, 5).groups == stimulus(_design(), 0, 5).groups


SYMS = """
class Vtop__Syms final : public VerilatedSyms {
    Vtop___024root                 TOP;
    Vtop_one                       TOP__d__DOT__u_one;
    Vtop_two                       TOP__d__DOT__u_two;
};
"""


def _write(folder: Path, two: str, one_members: str = "    SData/*8:0*/ y;\n    VlWide<3>/*84:0*/ wide;\n") -> Path:
    files = {
        "Vtop__Syms.h": SYMS,
        "Vtop.h": "class Vtop;\n",
        "Vtop___024root.h": "class Vtop___024root {\n    VL_IN8(rst,0,0);\n};\n",
        "Vtop_one.h": f"class Vtop_one {{\n{one_members}}};\n",
        "Vtop_two.h": "class Vtop_two {\n    CData/*0:0*/ q;\n};\n",
        "Vtop_one__0.cpp": '#include "Vtop__pch.h"\nvoid one() {}\n',
        "Vtop_two__0.cpp": f'#include "Vtop__pch.h"\n{two}\n',
        "Vtop.cpp": "",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_unit_names_its_own_class_only(tmp_path: Path) -> None:
    body = "void two() { q = vlSymsp->TOP.rst ? vlSymsp->TOP__d__DOT__u_one.y : vlSymsp->TOP__d__DOT__u_one.wide[1U]; }"
    units = split(_write(tmp_path, body), Path("driver.cpp"))
    unit = units.apart["Vtop_two"]
    assert "vlSymsp->" not in unit
    assert "#include" not in unit
    assert "q = mase_TOP_rst(vlSymsp) ? mase_TOP__d__DOT__u_one_y(vlSymsp)" in unit
    assert "__attribute__((const)) VlWide<3>& mase_TOP__d__DOT__u_one_wide(Vtop__Syms* symsp);" in unit
    assert "SData& mase_TOP__d__DOT__u_one_y(Vtop__Syms* symsp) { return symsp->TOP__d__DOT__u_one.y; }" in units.rest
    assert "Vtop_two__0.cpp" not in units.rest
    assert '#include "driver.cpp"' in units.rest


def test_a_unit_does_not_change_with_another_class(tmp_path: Path) -> None:
    body = "void two() { q = vlSymsp->TOP__d__DOT__u_one.y; }"
    made = []
    for name, members in (("a", "    SData/*8:0*/ y;\n"), ("b", "    QData/*40:0*/ more;\n    SData/*8:0*/ y;\n")):
        (tmp_path / name).mkdir()
        made.append(split(_write(tmp_path / name, body, members), Path("driver.cpp")).apart)
    assert made[0]["Vtop_two"] == made[1]["Vtop_two"]
    assert made[0]["Vtop_one"] != made[1]["Vtop_one"]


@pytest.mark.parametrize("reach", ["vlSymsp->TOP__d__DOT__u_one.unheard_of", "vlSymsp->_vm_contextp__->time()"])
def test_a_class_that_reaches_further_stays_with_the_rest(tmp_path: Path, reach: str) -> None:
    units = split(_write(tmp_path, f"void two() {{ q = {reach}; }}"), Path("driver.cpp"))
    assert set(units.apart) == {"Vtop_one"}
    assert '#include "Vtop_two__0.cpp"' in units.rest


LONG = "    vlSelfRef.q = 1U;\n" * 1000


def _long(number: int) -> str:
    name = f"Vtop_two___nba_sequent__TOP__d__DOT__u_two__{number}"
    return f"void {name}(Vtop_two* vlSelf) {{\n{LONG}}}\n\nvoid short_{number}(Vtop_two* vlSelf) {{\n}}\n"


def test_long_functions_are_a_unit_that_does_not_know_their_numbers(tmp_path: Path) -> None:
    made = []
    for number in (0, 3):
        (tmp_path / str(number)).mkdir()
        made.append(split(_write(tmp_path / str(number), _long(number)), Path("driver.cpp")).apart)
    assert set(made[0]) == {"Vtop_one", "Vtop_two", "Vtop_two.long"}
    assert made[0]["Vtop_two.long"] == made[1]["Vtop_two.long"]
    assert LONG in made[0]["Vtop_two.long"]
    assert LONG not in made[0]["Vtop_two"]
    same = made[0]["Vtop_two.long"].partition("void mase_function_")[2].partition("(")[0]
    call = f"__u_two__3(Vtop_two* vlSelf) {{ mase_function_{same}(vlSelf); }}"
    assert call in made[1]["Vtop_two"]
