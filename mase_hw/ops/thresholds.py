"""thresholds: how many thresholds of its channel a number reaches, as one of the levels; exact, one requantize.

`y = levels[number of thresholds <= x]`. An activation of one bit has one threshold for each channel, one of b bits has
2**b - 1. Whatever rounds or saturates and never falls can be stated so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from mase_hw.adders import ADDERS_PER_STAGE
from mase_hw.config.hardware import HardwareSpec
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.thresholds import thresholds_cost
from mase_hw.ir import Component, Stream
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.meaning import Meaning, Steps
from mase_hw.layers import Layer
from mase_hw.numerics import Fixed, Rounding, signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.batch_norm1d import BatchNorm1d, batch_norm1d
from mase_hw.ops.choice import Choice, Multiplied
from mase_hw.ops.crossing import crossing_at
from mase_hw.ops.examples import BEATS, RESULT, example_stream
from mase_hw.ops.linear.unrolled import LinearUnrolled
from mase_hw.ops.operator import Operator, Options, Site, Wish
from mase_hw.ops.pages import Built, Page

MULTIPLIED = 16  # levels from which on a multiplication is tried


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


def multiplied(
    name: str,
    x: Stream,
    limits: Integers,
    levels: tuple[Integers, int],
    result: Result | None,
    adders_per_stage: int = ADDERS_PER_STAGE,
) -> BatchNorm1d | LinearUnrolled | None:
    """The same function as a multiplication, an addition and a shift; None where no constants do.

    Levels must follow one another by one, and where they end within the output's type, nothing may lie beyond them.
    """
    search = thresholds(name, x, limits, levels, result)
    ends, to = search.levels[[0, -1]].tolist(), search.output.fixed
    if len(search.levels) < MULTIPLIED or (np.diff(search.levels) != 1).any():
        return None
    found = crossing_at(search.thresholds, ends[0], *x.bounds, (ends[0] == to.lo, ends[1] == to.hi))
    if found is None:
        return None
    frac = found.shift + to.frac - x.fixed.frac
    factor, offset = (
        Fixed(signed_width(int(side.min()), int(side.max())), at)
        for side, at in ((found.factor, frac), (found.offset, x.fixed.frac + frac))
    )
    wanted = Result(to, Rounding.FLOOR)
    return batch_norm1d(name, x, found.factor, found.offset, factor, offset, wanted, adders_per_stage)


def given_of(layer: Layer, x: Stream) -> tuple[Integers, tuple[Integers, int]]:
    """A layer's thresholds as integers of what it reads; its levels with their fractional bits."""
    spec = layer.spec
    assert spec.weight is not None
    assert spec.bias is not None
    limits = reached_from(layer.integers["thresholds"], x.fixed.frac - spec.weight.frac)
    return limits, (layer.integers["levels"], spec.bias.frac)


class ThresholdsOperator(Operator):
    """How many thresholds a number reaches. Left unquantized, it takes what it reads exactly as it comes."""

    name = "thresholds"
    mase_type = "module"
    modules: ClassVar[tuple[str, ...]] = ("mase_hw.modules.thresholds.Thresholds",)
    quantized = "mase_hw.modules.thresholds:ThresholdsInteger"
    stays_exact = True

    def candidates(self, site: Site, spec: HardwareSpec, wish: Wish) -> Iterable[Choice]:
        """In any number of lanes a search, or a multiplication where the thresholds are many and even."""
        plain = list(super().candidates(site, spec, wish))
        yield from plain
        if self._is_even(site):
            for choice in plain:
                yield Multiplied(choice.data_in_parallelism, choice.data_out_parallelism, choice.data_in_fifo_depth)

    def solves(self, site: Site, choice: Choice) -> bool:
        return isinstance(choice, Multiplied)

    def _is_even(self, site: Site) -> bool:
        """Whether constants cross at the thresholds, if the result has the narrowest type of its levels."""
        layer, (x,) = site.layer, site.inputs
        if layer.integers["thresholds"].shape[1] + 1 < MULTIPLIED:
            return False
        limits, levels = given_of(layer, x)
        lo, hi = int(levels[0].min()), int(levels[0].max())
        narrow = Fixed(signed_width(lo, hi), levels[1], signed=True)
        if lo >= 0:
            narrow = Fixed(max(hi.bit_length(), 1), levels[1], signed=False)
        return multiplied(layer.name, x, limits, levels, Result(narrow, Rounding.HALF_EVEN)) is not None

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        (x,) = inputs
        given = (layer.name, x, *given_of(layer, x), result)
        found = multiplied(*given, options.adders_per_stage) if isinstance(choice, Multiplied) else None
        return found or thresholds(*given)

    def page(self) -> Page:
        return Page(
            "thresholds",
            "mase_hw.modules.thresholds.Thresholds",
            (
                "y = start + step * (the number of thresholds of its channel that are <= x)",
                f"from {MULTIPLIED} levels in a row on also as a batch norm, (x * factor + offset) >> shift, where one",
                "crosses at the same thresholds; the cheaper of the two is chosen",
            ),
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
