"""batch_norm1d (eval): `x * scale + shift` for each feature, exact, then one requantize."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from mase_hw.hardware.component import Instance, Pipe
from mase_hw.hardware.cost import Cost
from mase_hw.hardware.plumbing import counter_carries, wraps
from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.linear_unrolled import LinearUnrolled, unrolled
from mase_hw.ops.matrix import ADDERS_PER_STAGE
from mase_hw.ops.result import Finish, Result, finish, requantize_cost

FULL_ADDER = 1.5  # LUTs for each bit of a partial product, fitted
TABLE_FREE = 2  # a counter of so few bits goes into the LUTs of the products


@dataclass(frozen=True, eq=False)
class BatchNorm1d(Pipe):
    """One multiplier a lane; the constants of the beat at hand come from a table."""

    kind = "batch_norm1d"
    latency = 2  # multiply and add, then requantize
    scale: Integers  # [features], both aligned to the accumulator's binary point
    shift: Integers
    step: Finish

    def execute(self, x: Integers) -> Integers:
        return self.step.execute(x * self.scale + self.shift)

    def instance(self) -> Instance:
        values = {
            "scale": self.scale.reshape(-1, self.input.lanes).tolist(),
            "shift": self.shift.reshape(-1, self.input.lanes).tolist(),
            "scale_width": signed_width(int(self.scale.min()), int(self.scale.max())),
            "shift_width": signed_width(int(self.shift.min()), int(self.shift.max())),
            "acc_width": self.step.width,
            "step": self.step,
        }
        return Instance(template="batch_norm1d", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        """In each lane full adders reduce the partial products and the shift to two numbers, which a carry chain adds.

        Bits of the constants that are the same in all beats need no table, and a partial product of zeros no adder.
        """
        x, acc, lanes, beats = self.input.fixed.width, self.step.width, self.input.lanes, self.input.beats
        index = (beats - 1).bit_length()
        looked_up = index > TABLE_FREE
        added, rows = 0.0, 1
        for scale, shift in zip(self.scale.reshape(beats, lanes).T, self.shift.reshape(beats, lanes).T, strict=True):
            products, constants = _columns(scale), _columns(shift)
            live = sum(1 for column in products if any(column))
            tables = {column for column in (*products, *constants) if 0 < sum(column) < beats}
            added += FULL_ADDER * x * max(0, live - 1) + looked_up * len(tables) * -(-beats // 64)
            rows = max(rows, live)
        levels = ceil(log((rows + 1) / 2, 1.5)) + looked_up + 2  # a level of full adders leaves two rows of three
        lut = round(added) + lanes * acc + index * (1 + wraps(beats))
        carry = lanes * -(-acc // 4) + counter_carries(index)
        multipliers = Cost(lut, 0, lanes * acc + index + self.latency, carry, depth=levels)
        return sum([requantize_cost(self.step.parameters())] * lanes, multipliers)


def _columns(constants: Integers) -> list[tuple[int, ...]]:
    """The bits of a lane's constants, place by place, each over all beats."""
    width = signed_width(int(constants.min()), int(constants.max()))
    return [tuple(((constants >> k) & 1).tolist()) for k in range(width)]


def batch_norm1d(
    name: str,
    x: Stream,
    scale: Integers,
    shift: Integers,
    scale_fixed: Fixed,
    shift_fixed: Fixed,
    result: Result | None,
    adders_per_stage: int = ADDERS_PER_STAGE,
) -> BatchNorm1d | LinearUnrolled:
    """A batch norm of `x` whose scale and shift are integers of the given types.

    Where a vector is one beat, every multiplier has one constant: a linear layer with a diagonal matrix, unrolled.
    """
    alignment = align(x.fixed, scale_fixed, shift_fixed)
    if x.beats == 1:
        shift = shift << alignment.constant_shift
        return unrolled(name, x, np.diag(scale), shift, alignment, result, adders_per_stage=adders_per_stage)
    scale, shift = scale << alignment.product_shift, shift << alignment.constant_shift
    corners = np.stack([bound * scale + shift for bound in x.bounds])
    out, step = finish(f"{name}_out", x.lanes, (corners.min(0), corners.max(0)), alignment.frac, result)
    return BatchNorm1d(name, (x,), (out,), scale, shift, step)
