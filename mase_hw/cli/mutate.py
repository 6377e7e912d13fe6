"""`mase-hw mutate`: changes a build's RTL in one place at a time, and counts what the benches and the prover notice."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from mase_hw.cli.builds import open_build
from mase_hw.cli.console import json_option, output


@click.command("mutate", short_help="Break a build's RTL on purpose, and count who notices.")
@click.argument("build", type=click.Path(path_type=Path))
@click.option("--count", default=40, show_default=True, type=click.IntRange(1), help="Mutants to draw.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Which ones are drawn.")
@click.option(
    "--engine",
    type=click.Choice(["prove", "native", "both", "any"]),
    default="both",
    show_default=True,
    help="Who is asked: the prover, the native bench, both of each mutant, or the prover of what the bench passes.",
)
@click.option(
    "--all", "everywhere", is_flag=True, help="Every place of the source; --count is of netlist mutants then."
)
@click.option(
    "--kind", type=click.Choice(["source", "netlist", "all"]), default="all", show_default=True, help="Where to change."
)
@click.option("--jobs", type=click.IntRange(1), help="Mutants tried side by side.  [default: number of processors]")
@json_option
def command(build: Path, count: int, seed: int, engine: str, everywhere: bool, kind: str, jobs: int | None) -> None:
    """Change the RTL in the folder BUILD in one place at a time, and count which changes are noticed.

    \b
    source   one change to the text of an emitted file: an operator, a constant, a bit of a table, a condition,
             an enable or a reset left out
    netlist  one bit of the netlist inverted or fixed, drawn by Yosys' `mutate`

    \b
    killed      the bench sees a wrong integer, cycle or handshake, or the prover no longer proves a claim
    equivalent  proved to behave as the unmutated design; not counted
    invalid     no design at all: Yosys or Verilator cannot read it; not counted
    alive       none of these: shown with its line, and the exit code is 1

    Half of the mutants are of each kind. A mutant is tried on the component that it changes. Verdicts are kept in
    BUILD/mutate, so a run that was stopped with Ctrl-C goes on where it was. BUILD may also be a TOML file.

    \b
    Examples:
      mase-hw mutate build/digits
      mase-hw mutate build/digits --count 400 --seed 1 --json > mutants.json
      mase-hw mutate build/digits --engine prove --kind source
      mase-hw mutate build/digits --all --engine any --kind source
    """
    loaded = open_build(build).build
    from mase_hw.mutate.campaign import Judged, MutationRequest, Run
    from mase_hw.mutate.report import Score, document
    from mase_hw.mutate.subject import untouched

    kinds = ("source", "netlist") if kind == "all" else (kind,)
    chosen = MutationRequest(count, seed, engine, kinds, everywhere=everywhere)  # type: ignore[arg-type]
    request = chosen if jobs is None else replace(chosen, jobs=jobs)
    judged: list[Judged] = []
    stopped = False
    console = output()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with console.progress(*columns) as bar:
        task = bar.add_task("", total=None)
        run = Run(loaded, request, lambda text: bar.update(task, description=text))
        try:
            for each in run:
                judged.append(each)
                bar.update(task, completed=len(judged), total=run.mutants)
        except KeyboardInterrupt:
            stopped = True
    score = Score.of(judged)
    left = untouched(loaded)
    console.document(document(score, request, stopped=stopped, drawn=run.mutants, untouched=left))
    for k, line in enumerate(score.lines()):
        alive = line.startswith("ALIVE")
        say = console.final if alive or not k else console.line
        say(line, style="red" if alive else None)
    if left:
        console.final(f"not mutated: {', '.join(left)} (the AXI4-Stream top, which `mase-hw sim` drives)")
    if stopped:
        console.final(f"stopped after {len(judged)} of {run.mutants or count} mutants")
        sys.exit(130)
    sys.exit(1 if score.those("alive") else 0)
