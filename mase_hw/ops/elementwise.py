"""Cast, and what it shares with ReLU: one register stage on every lane, requantizing."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.cost import Cost
from mase_hw.ir.finish import Finish, Result, finish
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True, eq=False)
class Elementwise(Pipe):
    """One stage: requantize, with or without a ReLU."""

    latency = 1
    step: Finish

    def execute(self, x: Integers) -> Integers:
        return self.step.execute(x)

    def instance(self) -> Instance:
        x = self.input
        values = {"Lanes": x.lanes, "InWidth": x.fixed.width, "InSigned": x.fixed.signed, **self.step.parameters()}
        return Instance(library="mase_cast", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        x = self.input
        lane = requantize_cost(self.step.parameters(), unsigned=0 if x.fixed.signed else x.fixed.width)
        return lane.times(x.lanes) + Cost(ff=1)


@dataclass(frozen=True, eq=False)
class Cast(Elementwise):
    """The same numbers in another type: `requantize(n)`."""

    kind = "cast"


def cast(name: str, x: Stream, result: Result) -> Cast:
    """A cast of `x` to `result`."""
    out, step = finish(f"{name}_out", x.lanes, x.bounds, x.fixed.frac, result)
    return Cast(name, (x,), (out,), step)
