"""Cast, and what it shares with ReLU: one register stage on every lane, requantizing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mase_hw.hardware.component import Component, Instance
from mase_hw.hardware.control import Control, PipeControl
from mase_hw.hardware.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.result import Finish, Result, finish


@dataclass(frozen=True, eq=False)
class Elementwise(Component):
    """One stage: something exact on each element, then requantize."""

    rectify: ClassVar[bool] = False
    latency = 1
    registered_ready = False
    step: Finish

    @property
    def interval(self) -> int:
        return self.input.beats

    def control(self) -> Control:
        return PipeControl(self.latency)

    def instance(self) -> Instance:
        values = {"Lanes": self.input.lanes, "InSigned": self.input.fixed.signed, **self.step.parameters()}
        values["InWidth"] = self.input.fixed.width
        values["Rectify"] = self.rectify
        return Instance(library="mase_cast", values=values, needs=("mase_requantize",))


@dataclass(frozen=True, eq=False)
class Cast(Elementwise):
    """The same numbers in another type: `requantize(n)`."""

    kind = "cast"

    def execute(self, x: Integers) -> Integers:
        return self.step.execute(x)


def cast(name: str, x: Stream, result: Result) -> Cast:
    """A cast of `x` to `result`."""
    out, step = finish(f"{name}_out", x.lanes, x.bounds, x.fixed.frac, result)
    return Cast(name, (x,), (out,), step)
