"""abs: `|n|` on every lane, exact, then one requantize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.ir import Component, Instance, Pipe, Stream
from mase_hw.ir.finish import Finish, Result, result_stream
from mase_hw.ir.meaning import Meaning, Table
from mase_hw.layers import Layer
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, READER, RESULT, example_stream
from mase_hw.ops.operator import Operator, Options
from mase_hw.ops.pages import Built, Page


@dataclass(frozen=True, eq=False)
class Abs(Pipe):
    """`requantize(|n|)` on every lane, in one register stage."""

    kind = "abs"
    latency = 1
    finish: Finish = field(kw_only=True)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (self.finish.execute(np.abs(x[0])),)

    def meaning(self) -> Meaning:
        x = self.input
        numbers = [np.arange(lo, hi + 1) for lo, hi in zip(x.lo, x.hi, strict=True)]
        return Table(tuple(range(x.features)), x.lo, tuple(self.finish.execute(np.abs(n)) for n in numbers))

    def instance(self) -> Instance:
        folder = Path(__file__).parent
        return Instance(template="abs", values={"step": self.finish}, needs=("mase_requantize",), folder=folder)

    def cost(self) -> Cost:
        lane = requantize_cost(self.finish.parameters()) + Cost(lut=self.input.fixed.width)
        return lane.times(self.input.lanes) + Cost(ff=1)


def absolute(name: str, x: Stream, result: Result | None) -> Abs:
    """The absolute values of `x`, handed on as `result`; without one, exact."""
    lo, hi = x.bounds
    largest = np.maximum(np.abs(lo), np.abs(hi))
    smallest = np.where((lo <= 0) & (hi >= 0), 0, np.minimum(np.abs(lo), np.abs(hi)))
    out, step = result_stream(f"{name}_out", x.lanes, (smallest, largest), x.fixed.frac, result, frame=x.frame)
    return Abs(name, (x,), (out,), finish=step)


class AbsOperator(Operator):
    """The absolute value of every feature."""

    name = "abs"
    modules = ("toy.modules.Abs",)
    functions = ("torch.abs", "operator.abs", "builtins.abs")
    methods = ("abs", "__abs__")
    quantized = "toy.modules:AbsInteger"

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        return absolute(layer.name, inputs[0], result)

    def page(self) -> Page:
        return Page(
            "abs",
            "toy.modules.Abs, torch.abs, x.abs()",
            ("y = requantize(|x|)",),
            ("data_in", READER),
            (
                Built(
                    *("stream", "one register stage", BEATS, "1"),
                    lambda: absolute("abs", example_stream(2), RESULT),
                ),
            ),
        )
