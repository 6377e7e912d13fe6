"""`mase-hw export`: a build for another tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import click

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output
from mase_hw.export.targets import CLOCK, MARKER, PARTS, TARGETS, ExportRequest, Target, export

_DEFAULTS = "; ".join(f"{target}: {part}" for target, part in PARTS.items())


@click.command("export", short_help="Write a build for another tool or a host program.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--to", required=True, type=click.Choice(TARGETS), help="What to write.")
@click.option("--part", metavar="DEVICE", help=f"The device.  [default: {_DEFAULTS}]")
@click.option("--family", metavar="NAME", help="Quartus: the device's family.  [default: from the device's name]")
@click.option("--clock", type=float, metavar="MHZ", help=f"For the constraints.  [default: {CLOCK:g}]")
@click.option("--out", type=click.Path(path_type=Path), help="The folder.  [default: BUILD/export/TARGET]")
@json_option
def command(build: Path, to: str, part: str | None, family: str | None, clock: float | None, out: Path | None) -> None:
    """Write the RTL in the folder BUILD as something that another tool opens.

    BUILD may also be the TOML file of a build that `mase-hw emit` wrote to its default place. The tool itself need not
    be installed. The folder that is written is complete: where it is about RTL, it holds a copy.

    \b
      vivado    project Tcl, Makefile, XDC with the clock
      quartus   project Tcl, Makefile, SDC with the clock
      fusesoc   a .core file (CAPI2) with targets to lint and to build
      ipxact    a component (IEEE 1685-2014), with AXI4-Stream bus interfaces if the build has them
      cpp       a header: packs inputs, runs the integers, unpacks outputs (C++17)
      python    the same as a module that needs numpy only

    \b
    Examples:
      mase-hw export build/digits --to vivado --part xc7z020clg400-1 --clock 150
      mase-hw export build/digits --to fusesoc --out cores/digits
      mase-hw export build/digits --to ipxact --json | jq -r '.files[]'
    """
    loaded = open_build(build).build
    path = export(loaded, ExportRequest(cast(Target, to), part, family, clock), out)
    console = output()
    marker = json.loads((path / MARKER).read_text(encoding="utf-8"))
    about = {key: marker[key] for key in ("to", "top", "files")}
    console.document({"build": str(loaded.path), **about, "written": str(path)})
    console.final(f"written: {path}")
