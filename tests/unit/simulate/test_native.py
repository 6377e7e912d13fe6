"""The native engine on tiny designs: as the cocotb engine, cycle for cycle; every wrong design fails and is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mase_hw.ir import Design
from mase_hw.ir.plumbing import SkidBuffer
from mase_hw.ir.stream import full_range
from mase_hw.numerics import Fixed
from mase_hw.simulate import PATTERNS, Outcome, simulate
from mase_hw.simulate import native as engine
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.stimulus import stimulus
from tests.unit.simulate.duts import SHAPES, two_stages, wrong_stages

pytestmark = pytest.mark.slow


def design_of(lanes: int, width: int, signed: bool = True) -> Design:
    """What `two_stages` is: two stages that change nothing, two beats a vector."""
    x = full_range("data_in_0", 2 * lanes, lanes, Fixed(width, 0, signed))
    stages = (
        SkidBuffer("one", (x,), (x.renamed("a"),)),
        SkidBuffer("two", (x.renamed("a"),), (x.renamed("data_out_0"),)),
    )
    return Design("two_stages", stages)


def run(design: Design, source: Path, folder: Path, vectors: int = 200, seed: int = 0) -> Outcome:
    return simulate_native(design, (source,), blocks(design, vectors, seed), PATTERNS, seed, folder / "native")


@pytest.mark.parametrize(("width", "lanes", "signed"), SHAPES)
def test_a_right_design_passes_in_every_pattern(tmp_path: Path, width: int, lanes: int, signed: bool) -> None:
    design = design_of(lanes, width, signed)
    outcome = run(design, two_stages(tmp_path, width * lanes), tmp_path)
    assert outcome.failures == ()
    assert outcome.passed
    vectors = blocks(design, 200, 0).vectors
    for result in outcome.patterns:
        assert result.vectors == vectors
        assert [(s.compared, s.equal) for s in result.outputs()] == [(vectors * 2 * lanes, vectors * 2 * lanes)]
    none = outcome.pattern("none")
    assert (none.latency, none.interval, none.cycles) == (2, 2, 2 * vectors - 1 + 2)


def test_both_engines_stall_in_the_same_cycles(tmp_path: Path) -> None:
    design, source = design_of(4, 8), two_stages(tmp_path, 32)
    native = run(design, source, tmp_path, vectors=500, seed=3)
    job = make_job(design, (source,), stimulus(design, 500, 3), SimRequest(seed=3), None)
    other = simulate(job, tmp_path / "cocotb")
    assert other.passed, other.failures
    assert [(r.pattern, r.latency, r.cycles) for r in native.patterns] == [
        (r.pattern, r.latency, r.cycles) for r in other.patterns
    ]
    assert len({r.cycles for r in native.patterns}) == 4


def test_blocks_join_without_a_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cycles of a run do not depend on how the vectors were cut."""
    design, source = design_of(4, 8), two_stages(tmp_path, 32)
    whole = run(design, source, tmp_path, vectors=3000)
    monkeypatch.setattr(engine, "BLOCK", 257)
    cut = run(design, source, tmp_path, vectors=3000)
    assert cut.passed, cut.failures
    assert [r.cycles for r in whole.patterns] == [r.cycles for r in cut.patterns]
    assert [r.end_cycle for r in whole.patterns] == [r.end_cycle for r in cut.patterns]


# How the first failure begins.
SAID = {
    "a wrong value": "none: data_out_0 (two): vector 3 element 5 (lane 1): expected ",
    "a dropped beat": "none: data_out_0 (two): vector 3 element ",
    "a beat too many": "none: data_out_0 (two): 506 beats came, 436 are expected",
    "a hang": "none: hang: no port moved for 1096 cycles "
    "(cycle 1110 after reset); data_out_0 stopped after 11 of 436 beats, nothing is offered "
    "[data_in_0 11/436 valid=1 ready=0, data_out_0 11/436 valid=0 ready=1]",
    "valid that waits for ready": "pressure: hang: no port moved for 1096 cycles",
    "data that changes while stalled": "pressure: data_out_0 (two): stream rule broken at cycle ",
    "valid that falls while stalled": "pressure: data_out_0 (two): stream rule broken at cycle ",
    "late once": "none: data_in_0 (input): beat 20 is predicted at cycle 20 and came at cycle 21",
    "a register that is never set": "none: data_out_0 (two): vector 0 element 0 (lane 0): ",
    "no reset": "none: data_out_0 (two): vector 0 element 0 (lane 0): ",
    "an assertion of the design's own": "none: the simulation failed at cycle 0 after reset: "
    "two_stages.sv:33: the design stopped the simulation",
}


@pytest.mark.parametrize("name", SAID)
def test_a_wrong_design_fails_and_is_named(tmp_path: Path, name: str) -> None:
    outcome = run(design_of(4, 8), wrong_stages(tmp_path, name, 436), tmp_path)
    assert not outcome.passed
    assert outcome.failures[0].startswith(SAID[name]), outcome.failures


def test_results_name_the_engine(tmp_path: Path) -> None:
    run(design_of(4, 8), two_stages(tmp_path, 32), tmp_path)
    document = json.loads((tmp_path / "native" / "results.json").read_text())
    assert (document["engine"], document["stopped"]) == ("native", False)
    assert [entry["pattern"] for entry in document["patterns"]] == list(PATTERNS)


def test_ctrl_c_keeps_what_was_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design = design_of(4, 8)
    monkeypatch.setattr(engine, "BLOCK", 100)

    def advance(done: int, _: int) -> None:
        if done == 8 * 100:  # two blocks in four patterns
            raise KeyboardInterrupt

    source = two_stages(tmp_path, 32)
    outcome = simulate_native(design, (source,), blocks(design, 900, 0), PATTERNS, 0, tmp_path / "n", advance=advance)
    assert outcome.stopped
    assert not outcome.passed
    assert outcome.failures == ()
    assert all(150 < result.vectors <= 200 for result in outcome.patterns), [r.vectors for r in outcome.patterns]
    assert not any(result.passed for result in outcome.patterns)
