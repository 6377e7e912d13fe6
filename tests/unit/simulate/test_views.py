"""Localisation and views of waves: the first wrong component, the model's line, the marker where the value is wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pywellen
from support import write_rtl

from mase_hw.ir import Design, full_range
from mase_hw.ir.design import BuiltNode
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.affine import align
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.simulate import simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.locate import located
from mase_hw.simulate.outcome import Outcome
from mase_hw.simulate.stimulus import stimulus
from mase_hw.simulate.views import View, gtkwave, surfer, write_views

F8 = Fixed(8, 4)
VIEWS = [View("view_s_a", "a (input)", 2), View("view_s_b", "b (fc)", 1)]


def test_a_group_for_each_stream_and_a_marker(tmp_path: Path) -> None:
    waves = tmp_path / "waves.fst"
    saved, commands = write_views(waves, VIEWS, 77)
    lines = saved.read_text().splitlines()
    assert lines[:2] == [f'[dumpfile] "{waves}"', f'[savefile] "{saved}"']
    assert "[timestart] 37" in lines
    assert next(line for line in lines if line.startswith("*")).split()[1] == "77"
    first = lines.index("-a (input)")
    assert lines[first - 1] == "@800200"
    assert [line for line in lines[first:] if line.startswith("mase_harness")][:4] == [
        f"mase_harness.view_s_a.{name}" for name in ("valid", "ready", "lane_0", "lane_1")
    ]
    assert lines.count("-b (fc)") == 2
    orders = commands.read_text().splitlines()
    assert orders[-2:] == ["cursor_set 77", "goto_cursor"]
    assert "divider_add b_fc" in orders
    # What Surfer 0.4.0 knows, and how it reads: a word for a divider, the rest of the line for a variable's path.
    shapes = r"variable_add [\w.]+|divider_add \w+|zoom_fit|zoom_in|cursor_set \d+|goto_cursor"
    assert [line for line in orders if not re.fullmatch(shapes, line)] == []


def test_without_a_fault_there_is_no_marker(tmp_path: Path) -> None:
    assert "cursor_set" not in surfer(VIEWS, None)
    assert "*-3.0 -1 " in gtkwave(tmp_path / "w.fst", tmp_path / "w.gtkw", VIEWS, None)


def two_layers() -> Design:
    rng = np.random.default_rng(3)
    first = unrolled(
        "fc1",
        full_range("data_in_0", 3, 3, F8),
        rng.integers(-9, 10, (2, 3)),
        rng.integers(-50, 50, 2),
        align(F8, F8, F8),
        Result(F8, Rounding.HALF_EVEN),
    )
    second = unrolled(
        "fc2",
        first.output,
        rng.integers(-9, 10, (2, 2)),
        rng.integers(-50, 50, 2),
        align(F8, F8, F8),
        Result(Fixed(10, 4), Rounding.FLOOR),
    )
    second = replace(second, outputs=(second.output.renamed("data_out_0"),))
    types = {"data_in": F8, "weight": F8, "bias": F8, "data_out": F8}
    nodes = [
        BuiltNode(
            name=name,
            op="linear",
            implementation="unrolled",
            data_in_parallelism=3,
            data_out_parallelism=2,
            components=(name,),
            source=f"net.py:{line}",
            **types,
        )
        for name, line in (("fc1", 12), ("fc2", 13))
    ]
    return Design("dut", (first, second), tuple(nodes))


def simulated(design: Design, tmp: Path, broken: bool, waves: str = "w") -> Outcome:
    files = write_rtl(design, tmp / "rtl")
    if broken:
        file = next(path for path in files if path.name == "dut_fc1.sv")
        text = file.read_text()
        assert "n0_sum = " in text
        head, _, tail = text.partition("n0_sum = ")
        file.write_text(f"{head}n0_sum = ~({tail.replace(';', ');', 1)}")
    job = make_job(design, tuple(files), stimulus(design, 12, 0), SimRequest(patterns=("none", "both")), tmp / waves)
    return located(design, simulate(job, tmp / "sim"))


@pytest.mark.slow
def test_a_fault_is_shown_with_its_line_and_marked_in_the_waves(tmp_path: Path) -> None:
    design = two_layers()
    outcome = simulated(design, tmp_path, broken=True)
    assert not outcome.passed
    assert all("fc1_out (fc1): vector" in line for line in outcome.failures)
    assert all(line.endswith("made by fc1, the linear at net.py:12") for line in outcome.failures)
    wrong = next(s for s in outcome.pattern("none").streams if s.mismatch)
    assert wrong.mismatch is not None
    assert outcome.waves is not None
    lines = outcome.waves.with_suffix(".gtkw").read_text().splitlines()
    mark = int(next(line for line in lines if line.startswith("*")).split()[1])
    seen = at(outcome.waves, mark)
    assert {line for line in lines if line.startswith("mase_harness")} <= set(seen)
    lane = seen[f"mase_harness.view_s_fc1_out.lane_{wrong.mismatch.lane}"]
    assert float(lane) == wrong.mismatch.got / 16
    assert seen["mase_harness.view_s_fc1_out.valid"] == seen["mase_harness.view_s_fc1_out.ready"] == "1"
    before = at(outcome.waves, mark - 2)[f"mase_harness.view_s_fc1_out.lane_{wrong.mismatch.lane}"]
    assert float(before) != wrong.mismatch.got / 16


@pytest.mark.slow
def test_a_sound_design_has_views_without_a_marker(tmp_path: Path) -> None:
    outcome = simulated(two_layers(), tmp_path, broken=False)
    assert outcome.passed, outcome.failures
    assert outcome.waves is not None
    assert "cursor_set" not in outcome.waves.with_suffix(".sucl").read_text()


@pytest.mark.nightly
def test_the_fst_file_says_what_the_vcd_file_says(tmp_path: Path) -> None:
    """Every scope, width, real lane and change, and the time scale; read with the library that Surfer reads with."""
    design = two_layers()
    fst = simulated(design, tmp_path / "fst", broken=True).waves
    vcd = simulated(design, tmp_path / "vcd", broken=True, waves="w.vcd").waves
    assert fst is not None
    assert vcd is not None
    assert (fst.name, vcd.name) == ("w.fst", "w.vcd")
    one, other = pywellen.Waveform(str(fst)), pywellen.Waveform(str(vcd))
    assert (str(one.file_format), str(other.file_format)) == ("FST", "VCD")
    assert str(one.timescale) == str(other.timescale) == "1ns"
    assert {scope.full_name for scope in one.all_scopes()} == {scope.full_name for scope in other.all_scopes()}
    seen, wanted = changes(one), changes(other)
    assert seen == wanted
    lanes = [name for name in seen if ".lane_" in name]
    assert len(lanes) == 7
    assert all(kind == "real" and len(values) > 12 for kind, values in map(seen.__getitem__, lanes))


def changes(waves: pywellen.Waveform) -> dict[str, tuple[str, list[tuple[int, object]]]]:
    """Every signal: its width, and when it takes which value."""
    return {
        var.full_name: ("real" if var.is_real else str(var.bitwidth), [(time, value) for time, value in var.signal])
        for var in waves.all_vars()
    }


def at(waves: Path, time: int) -> dict[str, str]:
    """The value of every signal at a time."""
    values = {}
    for var in pywellen.Waveform(str(waves)).all_vars():
        before = [value for when, value in var.signal if when <= time]
        if before:
            values[var.full_name] = str(before[-1])
    return values
