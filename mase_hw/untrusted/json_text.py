"""JSON from elsewhere: plain values with short integers and finite numbers, not nested deeply, no key twice."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from mase_hw.untrusted.regular import RefusedError

NESTING = 64
DIGITS = 300  # of an integer
_OUTSIDE = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]')


def parse_json(data: bytes, nesting: int = NESTING) -> Any:
    """The values of a JSON text in UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusedError(f"is no text in UTF-8: byte {error.start}") from None
    _expect_flat(data, nesting)
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_float, parse_constant=_constant, object_pairs_hook=_table
        )
    except RefusedError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        raise RefusedError(f"is no JSON: {str(error) or type(error).__name__}") from None


def _expect_flat(data: bytes, nesting: int) -> None:
    """Before it is parsed, which takes a call for each level."""
    depth = 0
    for match in _OUTSIDE.finditer(data):
        mark = match[0][:1]
        if mark in b"[{":
            depth += 1
            if depth > nesting:
                raise RefusedError(f"is nested more than {nesting} deep")
        elif mark in b"]}":
            depth -= 1


def _integer(text: str) -> int:
    if len(text) > DIGITS:
        raise RefusedError(f"has an integer of {len(text):,} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise RefusedError(f"has the number {text[:30]}, which is not finite")
    return value


def _constant(text: str) -> NoReturn:
    raise RefusedError(f"has the number {text}, which is not finite")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Other programs take the first of two values of a key, or the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RefusedError(f"has the key {next(key for key in keys if keys.count(key) > 1)!r} more than once")
    return found
