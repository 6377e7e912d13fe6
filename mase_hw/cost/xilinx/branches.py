"""What components take where streams part and meet: forks, concatenations, sums."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.plumbing import chain, counter, wraps
from mase_hw.cost.xilinx.requantize import requantize_cost


def fork(width: int, branches: int, *, buffered: bool) -> Cost:
    if not buffered:
        return Cost(lut=2 * branches + 1, ff=width + branches, depth=2)
    return Cost(lut=width + branches + 3, ff=2 * width + branches + 1, depth=2)


def concat(width: int, ports: int, beats: int) -> Cost:
    """A multiplexer over the parts, a counter of beats, a register."""
    index = max(1, (beats - 1).bit_length())
    lut = width * max(1, -(-(ports - 1) // 2)) + 3 * ports + index * (1 + wraps(beats))
    return Cost(lut=lut, ff=width + index + 1, depth=3) + counter(index)


def concat_wide(width: int, ports: int) -> Cost:
    return Cost(lut=ports, ff=width + 1, depth=1)


def add(lanes: int, width: int, shift: int, inputs: int, requantize: Mapping[str, Any]) -> Cost:
    """An adder for each lane, a LUT for each bit from the place where both operands have one, and the requantize."""
    bits = max(1, width - shift)
    lane = Cost(lut=bits, carry=chain(bits).carry, depth=2) + requantize_cost(requantize)
    return lane.times(lanes) + Cost(lut=inputs, ff=1)
