"""Tables that fit: no word is ever split, nothing is cut off, and a terminal that is too narrow gets records."""

from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

PROSE = 24  # a column that is wider holds text, which may be wrapped
INDENT = 2  # of a record's values


def fitted(table: Table, width: int, *, wider: bool) -> RenderableType:
    """The table within `width` columns: closer together, its text wrapped between words.

    Where that is not enough, `wider` lets it be wider (in a file or a pipe lines may be long); otherwise a row becomes
    a record: its first cell, and below it every other cell with its title.
    """
    natural = [_widest(column, words=False) for column in table.columns]
    longest = [_widest(column, words=True) for column in table.columns]
    least = [max(word, min(full, PROSE)) for full, word in zip(natural, longest, strict=True)]
    if not wider and sum(least) + _between(table) > width:
        table.padding = 0
        if sum(least) + _between(table) > width:
            return _records(table, width)
    widths = _shrunk(natural, least, width - _between(table))
    table.columns = [replace(column, width=width) for column, width in zip(table.columns, widths, strict=True)]
    return table


def _widest(column: Column, *, words: bool) -> int:
    texts = [str(text) for text in (column.header, *column.cells)]
    parts = [part for text in texts for part in (text.split() if words else text.splitlines())]
    return max((cell_len(part) for part in parts), default=0)


def _between(table: Table) -> int:
    """Columns of the terminal that are not for cells: padding, and the lines between."""
    count = len(table.columns)
    left, right = table.padding[3], table.padding[1]
    edges = left + right if table.pad_edge else 0
    outer = 2 if table.box and table.show_edge else 0
    return (count - 1) * (left + right + (1 if table.box else 0)) + edges + outer


def _shrunk(natural: list[int], least: list[int], room: int) -> list[int]:
    """The widest column gives way first, and none below its least."""
    widths = list(natural)
    while sum(widths) > room:
        candidates = [k for k, (have, low) in enumerate(zip(widths, least, strict=True)) if have > low]
        if not candidates:
            break
        widths[max(candidates, key=lambda k: widths[k])] -= 1
    return widths


def _records(table: Table, width: int) -> Group:
    parts: list[RenderableType] = [Text(str(table.title))] if table.title else []
    titles = [str(column.header) for column in table.columns]
    counted = table.columns[0].justify == "right"  # a number says nothing without its title
    for first, *rest in zip(*(map(str, column.cells) for column in table.columns), strict=True):
        pairs = [f"{title} {text}".strip() for title, text in zip(titles[1:], rest, strict=True) if text.strip()]
        parts.append(Text(f"{titles[0]} {first}" if counted else first, "bold"))
        parts += [Padding(Text(line), (0, 0, 0, INDENT)) for line in _lines(pairs, width - INDENT)]
    return Group(Text(), *parts, *([Text(str(table.caption))] if table.caption else []), Text())


def _lines(pairs: list[str], width: int) -> list[str]:
    """As many pairs on a line as there is room for; only a pair that is longer than a line is wrapped later."""
    lines: list[str] = []
    for k, pair in enumerate(pairs):
        text = pair + ("," if k + 1 < len(pairs) else "")
        if lines and cell_len(lines[-1]) + 1 + cell_len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    return lines
