"""Designs with branches and several ports in both engines: each port with its own stalls, cycles and values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import branching
import numpy as np
import pytest
from support import assert_yosys_elaborates, write_rtl
from together import assert_all_equal

from mase_hw.ir import BuiltNode, Design
from mase_hw.numerics import Fixed
from mase_hw.simulate import PATTERNS, Outcome, lint, simulate
from mase_hw.simulate import native as engine
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.locate import located, where
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.stimulus import stimulus


def native(design: Design, files: list[Path], work: Path, vectors: int = 300, seed: int = 0) -> Outcome:
    return simulate_native(design, tuple(files), blocks(design, vectors, seed), PATTERNS, seed, work)


@pytest.mark.parametrize("make", branching.ALL)
def test_rtl_is_clean(tmp_path: Path, make: Callable[[], Design]) -> None:
    design = make()
    files = write_rtl(design, tmp_path)
    assert lint(files, design.name) == []
    own = [path for path in files if not path.name.startswith("mase_") and path.name != f"{design.name}.sv"]
    made = {f"{design.name}_{c.name}.sv" for c in design.components if c.kind in ("fork", "concat", "concat_wide")}
    assert made <= {path.name for path in own}
    for path in own:
        if path.name in made:
            assert max(map(len, path.read_text().splitlines())) <= 100, path.name


@pytest.mark.slow
def test_values_and_cycles_at_every_port(tmp_path: Path) -> None:
    assert_all_equal({make.__name__: make() for make in branching.ALL}, tmp_path)


@pytest.mark.slow
def test_yosys_elaborates(tmp_path: Path) -> None:
    for make in (branching.crossed, branching.met):
        design = make()
        assert_yosys_elaborates(write_rtl(design, tmp_path / design.name), design.name)


@pytest.mark.slow
@pytest.mark.parametrize("make", [branching.queued, branching.split, branching.crossed, branching.turns])
def test_the_native_engine_passes(tmp_path: Path, make: Callable[[], Design]) -> None:
    design = make()
    outcome = native(design, write_rtl(design, tmp_path / "rtl"), tmp_path / "n")
    assert outcome.passed, outcome.failures
    samples = blocks(design, 300, 0).vectors
    none = outcome.pattern("none")
    assert (none.latency, none.interval) == (design.schedule.latency, design.schedule.interval)
    assert len({result.cycles for result in outcome.patterns}) == 4
    for result in outcome.patterns:
        assert result.vectors == samples
        assert [s.name for s in result.streams] == [s.name for s in (*design.inputs, *design.outputs)]
        counts = [samples * y.positions * y.features for y in design.outputs]
        assert [s.equal for s in result.outputs()] == counts


@pytest.mark.slow
def test_both_engines_stall_every_port_in_the_same_cycles(tmp_path: Path) -> None:
    design = branching.crossed()
    files = write_rtl(design, tmp_path / "rtl")
    ours = native(design, files, tmp_path / "n", vectors=60, seed=3)
    job = make_job(design, tuple(files), stimulus(design, 60, 3), SimRequest(seed=3), None)
    other = simulate(job, tmp_path / "cocotb")
    assert ours.passed, ours.failures
    assert other.passed, other.failures
    figures = [[(r.pattern, r.latency, r.cycles, r.interval) for r in each.patterns] for each in (ours, other)]
    # In stalled patterns an interval means nothing, and only the cocotb engine looks for one.
    assert figures[0][0] == figures[1][0]
    assert [row[:3] for row in figures[0]] == [row[:3] for row in figures[1]]


@pytest.mark.slow
def test_blocks_join_without_a_seam_at_every_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that is ahead of the other wants its next block first, and nothing is lost or doubled."""
    design = branching.turns()
    files = write_rtl(design, tmp_path / "rtl")
    whole = native(design, files, tmp_path / "n")
    monkeypatch.setattr(engine, "BLOCK", 7)
    cut = native(design, files, tmp_path / "n")
    assert cut.passed, cut.failures
    assert [(r.cycles, r.end_cycle) for r in whole.patterns] == [(r.cycles, r.end_cycle) for r in cut.patterns]


BROKEN = {
    # What is changed in crossed_copies.sv, how each engine begins, and which stream the probes blame.
    "a wrong value": (
        "assign data_out_1 = out_q;",
        "assign data_out_1 = out_q ^ 16'd2;",
        "none: data_out_1 (joined): sample 2 row 0 column 0 channel 2 (lane 0): expected 0, got 1, cycle 41",
        "none: copies_out_1 (copies): sample 0 row 0 column 0 channel 0 (lane 0): expected -128, got -126, cycle 1; "
        "made by copies",
    ),
    "a branch that never comes": (
        "assign data_out_0_valid = pending_q[0];",
        "assign data_out_0_valid = 1'b0;",
        "none: hang: no port moved for ",
        "none: hang: no stream moved for ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_wrong_branch_is_named(tmp_path: Path, name: str) -> None:
    design = branching.crossed()
    files = write_rtl(design, tmp_path / "rtl")
    right, wrong, ours, probed = BROKEN[name]
    file = tmp_path / "rtl" / "crossed_copies.sv"
    assert right in file.read_text()
    file.write_text(file.read_text().replace(right, wrong))
    outcome = native(design, files, tmp_path / "n", vectors=20)
    assert outcome.failures[0].startswith(ours), outcome.failures
    job = make_job(design, tuple(files), stimulus(design, 20, 0), SimRequest(patterns=("none",)), None)
    found = located(design, simulate(job, tmp_path / "cocotb"))
    assert found.failures[0].startswith(probed), found.failures
    if "hang" in probed:
        assert "copies_out_0 (copies) stopped after 0 of " in found.failures[0]
        assert "data_out_0 stopped after 0 of " in outcome.failures[0]


def test_every_output_of_a_component_has_a_maker() -> None:
    design = branching.split()
    fixed = Fixed(8, 4)
    node = BuiltNode("add", "add", "", 2, 2, fixed, None, None, fixed, ("copies",), "net.py:7")
    placed = Design(design.name, design.components, (node,))
    assert where(placed, "data_out_1") == "made by copies of add, the add at net.py:7"
    assert where(placed, "copies_out_1") == "made by copies of add, the add at net.py:7"
    assert where(placed, "data_in_0") is None


def test_samples_of_several_inputs_come_apart_and_together() -> None:
    design = branching.crossed()
    made, whole = blocks(design, 40, 1), stimulus(design, 40, 1)
    parts = list(made(9))
    for k, rows in enumerate(whole.inputs):
        assert rows.shape == (whole.samples * 6, design.inputs[k].features)
        assert np.array_equal(np.concatenate([part[k] for part in parts]), rows)
