"""`mase-hw prove`: for every input, the RTL of a build equals the integer reference."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output
from mase_hw.config import Config
from mase_hw.config.user_code import is_onnx
from mase_hw.config_file import load_config
from mase_hw.emit import Build
from mase_hw.emit.sources import check_sources
from mase_hw.prove.claims.claim import Claim

MARKS = {"proved": ("proved", "green"), "refuted": ("FALSE", "red"), "open": ("not proved", "yellow")}


@click.command("prove", short_help="Prove that a build's RTL equals the software for every input.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds that Yosys may take to read the RTL."
)
@click.option(
    "--config", type=click.Path(path_type=Path), help="The TOML that it was made from: for the claim `model`."
)
@json_option
def command(build: Path, timeout: float | None, config: Path | None) -> None:
    """Read the RTL in the folder BUILD back with Yosys and prove it, component by component.

    \b
    language   the RTL is written in the small part of SystemVerilog that we emit; if not, nothing is proved
    values     for every input and all stalls, the RTL gives the integers that the software gives
    timing     no valid and no ready depends on data, so the cycles of one run are those of every run
    handshake  valid holds until ready and never waits for it; every beat moves in the predicted cycle; no deadlock
    widths     every adder is wide enough for its exact sum, and not one bit wider
    wiring     the top joins the components as the design says, and holds nothing else
    readers    what was proved is what Verilator reads too: a run of both, every stream compared in every cycle
    model      the integers of the software are those of the TOML and its checkpoint, quantized again

    The last one needs the TOML: give it with --config, or in the place of BUILD for a build in its default place.

    The result is BUILD/certificate.json, bound to the SHA-256 of every file. What could not be proved is listed by
    name, and ends with exit code 1.

    \b
    Examples:
      mase-hw prove model.toml
      mase-hw prove build/digits --config examples/digits/model.toml
      mase-hw prove build/digits --json | jq '.[] | select(.status != "proved")'
    """
    opened = open_build(build)
    loaded, given = opened.build, opened.config
    if config is not None:
        given = load_config(config)
        check_sources(loaded.manifest, given)
    from mase_hw.prove.certificate import write_certificate
    from mase_hw.prove.prove import Proof, prove
    from mase_hw.simulate.whole import check_whole

    check_whole(loaded)
    console = output()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with console.progress(*columns) as bar:
        task = bar.add_task("proving", total=len(loaded.design.components))

        def say(text: str) -> None:
            bar.update(task, description=text)

        model = [] if given is None else [_model(loaded, given, say)]
        proof = prove(loaded, say, lambda component: bar.advance(task), timeout)
        proof = Proof((*model, *proof.claims))
    path = write_certificate(loaded, proof)
    console.document([asdict(claim) for claim in proof.claims])
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("component", "about", "", "how"):
        table.add_column(title, overflow="fold")
    for claim in proof.claims:
        table.add_row(claim.component, claim.about, Text(*MARKS[claim.status]), claim.method or claim.detail)
        if console.quiet and claim.status != "proved":
            console.final(f"{claim.component}: {claim.about}: {MARKS[claim.status][0]}: {claim.detail}")
    console.show(table)
    count = sum(claim.status == "proved" for claim in proof.claims)
    console.final(f"{count} of {len(proof.claims)} claims proved")
    console.line(f"written: {path}")
    sys.exit(0 if proof.proved else 1)


def _model(build: Build, config: Config, say: Callable[[str], None]) -> Claim:
    """The claim that the build's integers are those of a TOML and the checkpoint that it names."""
    from mase_hw.prove.claims.model import claim_model

    say(f"{config.path.name} is quantized again")
    from mase_hw.flow import prepare  # torch
    from mase_hw.samples import reals

    again = prepare(config).compiled
    holds = ("config", "checkpoint", *(["model"] if is_onnx(config.model) else []))  # the integers come from these
    names = sorted({file.name for what, file in config.sources.items() if what in holds})
    return claim_model(build.design, again.design, " and ".join(names), (build.reals, reals(again.layers)))
