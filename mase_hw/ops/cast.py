"""Cast, and what it shares with ReLU: one register stage on every lane, requantizing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.finish import Finish, Result, result_stream
from mase_hw.ir.meaning import Affine, Meaning
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True, eq=False)
class Elementwise(Pipe):
    """One stage: requantize, with or without a ReLU."""

    latency = 1
    finish: Finish = field(kw_only=True)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (self.finish.execute(x[0]),)

    def meaning(self) -> Meaning:
        features = self.input.features
        return Affine((np.eye(features, dtype=np.int64),), np.zeros(features, np.int64), self.finish)

    def instance(self) -> Instance:
        x = self.input
        values = {"Lanes": x.lanes, "InWidth": x.fixed.width, "InSigned": x.fixed.signed, **self.finish.parameters()}
        return Instance(library="mase_cast", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        x = self.input
        lane = requantize_cost(self.finish.parameters(), unsigned=0 if x.fixed.signed else x.fixed.width)
        return lane.times(x.lanes) + Cost(ff=1)


@dataclass(frozen=True, eq=False)
class Cast(Elementwise):
    """The same numbers in another type: `requantize(n)`."""

    kind = "cast"


def cast(name: str, x: Stream, result: Result) -> Cast:
    """A cast of `x` to `result`."""
    out, step = result_stream(f"{name}_out", x.lanes, x.bounds, x.fixed.frac, result, frame=x.frame)
    return Cast(name, (x,), (out,), finish=step)
