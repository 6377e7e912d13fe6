"""batch_norm1d (eval): `x * scale + shift` for each feature, exact, then one requantize."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.hardware.component import Component, Instance
from mase_hw.hardware.control import Control, PipeControl
from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.result import Finish, Result, finish


@dataclass(frozen=True, eq=False)
class BatchNorm1d(Component):
    """One multiplier a lane; the constants of the beat at hand come from a table."""

    kind = "batch_norm1d"
    latency = 2  # multiply and add, then requantize
    registered_ready = False
    scale: Integers  # [features], both aligned to the accumulator's binary point
    shift: Integers
    step: Finish

    def execute(self, x: Integers) -> Integers:
        return self.step.execute(x * self.scale + self.shift)

    @property
    def interval(self) -> int:
        return self.input.beats

    def control(self) -> Control:
        return PipeControl(self.latency)

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


def batch_norm1d(
    name: str,
    x: Stream,
    scale: Integers,
    shift: Integers,
    scale_fixed: Fixed,
    shift_fixed: Fixed,
    result: Result | None,
) -> BatchNorm1d:
    """A batch norm of `x` whose scale and shift are integers of the given types."""
    alignment = align(x.fixed, scale_fixed, shift_fixed)
    scale, shift = scale << alignment.product_shift, shift << alignment.constant_shift
    corners = np.stack([bound * scale + shift for bound in x.bounds])
    out, step = finish(f"{name}_out", x.lanes, (corners.min(0), corners.max(0)), alignment.frac, result)
    return BatchNorm1d(name, (x,), (out,), scale, shift, step)
