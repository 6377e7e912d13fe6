"""`mase-hw emit`: from a TOML to a build folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from mase_hw.cli.console import json_option, output
from mase_hw.cli.options import need_toml
from mase_hw.config_file import load_config
from mase_hw.cost.cost import COLUMNS, PREDICTED
from mase_hw.emit import Build
from mase_hw.report.layers import built, type_text
from mase_hw.report.words import scales

_NUMBERS = ("interval", "latency", "sites", "LUT", "FF", "DSP", "BRAM")


@click.command("emit", short_help="Quantize a model, choose its hardware, write RTL.")
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The build folder.  [default: build/<project>]")
@click.option("--replace", is_flag=True, help="Replace the build of another TOML in that folder.")
@json_option
def command(model: Path, out: Path | None, replace: bool) -> None:
    """Quantize the model that the TOML file MODEL describes, choose its hardware, and write RTL.

    \b
    What is chosen is asked for in the TOML's [hardware]:
      target_interval = 8                   the smallest design that takes a vector every 8 cycles
      lut_budget = 9000, dsp_budget = 20    the fastest design that keeps within these
      bram_budget = 12                      and within so many block RAMs (of 18 Kbit)
      both                                  the smallest that does both
    The table's LUTs, flip-flops, DSP blocks and block RAMs (of 18 Kbit) are predicted. `sites` are the LUTs that a chip
    has to give: LUT cells, and bits of carry chains without one. `mase-hw explore` shows what every interval would
    take, `mase-hw synth` counts the cells of what was written.

    An older build of MODEL is replaced. The build of another TOML is not: give --out, or --replace.

    \b
    Examples:
      mase-hw emit examples/digits/model.toml
      mase-hw emit model.toml --out /tmp/jsc
    """
    need_toml(model)
    config = load_config(model)
    console = output()
    with console.status(f"compiling {model}"):
        from mase_hw.flow import emit  # loads torch

        build, notes = emit(config, out or Path("build") / config.project, replace=replace)
    notes = (*notes, *_solver_notes(build.manifest))
    console.notes(notes)
    console.document(document(build, notes))
    console.show(_table(build.manifest))
    console.line(cycles(build))
    for text in scales(build.manifest):
        console.line(text)
    console.line(f"{COLUMNS} are {PREDICTED}")
    if build.axis is not None:
        console.line(f"AXI4-Stream top: {build.axis.module}")
    console.final(f"written: {build.path}   next: mase-hw sim {build.path}")


def cycles(build: Build) -> str:
    interval, latency = build.manifest["interval"], build.manifest["latency"]
    return f"interval {interval} cycles, latency {latency} cycles (exact, never stalled)"


def document(build: Build, notes: Iterable[str]) -> dict[str, Any]:
    """What was built, for programs: the manifest without what is for mase-hw itself."""
    kept = ("top", "inputs", "outputs", "axis", "interval", "latency", "cost", "saturated", "nodes")
    found = {key: build.manifest[key] for key in kept if key in build.manifest}
    return {"build": str(build.path), **found, "notes": list(notes)}


def _table(manifest: Mapping[str, Any]) -> Table:
    components = {entry["name"]: entry for entry in manifest["components"]}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("node", "op", "built", "lanes", "data_in", "data_out", *_NUMBERS):
        table.add_column(title, overflow="fold", justify="right" if title in _NUMBERS else "left")
    owned: set[str] = set()
    for node in manifest["nodes"]:
        owned |= set(node["components"])
        lanes = f"{node['data_in_parallelism']} -> {node['data_out_parallelism']}"
        types = [type_text(node[side]) for side in ("data_in", "data_out")]
        numbers = [str(node[key]) for key in ("interval", "latency")]
        table.add_row(node["name"], node["op"], built(node, manifest), lanes, *types, *numbers, *_figures(node["cost"]))
    between = [entry for name, entry in components.items() if name not in owned]
    if between:
        costs = [entry["cost"] for entry in between]
        sums = {key: sum(cost[key] for cost in costs) for key in costs[0]}
        forks = sum(entry["kind"] == "fork" for entry in between)
        counts = ((forks, "fork"), (len(between) - forks, "skid"))
        what = ", ".join(f"{count} {name}{'s' * (count > 1)}" for count, name in counts if count)
        table.add_row("between nodes", "", what, *[""] * 5, *_figures(sums))
    table.add_section()
    table.add_row("total", *[""] * 7, *_figures(manifest["cost"]))
    return table


def _figures(cost: Mapping[str, int]) -> list[str]:
    luts = [cost[key] + cost["lutram"] for key in ("sites", "lut")]
    return [str(number) for number in (*luts, *(cost[key] for key in ("ff", "dsp", "bram")))]


def _solver_notes(manifest: Mapping[str, Any]) -> list[str]:
    """Adder graphs that are larger than they need be, because the solver was not given the time."""
    solvers = {entry["name"]: str(entry["values"].get("solver", "")) for entry in manifest["components"]}
    found = [(name, text) for name, text in solvers.items() if text.startswith("plain")]
    return [f"{name} has a plain adder graph, not a shared one{text.removeprefix('plain')}" for name, text in found]
