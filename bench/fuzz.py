"""`make fuzz`: random networks from TOML to certificate, as many as there is time for; stopped, it goes on later."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "fuzz"))

from fuzzing.batch import Ran, run_batch
from fuzzing.cases import Case
from fuzzing.coverage import LOG, entry, read_log, summary
from fuzzing.draw import draw_case, shrink
from fuzzing.run import SECONDS, run_case, within
from fuzzing.save import command_in, save_case


@click.command()
@click.option("--count", default=200, show_default=True, type=click.IntRange(1), help="Cases.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="The number of the first case.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="Stop after so long.  [default: never]")
@click.option("--seconds", default=SECONDS, show_default=True, type=click.IntRange(1), help="The most for a step.")
@click.option(
    "--shrunk", default=2, show_default=True, type=click.IntRange(0), help="Failures of one kind to shrink, in minutes."
)
@click.option("--no-sim", is_flag=True, help="Emit and prove alone: several times as many cases in the same time.")
@click.option("--batch", default=8, show_default=True, type=click.IntRange(1), help="Designs in one simulation.")
@click.option(
    "--out",
    default=Path("build/fuzz"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The log, the failures, and the folder to work in.",
)
def command(
    count: int, seed: int, minutes: float | None, seconds: int, shrunk: int, no_sim: bool, batch: int, out: Path
) -> None:
    """Draw cases, build, simulate and prove each; shrink and save those that fail. Exit code 1 if any did.

    A case is its number: the same one in every run. Those in OUT/log.jsonl are not run again, so a run that was
    stopped goes on where it was; delete OUT after a change of the code. A failing case is OUT/failed/<number>, with
    reproduce.sh in it.

    \b
    Examples:
      python bench/fuzz.py --count 2000
      python bench/fuzz.py --minutes 480 --count 1000000
      python bench/fuzz.py --seed 137 --count 1 --out /tmp/one
    """
    console = Console(soft_wrap=True)
    out.mkdir(parents=True, exist_ok=True)
    done = read_log(out)
    wanted = [number for number in range(seed, seed + count) if number not in done]
    if len(wanted) < count:
        console.print(f"{count - len(wanted)} of {count} cases are in {out / LOG}", highlight=False)
    end = None if minutes is None else time.monotonic() + 60 * minutes
    errors = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    begun = time.monotonic()
    stopped = False
    with Progress(*columns, console=errors, disable=not errors.is_terminal) as bar:
        task = bar.add_task("fuzzing", total=count, completed=count - len(wanted))
        try:
            for first in range(0, len(wanted), batch):
                if end is not None and time.monotonic() > end:
                    break
                _run(wanted[first : first + batch], out, seconds, shrunk, not no_sim, console)
                bar.advance(task, len(wanted[first : first + batch]))
        except KeyboardInterrupt:
            stopped = True
    _report(out, seed, count, len(wanted), time.monotonic() - begun, console)
    failed = any(one["status"] == "failed" for number, one in read_log(out).items() if seed <= number < seed + count)
    sys.exit(130 if stopped else int(failed))


def _run(numbers: list[int], out: Path, seconds: int, shrunk: int, simulated: bool, console: Console) -> None:
    """A batch; its lines are written when all of it is done."""
    work, cases = out / "work", [draw_case(number) for number in numbers]
    shutil.rmtree(work, ignore_errors=True)
    ran = run_batch(cases, work, out / "cache", seconds, simulated=simulated)
    kinds = Counter(str(one["kind"]) for one in read_log(out).values() if one["status"] == "failed")
    for number, one in zip(numbers, ran, strict=True):
        if one.result.status == "failed":
            kinds[one.result.kind] += 1
            _save(number, one, kinds[one.result.kind] <= shrunk, out, console)
    with (out / LOG).open("a", encoding="utf-8") as log:
        for number, one in zip(numbers, ran, strict=True):
            log.write(json.dumps(entry(number, one)) + "\n")


def _alone(case: Case, folder: Path) -> Ran:
    shutil.rmtree(folder, ignore_errors=True)
    return Ran(case, within(SECONDS, lambda: run_case(case, folder)), None)


def _save(number: int, ran: Ran, shrunk: bool, out: Path, console: Console) -> None:
    case, result = ran.case, ran.result
    console.print(f"case {number}: {result.kind}: {result.detail}", style="red", highlight=False, markup=False)
    folder = save_case(case, result, out / "failed" / str(number) / "drawn")
    if shrunk and result.kind not in ("time", "batch"):
        case, result = shrink(number, result, lambda case: _alone(case, out / "work" / "alone").result)
        folder = save_case(case, result, out / "failed" / str(number) / "smallest")
    console.print(f"  {command_in(folder)}", highlight=False, markup=False)


def _report(out: Path, seed: int, count: int, new: int, seconds: float, console: Console) -> None:
    log = {number: one for number, one in read_log(out).items() if seed <= number < seed + count}
    ran = new - (count - len(log))
    if ran:
        rate = f"{ran} cases in {seconds / 60:.1f} minutes, {seconds / ran:.2f} s each"
        console.print(rate, highlight=False)
    for line in summary(log.values()):
        console.print(line, highlight=False)
    failed = sorted(number for number, one in log.items() if one["status"] == "failed")
    text = f"FAILED: cases {', '.join(map(str, failed))}; see {out / 'failed'}" if failed else "no case failed"
    console.print(text, highlight=False)


if __name__ == "__main__":
    command()
