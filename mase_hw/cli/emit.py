"""`mase-hw emit`: from a TOML to a build folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from mase_hw.config import load_config


@click.command("emit", short_help="Quantize a model, choose its hardware, write RTL.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The build folder.  [default: build/<project>]")
def command(model: Path, out: Path | None) -> None:
    """Quantize the model that the TOML file MODEL describes, choose its hardware, and write RTL.

    \b
    Examples:
      mase-hw emit examples/digits/model.toml
      mase-hw emit model.toml --out /tmp/jsc
    """
    config = load_config(model)
    console = Console(width=None if sys.stdout.isatty() else 120)
    with Console(stderr=True).status(f"compiling {model}"):
        from mase_hw.flow import emit  # loads torch

        build, notes = emit(config, out or Path("build") / config.project)
    for note in notes:
        console.print(f"note: {note}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("node", "op", "built", "lanes", "data_in", "data_out", "interval", "latency"):
        table.add_column(title, overflow="fold", justify="right" if title in ("interval", "latency") else "left")
    for node in build.manifest["nodes"]:
        lanes = f"{node['data_in_parallelism']} -> {node['data_out_parallelism']}"
        types = [_type(node[side]) for side in ("data_in", "data_out")]
        numbers = [str(node[key]) for key in ("interval", "latency")]
        table.add_row(node["name"], node["op"], node["implementation"], lanes, *types, *numbers)
    console.print(table)
    interval, latency = build.manifest["interval"], build.manifest["latency"]
    console.print(f"interval {interval} cycles, latency {latency} cycles (exact, never stalled)", highlight=False)
    console.print(f"written: {build.path}   next: mase-hw sim {build.path}", highlight=False)


def _type(fixed: dict[str, int]) -> str:
    return f"{'' if fixed['signed'] else 'u'}{fixed['width']}.{fixed['frac']}"
