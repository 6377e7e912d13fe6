"""Several designs in one simulator: most of what a small design costs is the bench around it, which they share.

Each stands under a top of its own, with ports and stalls of its own. Every integer and every predicted cycle is
compared as if it were alone; a failure names the design.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from support import assert_layout, assert_pyslang_elaborates, assert_yosys_elaborates

from mase_hw.emit import render
from mase_hw.ir import Design
from mase_hw.simulate import PATTERNS, Outcome, lint, simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.job import Job, StreamSpec
from mase_hw.simulate.stimulus import Stimulus, stimulus

TOP = "together"
Value = TypeVar("Value")


def in_groups(cases: Mapping[str, Value], size: int = 9) -> list[dict[str, Value]]:
    """The cases in groups that are simulated together, each with some of the first and some of the last."""
    count = -(-len(cases) // size)
    return [{name: cases[name] for name in list(cases)[k::count]} for k in range(count)]


def first_name(group: Mapping[str, object]) -> str:
    """What a test of a group is called."""
    return f"{next(iter(group))}, and {len(group) - 1} more"


def assert_all_equal(designs: Mapping[str, Design], tmp: Path, count: int = 48, *, yosys: bool = False) -> None:
    """Emitted, lint clean, elaborated, and equal to the reference in values and cycles; all of them at once."""
    named = {name: replace(design, name=f"case{k}") for k, (name, design) in enumerate(designs.items())}
    files = write_all(list(named.values()), tmp / "rtl")
    assert lint(files, TOP) == []
    assert_layout(files)
    assert_pyslang_elaborates(files, TOP)
    if yosys:
        assert_yosys_elaborates(files, TOP)
    outcome = run_all(named, files, tmp / "sim", count)
    assert outcome.passed, "\n".join(outcome.failures)
    assert [pattern.pattern for pattern in outcome.patterns] == list(PATTERNS)
    checked = {stream.name for stream in outcome.pattern("none").streams if stream.cycles_checked}
    assert checked == {_port(k, s.name) for k, d in enumerate(named.values()) for s in (*d.inputs, *d.outputs)}


def write_all(designs: Sequence[Design], folder: Path) -> list[Path]:
    """The files of all designs, library modules once, and a top that has every design side by side."""
    folder.mkdir(parents=True)
    texts = {name: text for design in designs for name, text in render(design).items()}
    texts[f"{TOP}.sv"] = _top(designs)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def run_all(designs: Mapping[str, Design], files: Sequence[Path], work: Path, count: int) -> Outcome:
    """One run per stall pattern; a design with fewer samples than another gets its own again."""
    drawn = [stimulus(design, count, 0) for design in designs.values()]
    samples = max(each.samples for each in drawn)
    jobs = [
        make_job(design, (), _repeated(vectors, samples), SimRequest(), None)
        for design, vectors in zip(designs.values(), drawn, strict=True)
    ]
    streams: list[StreamSpec] = []
    values, predicted = {}, {}
    for k, (name, job) in enumerate(zip(designs, jobs, strict=True)):
        for spec in job.streams:
            to = f"u_case{k}.{spec.name}" if spec.role == "probe" else _port(k, spec.name)
            streams.append(replace(spec, name=to, label=f"{name}: {spec.label}"))
            values[to] = job.values[spec.name]
            assert job.predicted is not None
            if spec.name in job.predicted:
                predicted[to] = job.predicted[spec.name]
    most = {key: max(getattr(job, key) for job in jobs) for key in ("watchdog", "drain", "fill")}
    whole = Job(tuple(files), TOP, tuple(streams), values, predicted, PATTERNS, checks=True, samples=samples, **most)
    return simulate(whole, work)


def _repeated(vectors: Stimulus, samples: int) -> Stimulus:
    """The same samples over and over, until there are enough."""

    def rows(x: np.ndarray) -> np.ndarray:
        return np.resize(x, (len(x) // vectors.samples * samples, x.shape[1]))

    return Stimulus(tuple(rows(x) for x in vectors.inputs), (("all", samples),))


def _port(k: int, stream: str) -> str:
    return f"case{k}_{stream}"


def _top(designs: Sequence[Design]) -> str:
    ports, instances = ["  input  logic clk,\n  input  logic rst"], []
    for k, design in enumerate(designs):
        joined = [".clk", ".rst"]
        for side, streams in (("in", design.inputs), ("out", design.outputs)):
            for stream in streams:
                name = _port(k, stream.name)
                forth, back = ("input ", "output") if side == "in" else ("output", "input ")
                ports += [f"  {forth} logic [{stream.width - 1}:0] {name}"]
                ports += [f"  {forth} logic {name}_valid", f"  {back} logic {name}_ready"]
                joined += [f".{stream.name}{end}({name}{end})" for end in ("", "_valid", "_ready")]
        wires = ",\n    ".join(joined)
        instances.append(f"  {design.name} #(.CheckStreams(CheckStreams)) u_{design.name} (\n    {wires}\n  );\n")
    head = "// SPDX-License-Identifier: Apache-2.0\n"
    body = ",\n".join(ports)
    return (
        f"{head}module {TOP} #(\n  parameter bit CheckStreams = 1'b0\n) (\n{body}\n);\n{''.join(instances)}endmodule\n"
    )
