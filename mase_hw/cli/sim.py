"""`mase-hw sim`: a build under Verilator, by cocotb or natively, compared with the software reference."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import Output, json_option, output
from mase_hw.emit import Build
from mase_hw.simulate.check import Checked, Engine, SimRequest, accuracy, check
from mase_hw.simulate.job import PATTERNS


@click.command("sim", short_help="Simulate a build and compare every stream with the software.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option(
    "--vectors", type=click.IntRange(0), help="Random vectors.  [default: 256; fewer where samples are large frames]"
)
@click.option(
    "--samples",
    type=click.IntRange(0),
    help="Samples of the data set, the first so many.  [default: all; fewer where they are large frames]",
)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of random vectors and stalls.")
@click.option("--stall", type=click.Choice([*PATTERNS, "all"]), default="all", show_default=True, help="Stall pattern.")
@click.option("--only", metavar="NAME", help="One bench: `design`, or a component's name.  [default: all]")
@click.option("--waves", is_flag=True, help="Write waves of the whole design to BUILD/sim.")
@click.option(
    "--engine",
    type=click.Choice(["cocotb", "native"]),
    default="cocotb",
    show_default=True,
    help="cocotb sees every stream; native sees both ends and runs millions of vectors.",
)
@json_option
def command(
    build: Path,
    vectors: int | None,
    samples: int | None,
    seed: int,
    stall: str,
    only: str | None,
    waves: bool,
    engine: Engine,
) -> None:
    """Simulate the RTL in the folder BUILD and compare every stream with the software reference.

    BUILD may also be the TOML file of a build that `mase-hw emit` wrote to its default place.

    \b
    The vectors are the data set's test split where there is one, all-smallest, all-largest, one-hot, those that drive
    each accumulator to its proven extremes, and random ones. Each component is also driven alone, over its whole
    input range. In the unstalled run the cycle of every beat must be the predicted one.

    \b
    Examples:
      mase-hw sim build/digits
      mase-hw sim build/digits --stall both --seed 7 --vectors 10000
      mase-hw sim build/digits --waves
      mase-hw sim build/digits --engine native --vectors 1000000
      mase-hw sim build/mnist --engine native --samples 10000 --stall none
    """
    if waves and engine == "native":
        raise click.UsageError("--waves needs --engine cocotb: the native engine has no tracing compiled in")
    loaded = open_build(build).build
    patterns = PATTERNS if stall == "all" else tuple(p for p in PATTERNS if p == stall)
    request = SimRequest(vectors, seed, patterns, only, waves, engine, samples)
    console = output()
    benches: list[Checked] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with console.progress(*columns) as bar:
        task = bar.add_task("", total=None)
        for checked in check(
            loaded,
            request,
            lambda name: bar.update(task, description=f"simulating {name}", total=None, completed=0),
            lambda done, total: bar.update(task, completed=done, total=total),
        ):
            benches.append(checked)
            _show(console, checked, loaded)
            drawn = "" if vectors is None else f" --vectors {vectors}"
            drawn += "" if samples is None else f" --samples {samples}"
            again = f"mase-hw sim {loaded.path} --only {checked.name}{drawn} --seed {seed}"
            again += " --engine native" if engine == "native" else ""
            for failure in checked.outcome.failures:
                pattern = failure.partition(":")[0]
                stalled = f" --stall {pattern}" if pattern in PATTERNS else ""
                line = f"  FAILED {checked.name}: {failure.rstrip()}; reproduce: {again}{stalled}"
                console.final(line, style="red")
    console.document(_document(loaded, request, benches))
    failed = [checked.name for checked in benches if checked.outcome.failures]
    if failed:
        console.final(f"FAILED: {', '.join(failed)}", style="red")
        sys.exit(1)
    if any(checked.outcome.stopped for checked in benches):
        console.final("stopped: what was compared until then is equal")
        sys.exit(130)
    what = "every stream" if engine == "cocotb" else "the output"
    console.final(f"passed: every integer of {what} equals the software reference")


def _document(build: Build, request: SimRequest, benches: list[Checked]) -> dict[str, Any]:
    """All that was compared, for programs."""
    return {
        "build": str(build.path),
        "engine": request.engine,
        "seed": request.seed,
        "passed": all(checked.outcome.passed for checked in benches),
        "accuracy": accuracy(build),  # the hardware's is the quantized model's where all have passed
        "benches": [
            {
                "name": checked.name,
                "vectors": checked.vectors,
                "groups": dict(checked.groups),
                "interval": float(checked.design.schedule.interval),
                "latency": checked.design.schedule.latency,
                "passed": checked.outcome.passed,
                "stopped": checked.outcome.stopped,
                "failures": list(checked.outcome.failures),
                "notes": list(checked.outcome.notes),
                "waves": str(checked.outcome.waves) if checked.outcome.waves else None,
                "patterns": [asdict(pattern) for pattern in checked.outcome.patterns],
            }
            for checked in benches
        ],
    }


def _show(console: Output, checked: Checked, build: Build) -> None:
    outcome = checked.outcome
    vectors = checked.vectors
    runs = len(outcome.patterns)
    results = [stream for pattern in outcome.patterns for stream in pattern.outputs()]
    compared, equal = sum(r.compared for r in results), sum(r.equal for r in results)
    inner = [s for pattern in outcome.patterns for s in pattern.streams if s.role == "probe"]
    lines = [f"{checked.name}: {vectors} vectors x {runs} stall patterns, {compared} outputs compared, {equal} equal"]
    if checked.name == "design":
        if inner:
            lines[0] += f" ({sum(s.equal for s in inner)} of {sum(s.compared for s in inner)} inside)"
        lines.append("  vectors: " + ", ".join(f"{count} {label}" for label, count in checked.groups))
        lines += _cycles(checked)
        lines += _accuracy(checked, build)
        if outcome.waves:
            lines.append(f"  waves: {outcome.waves}")
    lines += [f"  {note}" for note in outcome.notes]
    if outcome.stopped:
        seen = ", ".join(f"{pattern.pattern} {pattern.vectors}" for pattern in outcome.patterns)
        lines.append(f"  stopped after so many of them: {seen}")
    for line in lines:
        console.line(line)


def _cycles(checked: Checked) -> list[str]:
    timing = checked.design.schedule
    seen = [pattern for pattern in checked.outcome.patterns if pattern.pattern == "none"]
    if not seen:
        return []
    rows = (("interval", timing.interval, seen[0].interval), ("latency", timing.latency, seen[0].latency))
    return ["  " + "; ".join(f"{name} {predicted} predicted, {got} simulated" for name, predicted, got in rows)]


def _accuracy(checked: Checked, build: Build) -> list[str]:
    """The hardware's accuracy is that of the quantized model if, and only if, all outputs were equal."""
    software = accuracy(build)
    if software is None or build.samples is None:
        return []
    ended = "was stopped" if checked.outcome.stopped else "failed"
    count, ran = len(build.samples.labels), dict(checked.groups).get("data set", 0)
    of_those = accuracy(build, ran)
    hardware = "not known: no sample of the data set ran" if of_those is None else f"{of_those['quantized']:.2%}"
    if not checked.outcome.passed:
        hardware = f"not known: the run {ended}"
    lines = [f"  accuracy: float {software['float']:.2%}, quantized {software['quantized']:.2%}"]
    if of_those is None or not 0 < ran < count or not checked.outcome.passed:
        return [f"{lines[0]}, hardware {hardware}"]
    same = ", ".join(f"{name} {of_those[name]:.2%}" for name in ("float", "quantized"))
    return [f"{lines[0]} of {count} samples", f"  of the first {ran} of them: {same}, hardware {hardware}"]
