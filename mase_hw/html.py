"""A table as HTML, for notebooks. Everything that is shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_SENTENCE = 40  # letters from which a text is one


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; the notebook's own style applies."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = ("".join(_cell(str(cell)) for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    """Notebooks set cells right, which is for numbers and names; sentences are set left."""
    side = ' style="text-align:left"' if len(text) > _SENTENCE else ""
    return f"<td{side}>{escape(text)}</td>"
