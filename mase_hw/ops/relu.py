"""relu: `max(n, 0)`, exact; its output keeps the type of its input unless its reader wants another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.hardware.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.elementwise import Elementwise
from mase_hw.ops.result import Result, finish


@dataclass(frozen=True, eq=False)
class ReLU(Elementwise):
    """`requantize(max(n, 0))` on every lane."""

    kind = "relu"
    rectify = True

    def execute(self, x: Integers) -> Integers:
        return self.step.execute(np.maximum(x, 0))


def relu(name: str, x: Stream, result: Result) -> ReLU:
    """A ReLU of `x`, handed on as `result`."""
    exact = tuple(np.maximum(side, 0) for side in x.bounds)
    out, step = finish(f"{name}_out", x.lanes, (exact[0], exact[1]), x.fixed.frac, result)
    return ReLU(name, (x,), (out,), step)
