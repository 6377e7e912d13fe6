"""`mase-hw synth`: a build's cells by kind, per component and in all, counted by Yosys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output
from mase_hw.synth.cells import KINDS
from mase_hw.synth.measure import measure
from mase_hw.synth.pnr import Routed
from mase_hw.synth.targets import TARGETS

COMPARED = ("sites", "ff")  # predicted figures that stand beside the measured ones


@click.command("synth", short_help="Count a build's cells per component with Yosys.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--target", type=click.Choice(list(TARGETS)), default="xcup", show_default=True, help="What to map to.")
@click.option("--dsp/--no-dsp", default=None, help="Use DSP blocks.  [default: if a component was built for them]")
@click.option("--flat", is_flag=True, help="The total only: no second run that keeps the components apart.")
@click.option("--pnr", is_flag=True, help="With --target ecp5: place and route, for the clock frequency. Slow.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="[default: no limit]")
@json_option
def command(build: Path, target: str, dsp: bool | None, flat: bool, pnr: bool, timeout: float | None) -> None:
    """Map the RTL in the folder BUILD to a technology and count its cells.

    BUILD may also be the TOML file of a build that `mase-hw emit` wrote to its default place.

    \b
    The total is that of the flat design. The components are counted in a run of their own that keeps them apart; what
    is optimized across their borders shows in the total only, so that their sum differs from it. `sites` are the LUTs
    that a chip has to give: Yosys' LUT cells, and bits of carry chains without one. Depth is the longest
    run of logic between registers, a carry chain counting once. The report is also written to
    BUILD/report/synth-TARGET.json. These are Yosys' figures; the vendor's tools give others.

    \b
    Examples:
      mase-hw synth build/digits
      mase-hw synth build/digits --target ice40 --flat
      mase-hw synth build/digits --target ecp5 --pnr
      mase-hw synth build/digits --json > digits.json
    """
    if pnr and target != "ecp5":
        raise click.UsageError(f"--pnr works with --target ecp5 only, not with {target}.")
    loaded = open_build(build).build
    console = output()
    errors = console.errors()
    with console.status("starting Yosys") as status:
        measured = measure(
            loaded,
            target,
            dsp=dsp,
            flat=flat,
            pnr=pnr,
            timeout=timeout,
            progress=lambda text: status.update(_short(text, errors.width)),
            note=errors.print,
        )
    console.document(measured.content)
    console.show(_table(measured.content))
    for line in _lines(measured.content, measured.routed):
        console.line(line)
    console.final(f"written: {measured.path}")


def _short(text: str, width: int) -> str:
    """One line of the terminal: a spinner that wraps leaves its lines behind."""
    return text if len(text) < width - 4 else text[: width - 5] + "…"


def _table(content: dict[str, Any]) -> Table:
    """A row per component, what lies between them, and the flat total. Kinds that nothing uses have no column."""
    rows = [*content["components"], *([content["outside"]] if content["outside"] else []), content["total"]]
    kinds = ["sites", *(kind for kind in KINDS if kind in ("lut", "ff") or any(row[kind] for row in rows))]
    # Costs are predicted for xcup alone; beside another technology's cells they would mislead.
    predicted = content["target"] == "xcup" and any("predicted" in row for row in content["components"])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("component", overflow="fold")
    table.add_column("kind", overflow="fold")
    for kind in kinds:
        table.add_column(kind, justify="right")
        if predicted and kind in COMPARED:
            table.add_column("predicted", justify="right", style="dim")
    for title in ("other", "depth"):
        table.add_column(title, justify="right")

    def add(name: str, kind: str, row: dict[str, Any], **style: Any) -> None:
        numbers = []
        for column in kinds:
            numbers.append(str(row[column]))
            if predicted and column in COMPARED:
                numbers.append(str(row["predicted"][column]) if "predicted" in row else "")
        table.add_row(name, kind, *numbers, str(sum(row["other"].values())), str(row["depth"]), **style)

    for row in content["components"]:
        add(row["name"], row["kind"], row)
    if content["outside"]:
        add("between them", "", content["outside"])
        table.add_section()
    add("in all, flat", content["top"], content["total"], style="bold")
    return table


def _lines(content: dict[str, Any], routed: Routed | None) -> list[str]:
    total = content["total"]
    lines = ["cells: " + ", ".join(f"{count} {cell}" for cell, count in total["cells"].items())]
    path = total["path"]
    if path["levels"]:
        lines.append(f"depth: {path['levels']} levels, {path['cells']} cells, from {path['start']} to {path['end']}")
    if content["outside"]:
        apart = sum(row["sites"] for row in [*content["components"], content["outside"]])
        lines.append(f"components kept apart: {apart} sites; flat, optimized across their borders: {total['sites']}")
    if routed:
        lines.append(f"nextpnr: {routed.fmax_mhz:.1f} MHz on an ECP5 {routed.device}, speed grade {routed.speed_grade}")
    dsp = "with" if content["dsp"] else "without"
    lines.append(f"{TARGETS[content['target']].title}, {dsp} DSP blocks; {content['tools']['yosys']}")
    lines[-1] = lines[-1].partition(" (git")[0] + f"; {content['seconds']:.1f} s"
    return lines
