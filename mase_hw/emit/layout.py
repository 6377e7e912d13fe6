"""The layout of emitted text: comments in lines of equal width, and no line over 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise

from mase_hw.language.text import is_order

COLUMNS = 100
_INDENT = 4  # of what continues a line
_DIGITS = 64  # hexadecimal digits of a literal that stay in one piece
_LITERAL = re.compile(r"(\d+)'h([0-9a-f]+)")
_NAME = "name "
_STRING = re.compile(r'"[^"]*"')
# Where a line may be broken, the best places first: between the items of a list, before an operator, after `=`.
_BREAKS = (
    re.compile(r"(?<=,) "),
    re.compile(r" (?=(?:&&|\|\||[-+?:^]) )"),
    re.compile(r"(?<==) "),
)


def comment(text: str, indent: int = 0) -> str:
    """Paragraphs as a comment, one after the other; an empty line of the comment stands between two."""
    prefix = " " * indent + "//"
    paragraphs = (paragraph.split() for paragraph in re.split(r"\n\s*\n", text.strip()))
    return f"\n{prefix}\n".join("\n".join(_wrapped(" ".join(words), f"{prefix} ")) for words in paragraphs) + "\n"


def fit(text: str) -> str:
    """The text with every line that is too long broken into several that mean the same."""
    if all(len(line) <= COLUMNS for line in text.split("\n")):
        return text
    return "\n".join(part for line in text.split("\n") for part in _fitted(line))


def _fitted(line: str) -> Iterator[str]:
    if len(line) <= COLUMNS:
        yield line
        return
    code = line.lstrip()
    indent = " " * (len(line) - len(code))
    if code.startswith("//"):
        yield from _wrapped(code.removeprefix("//").strip(), f"{indent}// ")
        return
    code, mark, said = code.partition("  // ")
    if mark:
        yield from _wrapped(said, f"{indent}// ")
    rest, more = indent + _LITERAL.sub(_pieces, code), indent + " " * _INDENT
    while len(rest) > COLUMNS:
        place = _place(rest, len(indent))
        if place is None:
            break  # one word that is longer than a line
        yield rest[:place]
        rest = more + rest[place + 1 :]
    yield rest


def _wrapped(text: str, prefix: str) -> list[str]:
    """In lines. A word stands before a user's name that starts one as an order to a tool does (`verilator_net`)."""
    lines = textwrap.wrap(text, COLUMNS - len(prefix), break_long_words=False)
    if any(map(is_order, lines)):
        lines = textwrap.wrap(text, COLUMNS - len(prefix) - len(_NAME), break_long_words=False)
    return [prefix + (_NAME if is_order(line) else "") + line for line in lines]


def _place(line: str, indent: int) -> int | None:
    """The space at which the line is broken."""
    strings = [range(*match.span()) for match in _STRING.finditer(line)]
    for pattern in _BREAKS:
        places = [match.start() for match in pattern.finditer(line, indent + _INDENT + 1)]
        places = [place for place in places if not any(place in string for string in strings)]
        if fitting := [place for place in places if place <= COLUMNS]:
            return fitting[-1]
    return None


def _pieces(match: re.Match[str]) -> str:
    """A wide literal as a concatenation of narrow ones."""
    width, digits = int(match[1]), match[2]
    if len(digits) <= _DIGITS:
        return match[0]
    first = len(digits) % _DIGITS or _DIGITS
    cuts = [0, *range(first, len(digits) + 1, _DIGITS)]
    parts = [digits[start:end] for start, end in pairwise(cuts)]
    top = width - 4 * _DIGITS * (len(parts) - 1)
    return "{" + ", ".join([f"{top}'h{parts[0]}", *(f"{4 * _DIGITS}'h{part}" for part in parts[1:])]) + "}"
