"""`mase-hw explore`: every design of a model that pays, size against interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from mase_hw.cli.console import Output, json_option, output
from mase_hw.cli.options import need_toml
from mase_hw.config_file import load_config
from mase_hw.diagnostics import Problem, ProblemsError

if TYPE_CHECKING:
    from mase_hw.explore import Explored


@click.command("explore", short_help="Show every design that pays, size against interval.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder of the files.  [default: mase_output/<project>/hardware]"
)
@click.option(
    "--max-interval", type=click.IntRange(1), metavar="N", help="Leave out what takes more cycles per vector."
)
@click.option("--dsp", is_flag=True, help="Let DSP blocks multiply; dsp_budget in the TOML allows so many of them.")
@json_option
def command(model: Path, out: Path | None, max_interval: int | None, dsp: bool) -> None:
    """Find the Pareto front of the model that the TOML file MODEL describes.

    For every interval (cycles per vector) that pays, the design with the fewest LUT sites that reaches it. Nothing is
    built: the sites are predicted, the intervals and latencies exact. What [passes.hardware] fixes stays fixed;
    target_interval and lut_budget of [hardware], which pick a point of the front, are not looked at.

    \b
    The folder gets
      front.json               each point: cycles, cost, and the choice for every node
      front.png, front.html    the same as a picture; the page has every point's choices

    To build a point, put its interval into the TOML: [hardware] target_interval = 8.

    \b
    Examples:
      mase-hw explore examples/digits/model.toml
      mase-hw explore model.toml --max-interval 256 --out /tmp/front
      mase-hw explore model.toml --dsp --json > front.json
    """
    need_toml(model)
    config = load_config(model)
    folder = out or config.project_dir / config.project / "hardware"
    console = output()
    check_matplotlib()
    with console.progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()) as progress:
        bar = progress.add_task(f"exploring {model}", total=1.0)
        from mase_hw.explore.front import explore  # loads torch
        from mase_hw.explore.report import document, write_report

        explored = explore(
            config, slowest=max_interval, dsp=dsp, report=lambda done: progress.update(bar, completed=done)
        )
        files = write_report(explored, config.project, folder)
    console.notes(explored.notes)
    console.document(document(explored, config.project))
    _print(console, explored)
    console.final(f"written: {folder}: {', '.join(file.name for file in files)}")
    keys = " and dsp_budget" if dsp or config.target.dsp_budget else ""
    keys += " and bram_budget" if config.target.bram_budget is not None else ""
    console.line(f"next: set target_interval{keys} in [hardware] to those of a point, then: mase-hw emit {model}")


def check_matplotlib() -> None:
    """Said before minutes have passed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        text = "explore draws with matplotlib, which is not installed"
        raise ProblemsError(Problem(text, hint="pip install 'mase-hw[search]'")) from None


def _print(console: Output, explored: Explored) -> None:
    from mase_hw.explore.report import NOTE

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("interval", "sites", "LUT", "FF", "DSP", "BRAM", "latency", "chosen"):
        table.add_column(title, overflow="fold", justify="left" if title == "chosen" else "right")
    for point in explored.points:
        cost, schedule = point.design.cost(), point.design.schedule
        numbers = (schedule.interval, point.sites, cost.cells, cost.ff, cost.dsp, cost.bram, schedule.latency)
        table.add_row(*map(str, numbers), point.told)
    console.show(table)
    console.line(NOTE)
