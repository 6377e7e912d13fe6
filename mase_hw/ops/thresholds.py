"""thresholds: how many thresholds of its channel a number reaches, as one of the levels; exact, one requantize.

`y = levels[number of thresholds <= x]`. An activation of one bit has one threshold for each channel, one of b bits has
2**b - 1. Whatever rounds or saturates and never falls can be stated so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.thresholds import thresholds_cost
from mase_hw.ir import Component, Stream
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.meaning import Meaning, Steps
from mase_hw.layers import Layer
from mase_hw.numerics import signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, RESULT, example_stream
from mase_hw.ops.operator import Operator, Options
from mase_hw.ops.pages import Built, Page


@dataclass(frozen=True, eq=False)
class Thresholds(Pipe):
    """A binary search on every lane, one comparison a stage; each beat's thresholds come from tables."""

    kind = "thresholds"
    thresholds: Integers  # [features, count], in order; one above the greatest input is never reached
    levels: Integers  # [count + 1], integers of the output

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        reached = np.zeros(x[0].shape, np.int64)
        for column in self.thresholds.T:
            reached += x[0] >= column
        return (self.levels[reached],)

    def meaning(self) -> Meaning:
        return Steps(self.thresholds, self.levels, self.input.lo, self.input.hi)

    @property
    def latency(self) -> int:
        """Comparisons in a row: a bit of the number of thresholds that are reached each."""
        return int(self.thresholds.shape[1]).bit_length()

    @property
    def bits(self) -> int:
        """Of a number and of a threshold, signed; the greatest threshold is one above the greatest number."""
        x = self.input
        return max(signed_width(min(x.lo), max(x.hi) + 1), x.fixed.width + (not x.fixed.signed))

    @cached_property
    def tables(self) -> list[list[Integers]]:
        """For each stage and beat, lane by lane, the thresholds that the bits found so far select from."""
        x, stages = self.input, self.latency
        missing = (1 << stages) - 1 - self.thresholds.shape[1]
        never = np.repeat(x.bounds[1][:, None] + 1, missing, axis=1)
        whole = np.concatenate([self.thresholds, never], axis=1)
        found = []
        for stage in range(stages):
            step = 1 << (stages - stage)
            found.append(list(whole[:, step // 2 - 1 :: step].reshape(x.beats, -1)))
        return found

    @property
    def counted(self) -> bool:
        """Whether the output is the count itself, and no table of levels is needed."""
        return bool((self.levels == np.arange(len(self.levels))).all())

    def instance(self) -> Instance:
        every = 1 << self.latency
        padded = np.concatenate([self.levels, np.full(every - len(self.levels), self.levels[-1])])
        values = {
            "tables": self.tables,
            "bits": self.bits,
            "levels": padded.tolist(),
            "counted": self.counted,
            "count": self.thresholds.shape[1],
        }
        return Instance(template="thresholds", values=values)

    def cost(self) -> Cost:
        x, y = self.input, self.output
        return thresholds_cost(
            x.lanes, x.beats, [self.bits] * self.latency, x.fixed.width, y.fixed.width, counted=self.counted
        )


def thresholds(
    name: str, x: Stream, limits: Integers, levels: tuple[Integers, int], result: Result | None
) -> Thresholds:
    """`limits` [features, count] are integers of `x`; `levels` are integers, and their number of fractional bits."""
    lo, hi = x.bounds
    limits = np.clip(np.sort(limits, axis=1), lo[:, None], hi[:, None] + 1)
    ends = [levels[0][(limits <= side[:, None]).sum(1)] for side in (lo, hi)]
    every = np.minimum(*ends), np.maximum(*ends)
    out, step = result_stream(f"{name}_out", x.lanes, every, levels[1], result, frame=x.frame)
    return Thresholds(name, (x,), (out,), limits, step.execute(levels[0]))


def reached_from(limits: Integers, shift: int) -> Integers:
    """The least integers with `shift` fractional bits more (fewer, if negative) that are not below `limits`."""
    return limits << shift if shift >= 0 else -(-limits >> -shift)


class ThresholdsOperator(Operator):
    """How many thresholds a number reaches. Left unquantized, it takes what it reads exactly as it comes."""

    name = "thresholds"
    mase_type = "module"
    modules: ClassVar[tuple[str, ...]] = ("mase_hw.modules.thresholds.Thresholds",)
    quantized = "mase_hw.modules.thresholds:ThresholdsInteger"
    stays_exact = True

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        (x,), spec = inputs, layer.spec
        assert spec.weight is not None
        assert spec.bias is not None
        limits = reached_from(layer.integers["thresholds"], x.fixed.frac - spec.weight.frac)
        return thresholds(layer.name, x, limits, (layer.integers["levels"], spec.bias.frac), result)

    def page(self) -> Page:
        return Page(
            "thresholds",
            "mase_hw.modules.thresholds.Thresholds",
            ("y = start + step * (the number of thresholds of its channel that are <= x)",),
            ("data_in: what the layer before it gives; data_out: what its reader wants, else the exact levels",),
            (
                Built(
                    "stream",
                    "a binary search in every lane, one comparison a stage",
                    BEATS,
                    "bits of the number of thresholds",
                    lambda: thresholds(
                        "thresholds", example_stream(2), np.arange(-6, 6).reshape(4, 3), (np.arange(4), 2), RESULT
                    ),
                ),
            ),
        )
