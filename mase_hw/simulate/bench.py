"""Simulates a design under cocotb and Verilator: writes the job, builds, runs, and reads what was found."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from mase_hw import resources
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.isolated import tool_environment
from mase_hw.simulate import toolchain, verilate
from mase_hw.simulate.job import Job, Pattern, check_job, write_job
from mase_hw.simulate.locate import fault
from mase_hw.simulate.outcome import Outcome, read_results
from mase_hw.simulate.process import Finished, run
from mase_hw.simulate.views import View, write_views

_GIVEN = ("job.json", "values.npz")  # what the simulator reads
LIBRARY = ("mase_stream_stall.sv", "mase_stream_source.sv", "mase_stream_sink.sv", "mase_stream_probe.sv")


def simulate(job: Job, work: Path, cache: Path | None = None) -> Outcome:
    """Runs the job in the folder `work`, which keeps the job, the log and the results."""
    check_job(job)
    tools = toolchain.find()
    clear(work)
    write_job(job, work)
    files = (*job.files, *(resources.sim() / name for name in LIBRARY), work / "mase_harness.sv")
    outcome = run_bench(files, "mase_harness", "sim.bench", job.patterns, job.seed, work, tools, cache, job.waves)
    if outcome.waves is not None and outcome.waves.exists():
        views = [View(f"view_{s.id}", f"{s.name} ({s.label})", s.lanes) for s in job.streams]
        faults = [fault(result) for result in outcome.patterns if result.message]
        marks = [found.time for found in faults if found is not None and found.time is not None]
        write_views(outcome.waves, views, next(iter(marks), None))
    return outcome


def clear(work: Path) -> None:
    """Makes the folder, and removes what another run left in it: what is written then are new files, never links."""
    if work.is_symlink():
        hint = "delete it: results are written inside the build alone"
        raise ProblemsError(Problem(f"{work} is a link, not a folder", hint=hint))
    work.mkdir(parents=True, exist_ok=True)
    left = [stale for pattern in ("results.*", "*.bin", "*_harness.sv") for stale in work.glob(pattern)]
    for stale in (*left, *(work / name for name in ("sim.log", "job.json", "values.npz"))):
        stale.unlink(missing_ok=True)


def run_bench(
    files: Sequence[Path],
    toplevel: str,
    module: str,
    patterns: tuple[Pattern, ...],
    seed: int,
    work: Path,
    tools: toolchain.Toolchain,
    cache: Path | None = None,
    asked_waves: Path | None = None,
) -> Outcome:
    """Builds `toplevel`, runs the cocotb tests of `module` on it in the folder `work`, and reads what they found."""
    trace, waves = _waves(asked_waves)
    started = time.perf_counter()
    executable = verilate.build(files, toplevel, cache, trace, tools)
    built = time.perf_counter()
    command = [str(executable), "+verilator+rand+reset+2", f"+verilator+seed+{seed % (2**31 - 1) + 1}"]
    # A failing assertion of the design is counted and printed; the run goes on, so that the streams are compared.
    command += ["+verilator+error+limit+1000"]
    if waves is not None:
        waves.parent.mkdir(parents=True, exist_ok=True)
        waves.unlink(missing_ok=True)
        command += ["--trace", "--trace-file", str(waves.resolve())]
    done = _run_aside(command, work, _environment(tools, seed, toplevel, module))
    ended = time.perf_counter()
    log = work / "sim.log"
    log.write_text(done.text, encoding="utf-8")
    results, torch_imported, failures = read_results(work, patterns)
    failures += [line for line in done.text.splitlines() if "%Error" in line][:3]
    if done.code != 0 and not failures:
        failures.append("every pattern passed, yet the simulator did not end well")
    if len(results) < len(patterns):
        failures.append(f"the simulator ended with code {done.code}; the end of {log}:\n{done.tail()}")
    return Outcome(
        passed=not failures,
        failures=tuple(failures),
        patterns=results,
        torch_imported=torch_imported,
        log=log,
        waves=waves,
        build_seconds=built - started,
        run_seconds=ended - built,
    )


def _run_aside(command: Sequence[str], work: Path, environment: Mapping[str, str]) -> Finished:
    """Runs the simulator in a folder of ours, and puts what it wrote into `work`, also where it was interrupted.

    cocotb imports from the current folder first, and `work` lies in a build, which may come from elsewhere.
    """
    with tempfile.TemporaryDirectory(prefix="mase-hw-sim-") as folder:
        place = Path(folder)
        for name in _GIVEN:
            shutil.copyfile(work / name, place / name)
        try:
            return run(command, cwd=place, env=environment)
        finally:
            for file in place.iterdir():
                if file.is_file() and file.name not in _GIVEN:
                    (work / file.name).unlink(missing_ok=True)
                    shutil.move(file, work / file.name)


def _waves(asked: Path | None) -> tuple[verilate.Trace, Path | None]:
    """The wave format by the file's suffix; without one, FST."""
    if asked is None:
        return "none", None
    if asked.suffix == ".vcd":
        return "vcd", asked
    return "fst", asked if asked.suffix == ".fst" else asked.with_name(asked.name + ".fst")


def _environment(tools: toolchain.Toolchain, seed: int, toplevel: str, module: str) -> dict[str, str]:
    """What cocotb's own runner sets, without what a user's shell may hold to steer other cocotb runs.

    The path holds this package's own folder and nothing of the current one, which may lie in a build from elsewhere.
    """
    return tool_environment(
        {
            "COCOTB_TOPLEVEL": toplevel,
            "COCOTB_TEST_MODULES": module,
            "COCOTB_RESULTS_FILE": "results.xml",
            "COCOTB_RANDOM_SEED": str(seed),
            "COCOTB_ANSI_OUTPUT": "0",
            "COCOTB_REWRITE_ASSERTION_FILES": "",  # or cocotb imports pytest, which costs 0.3 s
            "COCOTB_TRUST_INERTIAL_WRITES": "1",
            "TOPLEVEL_LANG": "verilog",
            "GPI_USERS": f"{tools.libpython};{tools.python_plugin},initialize",
            "PYGPI_PYTHON_BIN": sys.executable,
            "PYTHONPATH": str(resources.root()),
        }
    )
