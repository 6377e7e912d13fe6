"""A file's text: bytes, lines, comments, words and marks, and how deep it is nested; before any parser sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mase_hw.language import allowed

_TOKEN = re.compile(
    r"""//[^\n]*
    | "[^"\\\n]*"
    | [A-Za-z_][A-Za-z0-9_]*
    | [0-9]+'s?[bdh][0-9a-fA-F]+ (?![A-Za-z0-9_$?])
    | '[01] (?![A-Za-z0-9_$?])
    | [0-9]+ (?![A-Za-z0-9_$?.'])
    | [0-9]+ (?='\()
    | [0-9][A-Za-z0-9_$?.']*
    | \$[A-Za-z0-9_$]*
    | '\{ | '\( | \(\* | \*\) | \|=> | <<<=? | >>>=? | === | !== | ==\? | !=\?
    | \+\+ | -- | \*\* | && | \|\| | == | != | <= | >= | << | >> | :: | \+: | -: | => | -> | \#\# | ~[&|^] | \^~
    | [-+*/%&|^]=
    | [^ \n]""",
    re.VERBOSE,
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"[0-9]+")
_LITERAL = re.compile(r"[0-9]+'s?[bdh][0-9a-fA-F]+|'[01]")
_OTHER = re.compile(r"[^ -~\n]")
_FIRST = re.compile(r"\W*(\w*)")
_COMMENT = re.compile(allowed.COMMENT)
_ORDERS = tuple(allowed.ORDERS)
_SWITCH = re.compile(allowed.SWITCH)
_OPEN = {"(": ")", "[": "]", "{": "}", "'{": "}", "'(": ")", "(*": "*)", "begin": "end", "case": "endcase"}
_CLOSE = frozenset(_OPEN.values())
_DEEPER = (allowed.MARKS - {*_OPEN, *_CLOSE, ";", ",", ":", "@", "#"}) | {"if", "for"}


class Found(NamedTuple):
    """What is refused, and where."""

    line: int
    text: str


class Scanned(NamedTuple):
    """The words of a text that are neither numbers nor strings nor marks."""

    words: frozenset[str]
    refused: tuple[Found, ...]


def decode(content: bytes) -> str | Found:
    """The text of a file, or why it is none."""
    if len(content) > allowed.MAX_FILE:
        return Found(0, f"the file has {len(content):,} bytes, more than {allowed.MAX_FILE:,}")
    text = content.decode("latin-1")
    if other := _OTHER.search(text):
        line = text.count("\n", 0, other.start()) + 1
        return Found(line, f"the character {ord(other[0]):#04x} is no printable ASCII")
    if not text.endswith("\n"):
        return Found(text.count("\n") + 1, "the last line has no end")
    for number, line_text in enumerate(text.split("\n"), 1):
        if len(line_text) > allowed.MAX_LINE:
            return Found(number, f"the line has {len(line_text):,} columns, more than {allowed.MAX_LINE:,}")
    return text


def scan(text: str) -> Scanned:
    """Every token of a text: known, or refused at its line."""
    tokens = set(_TOKEN.findall(text))
    wrong = {token: why for token in tokens if (why := _refused(token)) is not None}
    words = frozenset(token for token in tokens if _WORD.fullmatch(token))
    places = tuple(_places(text, wrong)) if wrong else ()
    if not places and (deep := _too_deep(text)) is not None:
        places = (deep,)
    return Scanned(words, places)


def line_of(text: str, word: str) -> int:
    """The first line with a word outside of comments and strings."""
    return next(_places(text, {word: ""})).line


def _places(text: str, wrong: dict[str, str]) -> Iterator[Found]:
    """The first place of each wrong token."""
    left = dict(wrong)
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        if match[0] in left:
            line += text.count("\n", seen, match.start())
            seen = match.start()
            yield Found(line, left.pop(match[0]))


def _refused(token: str) -> str | None:
    """Why a token is refused; keywords are told from names by the parser."""
    if token in allowed.MARKS or token in allowed.SYSTEM:
        return None
    if token.startswith("//"):
        return _comment(token)
    if _WORD.fullmatch(token):
        return None if len(token) <= allowed.MAX_NAME else f"the name {token[:20]}... has {len(token)} characters"
    if _NUMBER.fullmatch(token):
        big = len(token) > len(str(allowed.MAX_WIDTH)) or int(token) > allowed.MAX_WIDTH
        return f"the number {_short(token)} is above {allowed.MAX_WIDTH:,}" if big else None
    if _LITERAL.fullmatch(token):
        size = token.partition("'")[0]
        big = len(size) > len(str(allowed.MAX_VECTOR)) or int(size or 0) > allowed.MAX_VECTOR
        return f"the constant {_short(token)} has more than {allowed.MAX_VECTOR:,} bits" if big else None
    if len(token) > 1 and token[0] == token[-1] == '"':
        return None
    kinds = {"$": "the system name ", "`": "a directive: ", "\\": "an escaped name: "}
    return f"{kinds.get(token[0], '')}`{_short(token)}` is not in the language"


def _comment(token: str) -> str | None:
    if not _COMMENT.fullmatch(token):
        return "a comment has no backslash"
    if is_order(token[2:]):
        return f"a comment that starts with `{_first(token[2:])}` is an order to a tool"
    if switch := _SWITCH.search(token):
        return f"a comment with `{switch[0]}` is an order to a tool"
    return None


def is_order(comment: str) -> bool:
    """Whether a tool may take a comment for an order. Verilator reads `verilatorpublic` as `verilator public`."""
    return _first(comment).lower().startswith(_ORDERS)


def _first(comment: str) -> str:
    found = _FIRST.match(comment)
    return found[1] if found else ""


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:21]}..."


def _too_deep(text: str) -> Found | None:
    """Where more is nested than parsers can be trusted with.

    An open bracket or block has a level, and the text outside of all has one. In each, operators count until the next
    comma or semicolon, and `else` counts as long as one follows another.
    """
    levels, total, after = [_Level("")], 0, False
    for match in _TOKEN.finditer(text):
        token, level = match[0], levels[-1]
        if after and token != "else":
            total -= level.chain
            level.chain = 0
        after = False
        if token in _OPEN:
            level.operators += token == "["  # x[0][0][0] is nested too
            total += 1 + (token == "[")
            levels.append(_Level(_OPEN[token]))
        elif token in _CLOSE and len(levels) > 1:
            if level.closes != token:
                return _nested(text, match.start(), f"`{token}` closes another bracket than the one that is open")
            levels.pop()
            total -= 1 + level.operators + level.chain
            after = token == "end"
            if after:
                total -= levels[-1].operators
                levels[-1].operators = 0
        elif token in _DEEPER:
            level.operators += 1
            total += 1
        elif token == "else":
            level.chain += 1
            total += 1
        elif token in (";", ","):
            total -= level.operators
            level.operators, after = 0, token == ";"
        if total > allowed.MAX_DEPTH:
            return _nested(text, match.start(), f"more than {allowed.MAX_DEPTH} brackets and operators are nested")
    return None


@dataclass
class _Level:
    """An open bracket or block, and what counts as nested in it."""

    closes: str
    operators: int = 0
    chain: int = 0


def _nested(text: str, offset: int, why: str) -> Found:
    return Found(text.count("\n", 0, offset) + 1, why)
