"""TOML from elsewhere: how deep it goes is looked at before it is parsed, which takes a call for each level.

A key of many parts is as deep as it has parts, and Python's parser takes time with the square of them.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

from mase_hw.untrusted.regular import RefusedError

LARGEST = 256 << 10  # bytes of a file
NESTING = 32
_BITS = 256
_TOKEN = re.compile(
    r'(?P<skip>[ \t]+|#[^\n]*)|(?P<part>"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|[\w+-]+)|(?P<broken>[\"'])|(?P<dot>\.)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<other>.)",
    re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    """The values of a TOML document; TOMLDecodeError or another ValueError where it is none."""
    _expect_flat(text)
    try:
        values = tomllib.loads(text)
    except (RecursionError, MemoryError):
        raise RefusedError("is nested too deeply") from None
    _expect_small(values)
    return values


def _expect_small(values: Any) -> None:
    """Level by level, without a call for each. Integers too: in other bases than ten Python reads any of them."""
    level = [values]
    for _ in range(NESTING):
        if any(isinstance(part, int) and part.bit_length() > _BITS for part in level):
            raise RefusedError(f"has an integer of more than {_BITS} bits")
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [one for part in inner for one in (part.values() if isinstance(part, dict) else part)]
    if level:
        raise RefusedError(f"is nested more than {NESTING} deep")


def _expect_flat(text: str) -> None:
    parts = brackets = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "broken":  # a string that does not end, where the parser ends too
            return
        if kind == "dot":
            parts += 1
        elif kind == "open":
            brackets += 1
        elif kind == "close":
            brackets -= 1
        if kind not in ("dot", "part", "skip"):
            parts = 0
        if parts > NESTING or brackets > NESTING:
            raise RefusedError(f"is nested more than {NESTING} deep")
