"""Simulates a build's AXI4-Stream top with cocotbext-axi's source and sink, and reads what was found."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import jinja2
import numpy as np

from mase_hw import resources
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit.axis import AxisPort, AxisTop
from mase_hw.ir import Design
from mase_hw.simulate import toolchain
from mase_hw.simulate.bench import clear, run_bench
from mase_hw.simulate.job import Pattern
from mase_hw.simulate.outcome import Outcome
from mase_hw.simulate.stimulus import Stimulus

HARNESS = "mase_axis_harness"
WORK = 4_000_000  # what Python moves byte by byte in a run, so that wide streams take a minute and not an hour
MOST, LEAST = 1000, 16  # vectors


@dataclass(frozen=True)
class _Side:
    name: str
    lanes: int
    width: int
    signed: bool


def find_cocotbext_axi() -> None:
    """A Problem where it is not installed."""
    if importlib.util.find_spec("cocotbext") is None or importlib.util.find_spec("cocotbext.axi") is None:
        hint = "pip install 'mase-hw[axis]', or leave the AXI4-Stream top out: --only design"
        raise ProblemsError(Problem("cocotbext-axi: not installed; it drives the AXI4-Stream top", hint=hint))


def fewer(axis: AxisTop, vectors: Stimulus) -> Stimulus:
    """As many of the vectors as the byte-by-byte bench can take, some of every group.

    cocotbext-axi reads a beat of n bytes in time that grows with the square of n.
    """
    costs = [port.stream.sample_beats * (port.tdata_width // 8) ** 2 for port in axis.ports]
    limit = min(MOST, max(LEAST, WORK // sum(costs)))
    if vectors.samples <= limit:
        return vectors
    rows, groups, start = [], [], 0
    for label, count in vectors.groups:
        kept = min(count, max(1, count * limit // vectors.samples))
        rows.append(start + np.linspace(0, count - 1, kept).astype(np.int64))
        groups.append((label, kept))
        start += count
    kept_rows = np.concatenate(rows)
    inputs = [
        part.reshape(-1, port.stream.positions, port.stream.features)[kept_rows].reshape(-1, port.stream.features)
        for port, part in zip(axis.inputs, vectors.inputs, strict=True)
    ]
    return Stimulus(tuple(inputs), tuple(groups))


def simulate_axis(
    design: Design,
    axis: AxisTop,
    files: tuple[Path, ...],
    vectors: Stimulus,
    patterns: tuple[Pattern, ...],
    seed: int,
    work: Path,
    cache: Path | None = None,
) -> Outcome:
    """Every vector through the AXI4-Stream ports under every pattern, and some with TLAST in wrong places."""
    find_cocotbext_axi()
    tools = toolchain.find()
    clear(work)
    slowest = max(component.interval + component.latency for component in design.components)
    document = {
        "inputs": [asdict(_side(port)) for port in axis.inputs],
        "outputs": [asdict(_side(port)) for port in axis.outputs],
        "patterns": patterns,
        "seed": seed,
        "watchdog": 1000 + 16 * sum(component.interval + component.latency for component in design.components),
        "drain": 64 + 2 * slowest,
        "fill": 64 + min(2 * slowest, 512),
    }
    samples = vectors.samples
    results = design.results(*vectors.inputs)
    arrays = {f"x_{k}": rows.reshape(samples, -1) for k, rows in enumerate(vectors.inputs)}
    arrays |= {f"y_{k}": rows.reshape(samples, -1) for k, rows in enumerate(results)}
    for k, port in enumerate(design.schedule.outputs):
        arrays[f"last_cycles_{k}"] = port.of_samples(samples)[:, -1]
    (work / "job.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    with (work / "values.npz").open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    harness = work / f"{HARNESS}.sv"
    harness.write_text(_harness(axis), encoding="utf-8")
    outcome = run_bench((*files, harness), HARNESS, "sim.axis_bench", patterns, seed, work, tools, cache)
    if not outcome.passed:
        return outcome
    wrong = json.loads((work / "results.json").read_text(encoding="utf-8"))["wrong_lasts"]
    note = f"TLAST on the last beat of every sample; {wrong} wrong ones sent besides, {wrong} counted"
    return replace(outcome, notes=(note,))


def _side(port: AxisPort) -> _Side:
    stream = port.stream
    return _Side(port.prefix, stream.lanes, stream.fixed.width, stream.fixed.signed)


def _harness(axis: AxisTop) -> str:
    loader = jinja2.FileSystemLoader(resources.sim())
    environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.trim_blocks = environment.lstrip_blocks = True
    template = environment.get_template("axis_harness.sv.j2")
    return template.render(top=axis.module, inputs=axis.inputs, outputs=axis.outputs)
