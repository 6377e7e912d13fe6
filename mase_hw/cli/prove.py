"""`mase-hw prove`: for every input, the RTL of a build equals the integer reference."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from mase_hw.config import load_config
from mase_hw.emit import read_build

MARKS = {"proved": "[green]proved[/]", "refuted": "[red]FALSE[/]", "open": "[yellow]not proved[/]"}


@click.command("prove", short_help="Prove that a build's RTL equals the software for every input.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the claims as JSON, and nothing else.")
def command(build: Path, as_json: bool) -> None:
    """Read the RTL in the folder BUILD back with Yosys and prove it, component by component.

    \b
    values     for every input, the RTL gives the integers that the software gives
    timing     no valid and no ready depends on data, so the cycles of one run are those of every run
    handshake  valid and data hold until ready, valid never waits for ready
    widths     every adder is wide enough for its exact sum, and not one bit wider
    wiring     the top joins the components as the design says, and holds nothing else

    The result is BUILD/certificate.json, bound to the SHA-256 of every file. What could not be proved is listed by
    name, and ends with exit code 1. BUILD may also be the TOML file of a build in its default place.

    \b
    Examples:
      mase-hw prove build/digits
      mase-hw prove build/digits --json | jq '.[] | select(.status != "proved")'
    """
    if build.suffix == ".toml":
        build = Path("build") / load_config(build).project
    loaded = read_build(build)
    from mase_hw.prove.certificate import write_certificate
    from mase_hw.prove.run import prove

    with Console(stderr=True).status("proving") as status:
        proof = prove(loaded, lambda text: status.update(f"proving {text}"))
    path = write_certificate(loaded, proof)
    if as_json:
        click.echo(json.dumps([asdict(claim) for claim in proof.claims], indent=2))
        sys.exit(0 if proof.proved else 1)
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("component", "about", "", "how"):
        table.add_column(title, overflow="fold")
    for claim in proof.claims:
        table.add_row(claim.component, claim.about, MARKS[claim.status], claim.method or claim.detail)
    console.print(table)
    count = sum(claim.status == "proved" for claim in proof.claims)
    console.print(f"{count} of {len(proof.claims)} claims proved", highlight=False)
    console.print(f"written: {path}", highlight=False)
    sys.exit(0 if proof.proved else 1)
