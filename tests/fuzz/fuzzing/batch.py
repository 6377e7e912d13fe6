"""Several designs in one simulation: one Verilator, one compilation, one simulator process for all of them.

The designs stand side by side in a module of their own, each with its own sources, sinks and probes; they share the
clock, the reset and the stall patterns. Every stream of each is compared, and at the ends every cycle. Whatever is
wrong is run again alone, as `mase-hw sim` runs it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from fuzzing.cases import Case
from fuzzing.run import SECONDS, CaseFailedError, Result, emit_case, prove_case, simulate_alone, simulate_axis, within
from mase_hw.emit import Build
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate import Job, Outcome, StreamSpec, lint, simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import stimulus

TOP = "fuzz_batch"


@dataclass(frozen=True)
class Ran:
    """A case with what became of it and, where one was made, its build."""

    case: Case
    result: Result
    build: Build | None
    seconds: tuple[tuple[str, float], ...] = ()  # of processor time, by step: this process and what it started


def run_batch(
    cases: Sequence[Case],
    folder: Path,
    cache: Path | None = None,
    seconds: int = SECONDS,
    *,
    simulated: bool = True,
    proved: bool = True,
) -> list[Ran]:
    """Every case through every step, in the order given. A step may take so many seconds."""
    results: dict[int, Result] = {}
    builds: dict[int, Build] = {}

    def emitted(k: int) -> Result:
        built = emit_case(cases[k], folder / f"net{k}", f"net{k}")
        if isinstance(built, Result):
            return built
        builds[k] = built
        return Result("passed")

    spent: dict[int, dict[str, float]] = {k: {} for k in range(len(cases))}
    for k in range(len(cases)):
        with _timed(spent[k], "emit"):
            result = within(seconds, partial(emitted, k), "emit")
        if k not in builds:
            results[k] = result
    members = {k: (cases[k], builds[k]) for k in builds if simulated}
    for k, error in _simulate(members, folder / "sim", cache).items():
        results[k] = Result("failed", error.kind, error.detail)
    for k, build in builds.items():
        if k not in results:
            with _timed(spent[k], "prove"):
                results[k] = within(seconds, partial(_rest, cases[k], build, simulated, proved), "prove")
    return [Ran(case, results[k], builds.get(k), tuple(spent[k].items())) for k, case in enumerate(cases)]


@contextlib.contextmanager
def _timed(spent: dict[str, float], step: str) -> Iterator[None]:
    """What a step takes, for the log."""
    begun = sum(os.times()[:4])
    yield
    spent[step] = round(sum(os.times()[:4]) - begun, 1)


def _rest(case: Case, build: Build, simulated: bool, proved: bool) -> Result:
    if simulated:
        simulate_axis(case, build)
    return prove_case(build) if proved else Result("passed")


def _simulate(members: Mapping[int, tuple[Case, Build]], work: Path, cache: Path | None) -> dict[int, CaseFailedError]:
    """The members that fail, alone or only beside the others."""
    if not members:
        return {}
    outcome: Outcome | None = None
    text = "the batch does not simulate"
    try:
        job = batch_job(list(members.values()), work)
        if not (problems := lint(job.files, job.top)):
            outcome = simulate(job, work, cache)
        else:
            text = str(problems[0])
    except Exception as error:  # whatever one member brings about must not hide the others
        text = f"{type(error).__name__}: {error}"
    if outcome is not None and outcome.passed:
        return {}
    named = {s.name for p in outcome.patterns for s in p.streams if s.complaint} if outcome is not None else set()
    top = {k: build.design.name for k, (_, build) in members.items()}
    wrong = [k for k in members if any(n.startswith((f"{top[k]}__", f"u_{top[k]}.")) for n in named)]
    failed: dict[int, CaseFailedError] = {}
    for k in wrong or members:
        try:
            simulate_alone(*members[k])
        except CaseFailedError as error:
            failed[k] = error
    if not failed:
        text = outcome.failures[0].rstrip() if outcome is not None else text
        failed = {k: CaseFailedError("batch", f"alone it passes, beside others: {text}") for k in wrong or members}
    return failed


def batch_job(members: Sequence[tuple[Case, Build]], work: Path) -> Job:
    """The members' own jobs as one."""
    fixed = [stimulus(b.design, 0, c.sim_seed, _samples(b)).samples for c, b in members]
    count = max(f + c.vectors for f, (c, _) in zip(fixed, members, strict=True))  # all carry as many vectors
    streams: list[StreamSpec] = []
    values: dict[str, Integers] = {}
    predicted: dict[str, Integers] = {}
    files: dict[str, Path] = {}
    jobs = []
    for (case, build), known in zip(members, fixed, strict=True):
        vectors = stimulus(build.design, count - known, case.sim_seed, _samples(build))
        job = make_job(build.design, tuple(build.rtl), vectors, SimRequest(seed=case.sim_seed), None)
        jobs.append(job)
        for stream in job.streams:
            name = f"u_{job.top}.{stream.name}" if stream.role == "probe" else f"{job.top}__{stream.name}"
            streams.append(replace(stream, name=name))
            values[name] = job.values[stream.name]
            if job.predicted and stream.name in job.predicted:
                predicted[name] = np.asarray(job.predicted[stream.name])
        for path in job.files:
            same = files.setdefault(path.name, path)
            assert same.read_bytes() == path.read_bytes(), f"two files {path.name}"
    wrapper = work / f"{TOP}.sv"
    work.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_wrapper(jobs), encoding="utf-8")
    return Job(
        files=(*files.values(), wrapper),
        top=TOP,
        streams=tuple(streams),
        values=values,
        predicted=predicted,
        seed=members[0][0].sim_seed,
        watchdog=max(job.watchdog for job in jobs),
        drain=max(job.drain for job in jobs),
        fill=max(job.fill for job in jobs),
        samples=count,
    )


def _samples(build: Build) -> tuple[Integers, ...] | None:
    return None if build.samples is None else build.samples.inputs


def _wrapper(jobs: Sequence[Job]) -> str:
    ports, instances = [], []
    for job in jobs:
        ends = [stream for stream in job.streams if stream.role != "probe"]
        pins = []
        for stream in ends:
            into, back = ("input", "output") if stream.role == "input" else ("output", "input")
            port = f"{job.top}__{stream.name}"
            ports += [f"{into} logic [{stream.lanes * stream.width - 1}:0] {port}"]
            ports += [f"{into} logic {port}_valid", f"{back} logic {port}_ready"]
            pins += [f".{stream.name}{end}({port}{end})" for end in ("", "_valid", "_ready")]
        instances.append(f"  {job.top} u_{job.top} (.clk, .rst, {', '.join(pins)});")
    head = ",\n  ".join(["input logic clk", "input logic rst", *ports])
    return f"module {TOP} (\n  {head}\n);\n" + "\n".join(instances) + "\nendmodule\n"
