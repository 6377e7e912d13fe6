"""Jinja filters: the one place where numbers become SystemVerilog text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from mase_hw.ops.sums import Sum


def constant(value: int, width: int) -> str:
    """A signed decimal literal of exactly `width` bits: 5 in 8 bits is `8'sd5`."""
    lo, hi = -(1 << (width - 1)), (1 << (width - 1)) - 1
    assert lo <= value <= hi, f"{value} does not fit {width} signed bits"
    if value == lo:
        return f"{width}'sh{1 << (width - 1):x}"  # its magnitude has no literal of its own
    return f"-{width}'sd{-value}" if value < 0 else f"{width}'sd{value}"


def constants(values: Sequence[int], width: int) -> str:
    return ", ".join(constant(value, width) for value in values)


def word(values: Sequence[int], width: int) -> str:
    """Signed integers of `width` bits side by side in one hexadecimal literal, the first in the lowest bits."""
    bits = 0
    for n, value in enumerate(values):
        assert -(1 << (width - 1)) <= value < 1 << (width - 1), f"{value} does not fit {width} signed bits"
        bits |= (value & ((1 << width) - 1)) << (n * width)
    total = width * len(values)
    return f"{total}'h{bits:0{-(-total // 4)}x}"


def index_width(count: int) -> int:
    """Bits of a counter 0 .. count-1, at least one."""
    return max(1, (count - 1).bit_length())


def parameter(value: int | bool) -> str:
    return f"1'b{int(value)}" if isinstance(value, bool) else str(value)


def terms(total: Sum, depth: int) -> str:
    """The right side of a registered sum of level `depth`, wrapped."""
    parts = [_wrapped(total.constant, total.width)] if total.constant or not total.terms else []
    for term in total.terms:
        source = f"x[{term.index}]" if depth == 1 else f"s{depth - 1}_{term.index}_q"
        factor = "" if term.factor == 1 else f" * {_wrapped(term.factor, total.width)}"
        parts.append(f"{total.width}'({source}){factor}")
    lines = textwrap.wrap(" + ".join(parts).replace(" * ", "\0"), 92, break_on_hyphens=False, break_long_words=False)
    return "\n          ".join(lines).replace("\0", " * ")


def _wrapped(value: int, width: int) -> str:
    """A literal modulo 2**width: a factor may be larger than the sum it goes into, which still comes out right."""
    half = 1 << (width - 1)
    return constant((value + half) % (2 * half) - half, width)


def lanes(indices: Sequence[int]) -> str:
    """Lanes of `x` in a concatenation, wrapped."""
    return "\n      ".join(textwrap.wrap(", ".join(f"x[{i}]" for i in indices), 92))


FILTERS = {
    "constants": constants,
    "index_width": index_width,
    "lanes": lanes,
    "parameter": parameter,
    "terms": terms,
    "word": word,
}
