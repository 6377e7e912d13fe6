"""Jinja filters: numbers as SystemVerilog text."""

from __future__ import annotations

from collections.abc import Sequence

from mase_hw.ir.finish import Long


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
    if isinstance(value, Long):
        return constant(value, 64)
    return f"1'b{int(value)}" if isinstance(value, bool) else str(value)


FILTERS = {
    "constants": constants,
    "index_width": index_width,
    "parameter": parameter,
    "word": word,
}
