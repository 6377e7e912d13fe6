"""Checks a build: the whole design, then each computing component alone, under every stall pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.render import render_alone
from mase_hw.hardware import Component, Design
from mase_hw.hardware.plumbing import Plumbing
from mase_hw.simulate.bench import PATTERNS, Job, Pattern, Role, StreamSpec, simulate
from mase_hw.simulate.outcome import Outcome
from mase_hw.simulate.stimulus import Stimulus, stimulus
from mase_hw.simulate.whole import check_whole

DESIGN = "design"  # the bench of the whole design
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What the user asks of a simulation."""

    vectors: int = 256  # random ones, beside the others
    seed: int = 0
    patterns: tuple[Pattern, ...] = PATTERNS
    only: str | None = None  # one bench, "design" or a component; None: all of them
    waves: bool = False


@dataclass(frozen=True)
class Checked:
    """One bench that ran: the whole design, or one component of it."""

    name: str
    design: Design
    stimulus: Stimulus
    outcome: Outcome


def check(build: Build, request: Request, progress: Progress = lambda _: None) -> Iterator[Checked]:
    """The benches of a build, one after the other."""
    check_whole(build)
    components = {c.name: c for c in build.design.components if not isinstance(c, Plumbing)}
    names = [DESIGN, *components] if len(build.design.components) > 1 else [DESIGN]
    if request.only is not None:
        if request.only not in (DESIGN, *components):
            hint = nearest(request.only, [DESIGN, *components], "benches")
            raise ProblemsError(Problem(f"{build.path} has no bench {request.only}", hint=hint))
        names = [request.only]
    for name in names:
        progress(name)
        yield _check_design(build, request) if name == DESIGN else _check_component(build, components[name], request)


def _check_design(build: Build, request: Request) -> Checked:
    design, samples = build.design, build.samples
    vectors = stimulus(design, request.vectors, request.seed, None if samples is None else samples.x)
    waves = build.path / "sim" / "waves" if request.waves else None
    job = make_job(design, tuple(build.rtl), vectors, request, waves)
    return Checked(DESIGN, design, vectors, simulate(job, build.path / "sim" / "design"))


def _check_component(build: Build, component: Component, request: Request) -> Checked:
    """The component's emitted module under a top of its own, driven over its whole input range."""
    design = alone(build.design, component)
    vectors = stimulus(design, request.vectors, request.seed)
    work = build.path / "sim" / "components" / component.name
    work.mkdir(parents=True, exist_ok=True)
    wrapper = work / f"{design.name}.sv"
    wrapper.write_text(render_alone(build.design, design), encoding="utf-8")
    job = make_job(design, (*build.rtl[:-1], wrapper), vectors, request, None)
    return Checked(component.name, design, vectors, simulate(job, work))


def alone(design: Design, component: Component) -> Design:
    """One component as a design of its own."""
    x, y = component.input.renamed("data_in_0"), component.output.renamed("data_out_0")
    single = replace(component, inputs=(x,), outputs=(y,))
    return Design(f"{design.name}_{component.name}_alone", (single,), design.nodes)


def make_job(design: Design, files: tuple[Path, ...], vectors: Stimulus, request: Request, waves: Path | None) -> Job:
    """Every stream of the design with the integers it must carry and, at the ends, the cycles it must keep."""
    timing = design.schedule
    count = len(vectors.x)
    first, last = design.input.name, design.output.name
    streams = [_spec(design, 0)] + [_spec(design, k + 1) for k in range(len(design.components))]
    slowest = max(component.interval + component.latency for component in design.components)
    return Job(
        files=files,
        top=design.name,
        streams=tuple(streams),
        values=design.run(vectors.x),
        predicted={first: timing.input_cycles(count).ravel(), last: timing.output_cycles(count).ravel()},
        patterns=request.patterns,
        seed=request.seed,
        watchdog=1000 + 16 * slowest,  # stalls stretch a component's own time, by far less than this
        drain=64 + 2 * slowest,
        fill=64 + min(2 * slowest, 4096),
        waves=waves,
    )


def _spec(design: Design, k: int) -> StreamSpec:
    stream = design.streams[k]
    label = design.owner(design.components[k - 1].name) if k else "input"
    role: Role = "input" if k == 0 else "output" if k == len(design.components) else "probe"
    return StreamSpec(stream.name, label, role, stream.lanes, stream.fixed.width, stream.fixed.signed)


def accuracy(build: Build) -> dict[str, float] | None:
    """Accuracy on the data set's test split: of the float model, and of the quantized model."""
    samples = build.samples
    if samples is None:
        return None
    quantized = samples.y.argmax(1)
    return {
        "float": float(np.mean(samples.float_labels == samples.labels)),
        "quantized": float(np.mean(quantized == samples.labels)),
    }
