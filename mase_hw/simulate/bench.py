"""Simulates a design under cocotb and Verilator: writes the job, builds, runs, and reads what was found."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import jinja2
import numpy as np
import numpy.typing as npt

from mase_hw import resources
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.simulate import toolchain, verilate
from mase_hw.simulate.isolated import tool_environment
from mase_hw.simulate.locate import fault
from mase_hw.simulate.outcome import Outcome, read_results
from mase_hw.simulate.process import Finished, run
from mase_hw.simulate.views import View, write_views

Integers = npt.NDArray[np.int64]
Role = Literal["input", "output", "probe"]
Pattern = Literal["none", "gaps", "pressure", "both"]

PATTERNS: tuple[Pattern, ...] = ("none", "gaps", "pressure", "both")
_GIVEN = ("job.json", "values.npz")  # what the simulator reads
LIBRARY = ("mase_stream_stall.sv", "mase_stream_source.sv", "mase_stream_sink.sv", "mase_stream_probe.sv")


@dataclass(frozen=True)
class StreamSpec:
    """A stream of the design: a port of the top module, or (role `probe`) a signal triple inside it.

    `label` is what a failure calls it: the node it comes from. A probe's name may be a path (`u_fc1.acc`).
    """

    name: str
    label: str
    role: Role
    lanes: int
    width: int
    signed: bool = True
    frac: int = 0
    frame: tuple[int, ...] = ()
    axes: tuple[str, ...] = ()  # names of the frame's dimensions and of what a vector holds

    @property
    def id(self) -> str:
        return "s_" + self.name.replace(".", "__")  # cocotb does not reach names that start with an underscore


@dataclass(frozen=True)
class Job:
    """One simulation. `streams` are in design order: the first wrong one is the one a failure names.

    `values` holds what each stream carries, [vectors, features], the same number of vectors for each of the samples;
    for inputs it is the stimulus. `samples` left out, every vector is one. `predicted` holds, for the streams that have
    a prediction, the cycle of every beat counted from the first input beat taken; it is checked in the unstalled
    pattern.
    """

    files: tuple[Path, ...]
    top: str
    streams: tuple[StreamSpec, ...]
    values: Mapping[str, Integers]
    predicted: Mapping[str, Integers] | None = None
    patterns: tuple[Pattern, ...] = PATTERNS
    seed: int = 0
    watchdog: int = 10_000
    drain: int = 64  # cycles to go on after the last beat, to see beats that nobody asked for
    fill: int = 64  # cycles in which the design fills up when its output is blocked
    waves: Path | None = field(default=None)
    checks: bool = False  # the top has assertions on its streams, which its parameter CheckStreams turns on
    samples: int | None = None

    @property
    def sample_count(self) -> int:
        return len(self.values[self.streams[0].name]) if self.samples is None else self.samples


def simulate(job: Job, work: Path, cache: Path | None = None) -> Outcome:
    """Runs the job in the folder `work`, which keeps the job, the log and the results."""
    _check(job)
    tools = toolchain.find()
    clear(work)
    _write_job(job, work)
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


def harness(job: Job) -> str:
    """The test bench's top module."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.sim()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    streams = [
        {
            "id": s.id,
            "name": s.name,
            "label": s.label,
            "role": s.role,
            "bits": s.lanes * s.width,
            "lanes": s.lanes,
            "width": s.width,
            "signed": s.signed,
            "scale": repr(2.0**-s.frac),
            "salt": zlib.crc32(s.id.encode()),  # each end of a stream stalls in its own cycles
        }
        for s in job.streams
    ]
    return environment.get_template("harness.sv.j2").render(
        top=job.top, streams=streams, views=job.waves is not None, checks=job.checks
    )


def _check(job: Job) -> None:
    """Our own mistakes, caught before they look like the design's."""
    assert job.patterns, "no stall pattern"
    assert any(s.role == "input" for s in job.streams), "no input stream"
    assert any(s.role == "output" for s in job.streams), "no output stream"
    assert len({s.id for s in job.streams}) == len(job.streams), "two streams with one name"
    samples = job.sample_count
    assert samples, "no vectors"
    for s in job.streams:
        values = job.values[s.name]
        assert values.dtype == np.int64, f"{s.name}: {values.dtype}, not int64"
        assert values.ndim == 2, f"{s.name}: {values.ndim} dimensions, not [vectors, features]"
        assert len(values) > 0, f"{s.name}: no vectors"
        assert len(values) % samples == 0, f"{s.name}: {len(values)} vectors of {samples} samples"
        assert values.shape[1] % s.lanes == 0, f"{s.name}: {s.lanes} lanes do not divide {values.shape[1]}"
        assert 1 <= s.width <= 64, f"{s.name}: {s.width} bits"
        if s.width < 64:
            low, high = (-(1 << s.width - 1), (1 << s.width - 1) - 1) if s.signed else (0, (1 << s.width) - 1)
            assert low <= values.min(), f"{s.name}: {values.min()} is below {low}"
            assert values.max() <= high, f"{s.name}: {values.max()} is above {high}"
    strangers = set(job.predicted or ()) - {s.name for s in job.streams}
    assert not strangers, f"cycles predicted for unknown streams {sorted(strangers)}"


def _write_job(job: Job, work: Path) -> None:
    document = {
        "streams": [{**asdict(s), "id": s.id} for s in job.streams],
        "patterns": job.patterns,
        "samples": job.sample_count,
        "seed": job.seed,
        "watchdog": job.watchdog,
        "drain": job.drain,
        "fill": job.fill,
    }
    arrays: dict[str, Integers] = {}
    for index, s in enumerate(job.streams):
        arrays[f"values.{index}"] = job.values[s.name]
        if job.predicted is not None and s.name in job.predicted:
            arrays[f"cycles.{index}"] = np.asarray(job.predicted[s.name], np.int64)
    (work / "job.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    with (work / "values.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    (work / "mase_harness.sv").write_text(harness(job), encoding="utf-8")


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
