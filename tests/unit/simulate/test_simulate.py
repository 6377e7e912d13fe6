"""Whole simulations of tiny designs: the right one passes everywhere, every wrong one fails and is named."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mase_hw import resources
from mase_hw.diagnostics import ProblemsError
from mase_hw.simulate import PATTERNS, harness, lint, simulate, verilate
from mase_hw.simulate.bench import LIBRARY
from tests.unit.simulate.duts import SHAPES, job, two_stages, values, wrong_stages

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "lanes", "signed"), SHAPES)
def test_a_right_design_passes_in_every_pattern(tmp_path: Path, width: int, lanes: int, signed: bool) -> None:
    carried = values(40, 2 * lanes, width, signed)
    outcome = simulate(job(two_stages(tmp_path, width * lanes), carried, lanes, width, signed), tmp_path / "run")
    assert outcome.failures == ()
    assert outcome.passed
    assert [result.pattern for result in outcome.patterns] == list(PATTERNS)
    for result in outcome.patterns:
        assert [(s.compared, s.equal) for s in result.streams] == [(carried.size, carried.size)] * 3
    none = outcome.pattern("none")
    assert (none.latency, none.interval, none.cycles) == (2, 2, 2 * 40 - 1 + 2)
    assert all(outcome.pattern(name).cycles > none.cycles for name in ("gaps", "pressure", "both"))  # they do stall
    assert not outcome.torch_imported


# How the first failure begins.
SAID = {
    "a wrong value": "none: data_out_0 (fc2): vector 3 element 5 (lane 1): expected ",
    "a wrong value inside": "none: a (fc1): vector 0 element ",
    "a dropped beat": "none: data_out_0 (fc2): vector 3 element 0 (lane 0): expected ",
    "a beat too many": "none: data_out_0 (fc2): 145 beats came, 80 are expected",
    "a hang": "none: hang: "
    "no stream moved for 300 cycles (cycle 316 after reset); a (fc1) stopped after 11 of 80 beats, "
    "nothing is offered [data_in_0 11/80 valid=1 ready=0, a 11/80 valid=0 ready=1, data_out_0 11/80 valid=0 ready=1]",
    "data that changes while stalled": "pressure: data_out_0 (fc2): stream rule broken at cycle ",
    "valid that falls while stalled": "pressure: data_out_0 (fc2): stream rule broken at cycle ",
    "late once": "none: a (fc1): beat 20 is predicted at cycle 21 and came at cycle 22",
    "a register that is never set": "none: data_out_0 (fc2): vector 0 element 0 (lane 0): ",
    "an assertion of the design's own": "] %Error: two_stages.sv:33: Assertion failed in mase_harness.dut.a_few",
}


@pytest.mark.parametrize("name", SAID)
def test_a_wrong_design_fails_and_is_named(tmp_path: Path, name: str) -> None:
    source = wrong_stages(tmp_path, name, 80)
    outcome = simulate(job(source, values(40, 8, 8, True), 4, 8), tmp_path / "run")
    assert not outcome.passed
    assert outcome.failures[0].lstrip("[0123456789").startswith(SAID[name]), (
        outcome.failures
    )  # [time] as Verilator has it
    assert all("\n" not in failure for failure in outcome.failures)


def test_a_late_design_fails_only_by_its_cycles(tmp_path: Path) -> None:
    carried = values(10, 8, 8, True)
    late = {"data_out_0": np.arange(20) + 3}
    outcome = simulate(job(two_stages(tmp_path, 32), carried, 4, 8, predicted=late), tmp_path / "run")
    assert outcome.failures == ("none: data_out_0 (fc2): beat 0 is predicted at cycle 3 and came at cycle 2",)
    assert [result.passed for result in outcome.patterns] == [False, True, True, True]


def test_same_seed_same_cycles(tmp_path: Path) -> None:
    source, carried = two_stages(tmp_path, 32), values(40, 8, 8, True)
    seen = [
        [r.end_cycle for r in simulate(job(source, carried, 4, 8, seed=seed), tmp_path / "run").patterns]
        for seed in (5, 5, 6)
    ]
    assert seen[0] == seen[1]
    assert seen[0][0] == seen[2][0]
    assert all(a != b for a, b in zip(seen[0][1:], seen[2][1:], strict=True))


def test_a_second_build_calls_no_compiler_and_a_changed_one_is_quick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = two_stages(tmp_path, 16)
    one = verilate.build([source], "two_stages")
    with monkeypatch.context() as patch:
        patch.setattr(verilate, "run_all", lambda *_, **__: pytest.fail("the compiler was called"))
        patch.setattr(verilate, "run", lambda *_, **__: pytest.fail("verilator was called"))
        moved = tmp_path / "elsewhere"
        moved.mkdir()
        assert verilate.build([source], "two_stages") == one
        assert verilate.build([source.rename(moved / source.name)], "two_stages") == one
    changed = two_stages(tmp_path, 16, b_data=f"a + 16'd{os.getpid() % 65536}")
    assert verilate.build([changed], "two_stages") != one


def test_a_syntax_error_points_into_the_file(tmp_path: Path) -> None:
    source = two_stages(tmp_path, 16, b_data="a +* 1")
    with pytest.raises(ProblemsError) as raised:
        verilate.build([source], "two_stages")
    assert raised.value.problems[0].where is not None
    assert (raised.value.problems[0].where.path, raised.value.problems[0].where.line) == (source, 17)


def test_a_compiler_that_fails_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "fake-c++"
    fake.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo fake 1.0 && exit 0\necho 'x.h:1: error: no C++20' >&2; exit 4\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    with pytest.raises(ProblemsError, match=r"fake 1.0 failed with exit code 4(.|\n)*x.h:1: error: no C\+\+20"):
        verilate.build([two_stages(tmp_path, 16)], "two_stages", cache=tmp_path / "cache")
    assert not list((tmp_path / "cache" / "designs").iterdir())  # nothing half-made stays


@pytest.mark.nightly
def test_waves(tmp_path: Path) -> None:
    asked = job(two_stages(tmp_path, 32), values(4, 8, 8, True), 4, 8, waves=tmp_path / "out" / "run.vcd")
    outcome = simulate(asked, tmp_path / "run")
    assert outcome.passed
    assert outcome.waves == tmp_path / "out" / "run.vcd"
    assert "data_out_0_valid" in outcome.waves.read_text()


def test_a_simulator_that_dies_is_a_failure_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho last words\nexit 0\n")
    fake.chmod(0o755)
    monkeypatch.setattr(verilate, "build", lambda *_: fake)
    outcome = simulate(job(two_stages(tmp_path, 32), values(4, 8, 8, True), 4, 8), tmp_path / "run")
    assert not outcome.passed
    assert outcome.failures[0] == "results.xml was not written: the simulator did not reach its end"
    assert "last words" in outcome.failures[-1]


def test_an_interrupt_leaves_no_simulator(tmp_path: Path) -> None:
    script = tmp_path / "host.py"
    script.write_text("from mase_hw.simulate.process import run\nrun(['sh', '-c', 'echo $$ > pid; exec sleep 60'])\n")
    environment = {**os.environ, "PYTHONPATH": str(resources.root())}
    host = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    pid = tmp_path / "pid"
    while not (pid.is_file() and pid.read_text().strip()):
        time.sleep(0.01)
    host.send_signal(2)
    assert host.wait(timeout=600) != 0
    with pytest.raises(ProcessLookupError):
        os.killpg(int(pid.read_text()), 0)


def test_the_bench_is_lint_clean(tmp_path: Path) -> None:
    asked = job(two_stages(tmp_path, 30), values(4, 6, 10, True), 3, 10)
    top = tmp_path / "mase_harness.sv"
    top.write_text(harness(asked))
    files = [*asked.files, *(resources.sim() / name for name in LIBRARY), top]
    assert [str(p) for p in lint(files, "mase_harness") if p.where and p.where.path != asked.files[0]] == []
