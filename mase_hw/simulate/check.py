"""Checks a build: the whole design, then each computing component alone, under every stall pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.render import render_alone
from mase_hw.emit.written import check_written
from mase_hw.files import write_whole
from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate import toolchain
from mase_hw.simulate.axis import fewer, find_cocotbext_axi, simulate_axis
from mase_hw.simulate.bench import simulate
from mase_hw.simulate.job import PATTERNS, Job, Pattern, Role, StreamSpec
from mase_hw.simulate.locate import located
from mase_hw.simulate.native import Advance, block_size, simulate_native
from mase_hw.simulate.native_stimulus import Blocks, blocks
from mase_hw.simulate.outcome import Outcome, PatternResult
from mase_hw.simulate.places import axes
from mase_hw.simulate.stimulus import Stimulus, stimulus
from mase_hw.simulate.verdict import begin
from mase_hw.simulate.whole import check_whole

DESIGN = "design"  # the bench of the whole design
AXIS = "axis"  # that of its AXI4-Stream top, where there is one
Progress = Callable[[str], None]
Engine = Literal["cocotb", "native"]
AROUND = 32  # vectors on each side of a failure that are run again with a probe on every stream


@dataclass(frozen=True)
class SimRequest:
    """What the user asks of a simulation."""

    vectors: int | None = None  # random ones, beside the others; left out, as many as are usual
    seed: int = 0
    patterns: tuple[Pattern, ...] = PATTERNS
    only: str | None = None  # one bench, "design" or a component; None: all of them
    waves: bool = False
    engine: Engine = "cocotb"
    samples: int | None = None  # of the data set, the first so many; left out, as many as are usual


@dataclass(frozen=True)
class Checked:
    """One bench that ran: the whole design, or one component of it."""

    name: str
    design: Design
    groups: tuple[tuple[str, int], ...]  # of the vectors: label and number
    outcome: Outcome

    @property
    def vectors(self) -> int:
        return sum(count for _, count in self.groups)


@dataclass(frozen=True)
class Bench:
    """What a bench simulates, and where."""

    name: str
    design: Design
    files: tuple[Path, ...]
    samples: Sequence[Integers] | None
    folder: Path


def check(
    build: Build,
    request: SimRequest,
    progress: Progress = lambda _: None,
    advance: Advance = lambda _done, _all: None,
) -> Iterator[Checked]:
    """The benches of a build, one after the other. The native engine runs the whole design, unless one is named.

    `advance` is what the native engine tells how far it is.
    """
    check_whole(build)
    check_written(build)
    components = {c.name: c for c in build.design.components if not isinstance(c, Plumbing)}
    names = [DESIGN, *components] if len(build.design.components) > 1 and request.engine == "cocotb" else [DESIGN]
    axis = None
    if build.axis is not None and request.engine == "cocotb":
        axis = AXIS if AXIS not in components else build.axis.module
        names.insert(1, axis)
    if request.only is not None:
        there = [DESIGN, *([axis] if axis else []), *components]
        if request.only not in there:
            hint = nearest(request.only, there, "benches")
            raise ProblemsError(Problem(f"{build.path} has no bench {request.only}", hint=hint))
        names = [request.only]
    if axis in names:
        find_cocotbext_axi()  # before anything is simulated
    toolchain.find()
    for name in names:
        progress(name)
        pending = begin(build, _folder(build, name, axis, request.engine), name, request.engine, request.seed)
        if name == axis:
            checked = _check_axis(build, name, request)
        else:
            bench = _whole(build) if name == DESIGN else _component(build, components[name])
            native = request.engine == "native"
            checked = _check_native(bench, request, advance) if native else _check_cocotb(bench, request)
        pending.write(checked.groups, checked.outcome)
        yield checked


def _folder(build: Build, name: str, axis: str | None, engine: Engine) -> Path:
    """Where a bench leaves its results."""
    if name == axis:
        return build.results_folder("sim/axis")
    folder = "sim/design" if name == DESIGN else f"sim/components/{name}"
    return build.results_folder(f"{folder}/native" if engine == "native" else folder)


def _whole(build: Build) -> Bench:
    samples = None if build.samples is None else build.samples.inputs
    return Bench(DESIGN, build.design, tuple(build.rtl), samples, build.results_folder("sim/design"))


def _component(build: Build, component: Component) -> Bench:
    """The component's emitted module under a top of its own, driven over its whole input range."""
    design = alone(build.design, component)
    work = build.results_folder(f"sim/components/{component.name}")
    wrapper = work / f"{design.name}.sv"
    write_whole(wrapper, render_alone(build.design, design))
    tops = {f"{build.design.name}.sv", build.axis.file if build.axis else ""}
    parts = [path for path in build.rtl if path.name not in tops]
    return Bench(component.name, design, (*parts, wrapper), None, work)


def _check_axis(build: Build, name: str, request: SimRequest) -> Checked:
    """The design through its AXI4-Stream ports."""
    assert build.axis is not None
    samples = None if build.samples is None else build.samples.inputs
    vectors = fewer(build.axis, stimulus(build.design, request.vectors, request.seed, samples, first=request.samples))
    work = build.results_folder("sim/axis")
    files = tuple(build.rtl)
    outcome = simulate_axis(build.design, build.axis, files, vectors, request.patterns, request.seed, work)
    return Checked(name, build.design, vectors.groups, outcome)


