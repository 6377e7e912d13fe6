"""What components take where streams part and meet: forks, concatenations, sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.plumbing import chain, wraps
from mase_hw.cost.xilinx.requantize import requantize_cost

SHORT = 2  # bits of a counter of beats without a carry chain


@dataclass(frozen=True)
class Operand:
    """An operand of a sum: so many bits, shifted to the left."""

    width: int
    signed: bool
    shift: int

    def bit(self, k: int) -> int | None:
        """Which bit of it stands at bit `k` of the sum: its sign again above it, and None where there is a 0."""
        at = k - self.shift
        if at < 0 or (at >= self.width and not self.signed):
            return None
        return min(at, self.width - 1)


def fork(width: int, branches: int, *, buffered: bool) -> Cost:
    """A flag for each branch; buffered, a second register and a multiplexer."""
    depth = 1 + (branches > 2)  # whether all branches are done takes a LUT of its own
    if not buffered:
        return Cost(lut=2 * branches, ff=width + branches, depth=depth)
    return Cost(lut=width + 2 * branches + 2, ff=2 * width + branches + 1, depth=depth)


def concat(width: int, ports: int, beats: int) -> Cost:
    """A multiplexer over the parts, a counter of beats, a register."""
    index = max(1, (beats - 1).bit_length())
    selected = 2 if wraps(beats // ports) else 3  # further parts in a LUT: their number is bits of the counter, or not
    lut = width * -(-(ports - 1) // selected) + 2 * ports + index + wraps(beats)
    held = Cost(lut=lut, ff=width + index + 1, depth=1 + (index > SHORT))
    return held + chain(index - 1) if index > SHORT else held


def concat_wide(width: int, ports: int) -> Cost:
    return _joined(ports) + Cost(ff=width, depth=1)


def add(
    lanes: int, width: int, first: Operand, second: Operand, minus: bool, inputs: int, requantize: Mapping[str, Any]
) -> Cost:
    """An adder for each lane, and its requantize. `width` holds every sum with its sign."""
    ended = requantize_cost(requantize)
    never_negative = not (first.signed or second.signed or minus)
    if never_negative and requantize["OutSigned"] and not requantize["Rectify"]:
        ended = replace(ended, ff=ended.ff - 1)  # synthesis sees that the sign is 0
    lane = _adder(width, first, second, minus) + ended
    depth = max(2 + min(1, ended.depth), ended.depth + 1)
    return replace(lane, depth=depth).times(lanes) + _joined(inputs)


def _adder(width: int, first: Operand, second: Operand, minus: bool) -> Cost:
    """A LUT where both operands have a bit, the LUT's place where one has; above their signs one LUT serves all bits.

    What is below the lowest bit of one of them passes. Where the second is subtracted, its own low bits do not.
    """
    start = second.shift if minus else max(first.shift, second.shift)
    pairs = [(first.bit(k), second.bit(k)) for k in range(start, width)]
    both = {pair for pair in pairs if None not in pair}
    alone = [pair for pair in pairs if (pair[0] is None) != (pair[1] is None)]
    top = max((k for k, pair in enumerate(pairs) if pair != (None, None)), default=-1)
    bits = max(0, min(width - start, top + 2))  # with the bit that only a carry reaches
    return Cost(sites=len(both) + len(alone), lut=len(both), carry=-(-bits // 4))


def _joined(inputs: int) -> Cost:
    """Whether every input holds a beat, the ready of each, and the flag of the stage."""
    return Cost(lut=inputs + 1, ff=1)
