"""A literal of SystemVerilog, changed by as little as can be: one more, one less, or one bit."""

from __future__ import annotations

import random
import re

_SIZED = re.compile(r"(\d+)?'(s?)([bodhBODH])([0-9a-fA-F_]+)")
_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}
_TABLE = 16  # a word of more bits than these is a row of a table, of which one bit is flipped


def changed_literal(text: str, rng: random.Random) -> str | None:
    """Another literal of the same size and base; None for what is not understood (x, z, reals)."""
    if text in ("'0", "'1"):
        return "'1" if text == "'0" else "'0"
    if re.fullmatch(r"\d+", text):
        return str(_beside(int(text), rng))
    match = _SIZED.fullmatch(text.replace(" ", ""))
    if match is None:
        return None
    width = int(match[1]) if match[1] else 32
    base = _BASES[match[3].lower()]
    value = int(match[4].replace("_", ""), base)
    if width == 1 or (width > _TABLE and base == 16):
        value ^= 1 << rng.randrange(width)
    else:
        # A signed literal's own sign is an operator before it: here it is a number of one bit less.
        top = (1 << (width - bool(match[2]))) - 1
        value = _beside(value, rng) if value < top else value - 1
    return f"{match[1] or ''}'{match[2]}{match[3]}{_digits(value, base)}"


def _beside(value: int, rng: random.Random) -> int:
    return value + rng.choice((1, -1)) if value else 1


def _digits(value: int, base: int) -> str:
    return {2: f"{value:b}", 8: f"{value:o}", 10: f"{value:d}", 16: f"{value:x}"}[base]
