"""Tables as plain text: rich draws them, and the same text goes to the terminal and to files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

_WIDTH = 1000  # more than any table needs: nothing is cut or wrapped, wherever the text goes


def text_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as text; columns that hold numbers alone are set right."""
    lines = [list(row) for row in rows]
    table = Table(title=title, title_justify="left", box=box.ROUNDED)
    for k, column in enumerate(columns):
        numbers = bool(lines) and all(isinstance(line[k], int | float) for line in lines)
        table.add_column(column, justify="right" if numbers else "left", no_wrap=False, overflow="fold")
    for line in lines:
        table.add_row(*(_cell(value) for value in line))
    file = io.StringIO()
    Console(file=file, width=_WIDTH, color_system=None, markup=False, highlight=False, emoji=False).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)
