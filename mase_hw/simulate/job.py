"""What is simulated, and how it is written for the simulator: streams, values, the harness around the design."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import jinja2
import numpy as np
import numpy.typing as npt

from mase_hw import resources

Integers = npt.NDArray[np.int64]
Role = Literal["input", "output", "probe"]
Pattern = Literal["none", "gaps", "pressure", "both"]

PATTERNS: tuple[Pattern, ...] = ("none", "gaps", "pressure", "both")


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


def check_job(job: Job) -> None:
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


def write_job(job: Job, work: Path) -> None:
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
