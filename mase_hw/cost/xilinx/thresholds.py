"""What thresholds take: a comparison for each bit of the result, and the tables that they read."""

from __future__ import annotations

from collections.abc import Sequence

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.plumbing import chain, counter, wraps

_MERGED = 5  # address bits of a table that fit into the LUT beside a bit of the carry chain


def thresholds_cost(
    lanes: int, beats: int, compared: Sequence[int], number: int, out_bits: int, *, counted: bool
) -> Cost:
    """A carry chain of so many bits a stage, in each lane. A table of few entries lies in the LUTs beside the chain."""
    index, stages = (beats - 1).bit_length(), len(compared)
    lane = Cost()
    for stage, bits in enumerate(compared):
        address = index + stage
        if not address:
            lane += chain(bits)  # a constant: the number drives the chain
            continue
        entries = 0 if address <= _MERGED else bits * max(1, (beats << stage) // 64)
        lane += Cost(lut=bits + entries, carry=-(-bits // 4), depth=2)
    held = (stages - 1) * number + stages * (stages - 1) // 2 + out_bits
    lane += Cost(lut=0 if counted or stages <= 1 else out_bits, ff=held)
    control = Cost(lut=index * (1 + wraps(beats)), ff=index * stages + stages) + counter(index)
    return lane.times(lanes) + control
