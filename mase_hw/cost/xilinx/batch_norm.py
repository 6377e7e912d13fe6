"""What a batch norm takes whose vectors come in several beats: one multiplier a lane, and tables of constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.array import Array
from mase_hw.cost.xilinx.folded import rows_cost, starts_cost, weights_cost
from mase_hw.cost.xilinx.plumbing import counter, wraps
from mase_hw.cost.xilinx.requantize import requantize_cost


def batch_norm_cost(array: Array, beats: int, latency: int, requantize: Mapping[str, Any]) -> Cost:
    """A LUT for each bit of a row, tables, and a counter of beats. What is always zero is left out."""
    lanes, index = array.fold.p_out, (beats - 1).bit_length()
    rows = rows_cost(array, np.stack(array.live).sum((1, 2)).tolist())
    entries = sum(stage[0].before if stage else array.rows[-1].after for stage in array.stages[1:])
    held = entries + array.acc_bits + len(array.stages) * array.x_bits
    depth = 2 * max(len(stage) for stage in array.stages)
    control = Cost(lut=index * (1 + wraps(beats)), ff=lanes * held + index + latency, depth=depth) + counter(index)
    ends = requantize_cost(requantize).times(lanes)
    return rows + control + weights_cost(array) + starts_cost(array) + ends