def _check_cocotb(bench: Bench, request: SimRequest) -> Checked:
    vectors = stimulus(bench.design, request.vectors, request.seed, bench.samples, first=request.samples)
    waves = bench.folder.parent / "waves" if request.waves and bench.name == DESIGN else None
    job = make_job(bench.design, bench.files, vectors, request, waves)
    outcome = located(bench.design, simulate(job, bench.folder))
    return Checked(bench.name, bench.design, vectors.groups, outcome)


def _check_native(bench: Bench, request: SimRequest, advance: Advance) -> Checked:
    vectors = blocks(bench.design, request.vectors, request.seed, bench.samples, request.samples)
    work = bench.folder / "native"
    outcome = simulate_native(bench.design, bench.files, vectors, request.patterns, request.seed, work, advance=advance)
    wrong = [result for result in outcome.patterns if result.message]
    if wrong:
        traced = _trace(bench, request, vectors, wrong[0], work)
        outcome = replace(outcome, failures=(f"{outcome.failures[0]}; {traced}", *outcome.failures[1:]))
    return Checked(bench.name, bench.design, vectors.groups, outcome)


def _trace(bench: Bench, request: SimRequest, vectors: Blocks, result: PatternResult, work: Path) -> str:
    """The vectors around a failure once more, with a probe on every stream: which component is the first wrong one."""
    positions = {stream.name: stream.positions for stream in bench.design.streams}
    found = [s.mismatch.vector // positions[s.name] for s in result.streams if s.mismatch]
    at = found[0] if found else result.vectors
    start, stop = max(0, at - AROUND), min(vectors.vectors, at + AROUND)
    x = vectors.window(start, stop, block_size(bench.design))
    again = replace(request, patterns=tuple(p for p in request.patterns if p == result.pattern))
    around = Stimulus(x, (("around the failure", stop - start),))
    job = make_job(bench.design, bench.files, around, again, None)
    outcome = located(bench.design, simulate(job, work / "traced"))
    if outcome.passed:
        return f"vectors {start} to {stop - 1} alone pass with a probe on every stream"
    return f"vectors {start} to {stop - 1} alone, with a probe on every stream: {outcome.failures[0].rstrip()}"


def alone(design: Design, component: Component) -> Design:
    """One component as a design of its own. One that does the same at every position is given plain vectors."""

    def named(stream: Stream, name: str) -> Stream:
        return replace(stream, name=name, frame=stream.frame if component.counts_positions else ())

    inputs = tuple(named(x, f"data_in_{k}") for k, x in enumerate(component.inputs))
    outputs = tuple(named(y, f"data_out_{k}") for k, y in enumerate(component.outputs))
    single = replace(component, inputs=inputs, outputs=outputs)
    return Design(f"{design.name}_{component.name}_alone", (single,), design.nodes)


def make_job(
    design: Design, files: tuple[Path, ...], vectors: Stimulus, request: SimRequest, waves: Path | None
) -> Job:
    """Every stream of the design with the integers it must carry and, at the ends, the cycles it must keep."""
    timing = design.schedule
    samples = vectors.samples
    slowest = max(component.interval + component.latency for component in design.components)
    return Job(
        files=files,
        top=design.name,
        streams=tuple(_spec(design, stream) for stream in design.streams),
        values=design.run(*vectors.inputs),
        predicted={port.stream.name: port.of_samples(samples).ravel() for port in (*timing.inputs, *timing.outputs)},
        patterns=request.patterns,
        seed=request.seed,
        watchdog=1000 + 16 * slowest,  # stalls stretch a component's own time, by far less than this
        drain=64 + 2 * slowest,
        fill=64 + min(2 * slowest, 4096),
        waves=waves,
        checks=True,
        samples=samples,
    )


def _spec(design: Design, stream: Stream) -> StreamSpec:
    writer = design.writers.get(stream.name)
    label = design.owner(writer.name) if writer else "input" if len(design.inputs) == 1 else stream.name
    role: Role = "input" if writer is None else "probe" if stream.name in design.readers else "output"
    fixed = stream.fixed
    return StreamSpec(
        stream.name,
        label,
        role,
        stream.lanes,
        fixed.width,
        fixed.signed,
        fixed.frac,
        stream.frame,
        axes(design, stream),
    )


def accuracy(build: Build, first: int | None = None) -> dict[str, float] | None:
    """Accuracy on the data set's test split, or its first samples: of the float model, and of the quantized model."""
    samples = build.samples
    if samples is None or first == 0:
        return None
    labels = samples.labels[:first]
    scores = samples.y.reshape(len(samples.labels), -1)[:first]
    values = build.reals.values[0]
    quantized = (scores if values is None or values.uniform else values.values(scores)).argmax(1)
    return {
        "float": float(np.mean(samples.float_labels[:first] == labels)),
        "quantized": float(np.mean(quantized == labels)),
    }
