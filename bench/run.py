"""`make bench`: timings of `emit`, `sim` and `search`, each as a ratio to something measured in the same run."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

import click
from measure import Group
from rich.console import Console
from rich.table import Table

PARTS = ("emit", "sim", "search")


@click.command()
@click.option("--only", type=click.Choice(PARTS), help="One part.  [default: all]")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write every row to FILE.")
def command(only: str | None, file: Path | None) -> None:
    """Measure and print. The figures depend on the machine; the ratios much less. Nothing passes or fails here.

    \b
    Examples:
      python bench/run.py
      python bench/run.py --only sim --json bench.json
    """
    console = Console()
    groups: list[Group] = []
    with tempfile.TemporaryDirectory(prefix="mase-hw-bench-") as folder:
        for part in PARTS:
            if only in (None, part):
                with Console(stderr=True).status(f"measuring {part}"):
                    groups += _measure(part, Path(folder) / part)
    for group in groups:
        console.print(_table(group))
    if file is not None:
        document = {"cores": os.cpu_count(), "rows": [asdict(row) for group in groups for row in group.rows]}
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        console.print(f"written: {file}", highlight=False)


def _measure(part: str, folder: Path) -> list[Group]:
    # Each part imports what it measures, so that start-up is measured before torch is loaded.
    if part == "emit":
        import emitting

        return emitting.groups(folder)
    if part == "search":
        import search

        return search.groups(folder)
    import simulating

    return simulating.groups(folder)


def _table(group: Group) -> Table:
    table = Table(title=group.name, title_justify="left", min_width=90)
    table.add_column("what", ratio=1)
    table.add_column(group.unit, justify="right", width=12)
    table.add_column(f"ratio to {group.base}", justify="right", width=22)
    for row in group.rows:
        table.add_row(row.name, _number(row.value), _number(row.ratio))
    return table


def _number(value: float) -> str:
    """Three digits are more than a timing is good for."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    command()
