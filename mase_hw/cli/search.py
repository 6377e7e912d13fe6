"""`mase-hw search`: trials over widths and channels, the best of them, and their way to RTL."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from mase_hw.cli.console import Output, json_option, output
from mase_hw.cli.options import Chosen, config_options, load_options, need_packages

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from mase_hw.search.prepare import Prepared
    from mase_hw.search.trials import Count, Worker

_ROWS = 20


@click.command("search", short_help="Search widths and channels; the best can go to RTL.")
@config_options(training=False)
@click.option("--storage", help="Where the study lives: FILE.db, FILE.journal, or postgresql://user@host/database.")
@click.option("--study-name", help="Workers that give the same name share a study.  [default: the project]")
@click.option("--n-trials", type=click.IntRange(1), help="In place of [search.strategy.setup] n_trials.")
@click.option(
    "--heartbeat",
    default=30,
    show_default=True,
    type=click.IntRange(1),
    help="Seconds between two signs of life of a worker.",
)
@click.option("--emit-best", is_flag=True, help="Write best.toml, and the winner's RTL to build/<project>-best.")
@click.option("--trial", type=click.IntRange(0), help="With --emit-best: this trial instead of the winner.")
@json_option
def command(
    model_name: str | None,
    dataset_name: str | None,
    config_path: Path | None,
    storage: str | None,
    study_name: str | None,
    n_trials: int | None,
    heartbeat: int,
    emit_best: bool,
    trial: int | None,
    **given: Any,
) -> None:
    """Try out what [search] of a TOML offers and keep the best.

    \b
    mase_output/<project>/software/search gets
      best.json                the best trial; with several objectives, those that none beats in all of them
      pareto.png, pareto.html  every trial, the best ones marked
      study.db                 the study itself, where no --storage is given

    The same command goes on with a search that was interrupted. Given the same --storage and --study-name on other
    machines, or in other terminals, it makes more workers for one study. A worker that says nothing for two heartbeats
    is dead: another one takes over its trial.

    \b
    Examples:
      mase-hw search --config search.toml
      mase-hw search --config search.toml --emit-best
      mase-hw search --config search.toml --storage postgresql://me@server/studies --study-name widths
    """
    if trial is not None and not emit_best:
        raise click.UsageError("--trial goes with --emit-best")
    chosen = load_options(model_name, dataset_name, config_path, given)
    need_packages("search", "search", "optuna", "matplotlib")
    console = output()
    with console.status("preparing"):
        from mase_hw.search.prepare import prepare  # loads torch
        from mase_hw.search.storage import open_storage
        from mase_hw.search.trials import Worker, open_study

        prepared = prepare(chosen.config, n_trials)
        out = chosen.config.output / "search"
        opened, named = open_storage(storage, out, heartbeat)
        study = open_study(prepared, opened, study_name or chosen.config.project, named)
        worker = Worker(prepared, study, out)
    console.notes(prepared.notes)
    whole = _run(console, worker, prepared)
    best, content = _report(console, worker, prepared, out)
    again = _again(chosen, storage, study_name, n_trials)
    if not whole:
        console.document({**content, "interrupted": True})
        count = worker.count()
        text = f"interrupted: {count.done} of {prepared.total} trials are kept in {named}; the same command goes on:"
        click.echo(f"{text}\n  {again}", err=True)
        sys.exit(130)
    if emit_best:
        content["emitted"] = _emit(console, prepared, best, trial, worker, out)
    elif best:
        console.line(f"next: {_next(prepared, best, again)}")
    console.document(content)


def _run(console: Output, worker: Worker, prepared: Prepared) -> bool:
    total = prepared.total
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with console.progress(TextColumn("{task.description}"), *columns, transient=False) as progress:
        bar = progress.add_task("trials", total=total)

        def report(count: Count) -> None:
            waits = not count.waiting and count.done < total <= count.done + count.running
            told = "trials" if not waits else "waiting for other workers' trials"
            progress.update(bar, completed=min(count.done, total), description=told)

        return worker.run(report)


def _report(console: Output, worker: Worker, prepared: Prepared, out: Path) -> tuple[list[FrozenTrial], dict[str, Any]]:
    """The table and every file; the best trials, and what there is to say for programs."""
    from mase_hw.search.plot import picture, write_html, write_png
    from mase_hw.search.results import best_trials, completed, describe, drop_beaten_weights, result_of, write_best

    best, done = best_trials(worker.study), completed(worker.study)
    files = [write_best(best, out)]
    if done:
        shown = picture(prepared.search, done, best, f"{prepared.config.project}: {len(done)} trials")
        files += [write_png(shown, out / "pareto.png"), write_html(shown, out / "pareto.html")]
    drop_beaten_weights(worker.study, best, out)
    if best:
        console.show(_table(best))
    elif done:
        bounds = [metric.name for metric in prepared.search.metrics if metric.at_least is not None or metric.at_most]
        console.final(f"none of {len(done)} trials keeps the bounds on {', '.join(bounds)}")
    else:
        console.final("no trial is finished yet")
    results = [result_of(trial) for trial in worker.study.get_trials(deepcopy=False)]
    impossible = [result["problem"] for result in results if "problem" in result]
    if impossible:
        first = impossible[0].splitlines()[0]
        console.line(f"{len(impossible)} samples could not be measured; the first: {first}")
    console.final(f"written: {out}: {', '.join(file.name for file in files)}")
    content = {
        "project": prepared.config.project,
        "trials": len(done),
        "impossible": len(impossible),
        "best": [describe(trial) for trial in best],
        "written": [str(file) for file in files],
        "notes": list(prepared.notes),
    }
    return best, content


def _table(best: list[FrozenTrial]) -> Table:
    from mase_hw.search.results import metrics_of, short

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="best", title_justify="left")
    names = list(metrics_of(best[0]))
    for title in ("trial", *names, "chosen"):
        table.add_column(title, overflow="fold", justify="left" if title == "chosen" else "right")
    for trial in best[:_ROWS]:
        table.add_row(str(trial.number), *(f"{x:.6g}" for x in metrics_of(trial).values()), short(trial))
    if len(best) > _ROWS:
        table.caption = f"and {len(best) - _ROWS} more: see best.json"
    return table


def _next(prepared: Prepared, best: list[FrozenTrial], again: str) -> str:
    from mase_hw.search.best import sample_of
    from mase_hw.search.results import winner
    from mase_hw.search.space import quantizes

    trial = winner(best, prepared.search)
    if trial is None or quantizes(sample_of(trial)):
        return f"{again} --emit-best"
    return f"quantizers for RTL: trial {trial.number} is all floats; [search.search_space.seed] can offer integer"


def _emit(
    console: Output, prepared: Prepared, best: list[FrozenTrial], number: int | None, worker: Worker, out: Path
) -> dict[str, Any]:
    from mase_hw.cli.emit import cycles, document
    from mase_hw.diagnostics import Problem, ProblemsError
    from mase_hw.search.best import emit_winner, write_winner
    from mase_hw.search.results import completed, winner

    trial = winner(best, prepared.search)
    if number is not None:
        trial = next((trial for trial in completed(worker.study) if trial.number == number), None)
    if trial is None:
        what = "there is no best trial to emit" if number is None else f"--trial {number}: no such trial is finished"
        raise ProblemsError(Problem(what, hint="run more trials, or loosen the bounds on the metrics"))
    with console.status("emitting the winner"):
        path = write_winner(prepared, trial, out)
        console.line(f"trial {trial.number} as a configuration: {path}")
        build, notes = emit_winner(path)
    console.notes(notes)
    console.line(cycles(build))
    console.final(f"written: {build.path}   next: mase-hw sim {build.path}")
    return {"trial": trial.number, "config": str(path), **document(build, notes)}


def _again(chosen: Chosen, storage: str | None, study_name: str | None, n_trials: int | None) -> str:
    pairs = (("--storage", storage), ("--study-name", study_name), ("--n-trials", n_trials))
    more = [word for flag, value in pairs if value is not None for word in (flag, str(value))]
    return f"{chosen.command('search')}{' ' if more else ''}{shlex.join(more)}"
