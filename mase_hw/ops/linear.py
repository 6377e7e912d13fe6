"""linear: `acc_j = sum_i x_i * w_ji + b_j`, exact, then one requantize. Unrolled or folded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.hardware.component import Component, Instance
from mase_hw.hardware.control import Control, FoldedControl, PipeControl
from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align, matrix_bounds, matrix_extremes
from mase_hw.ops.result import Finish, Result, finish
from mase_hw.ops.sums import TERMS, level_sizes, sum_levels, sum_tree, unused_inputs


@dataclass(frozen=True, eq=False)
class Linear(Component):
    """What both implementations share. `matrix` is [out, in]; `product_shift` aligns products with the bias."""

    matrix: Integers
    bias: Integers  # aligned to the accumulator's binary point
    product_shift: int
    step: Finish

    def execute(self, x: Integers) -> Integers:
        return self.step.execute((x @ self.matrix.T << self.product_shift) + self.bias)

    def extremes(self) -> Integers:
        return matrix_extremes(self.input, self.matrix)


@dataclass(frozen=True, eq=False)
class LinearUnrolled(Linear):
    """Every product has its own constant: all inputs in one beat, all outputs in one beat, a vector every cycle."""

    kind = "linear_unrolled"
    interval = 1
    registered_ready = False

    @property
    def latency(self) -> int:
        return sum_levels(self.matrix) + self.step.changes

    def control(self) -> Control:
        return PipeControl(self.latency)

    def instance(self) -> Instance:
        levels = sum_tree(self.input, self.matrix << self.product_shift, self.bias)
        values = {
            "levels": levels,
            "unused": unused_inputs(self.input, levels[0]),
            "step": self.step,
            "acc_width": self.step.width,
        }
        return Instance(template="linear_unrolled", values=values, needs=("mase_requantize",))


@dataclass(frozen=True, eq=False)
class LinearFolded(Linear):
    """An array of `input lanes x output lanes` multipliers, weights in a ROM, inputs double-buffered.

    Output block by output block it goes through all input beats; the first pass starts while the vector is arriving.
    """

    kind = "linear_folded"
    registered_ready = True

    @property
    def stages(self) -> int:
        """Read, sum the products of a step level by level, accumulate, requantize."""
        return 3 + len(level_sizes(self.input.lanes))

    @property
    def interval(self) -> int:
        return self.input.beats * self.output.beats

    @property
    def latency(self) -> int:
        return self.input.beats + self.stages

    def control(self) -> Control:
        return FoldedControl(self.input.beats, self.output.beats, self.stages)

    def instance(self) -> Instance:
        x, y = self.input, self.output
        # [out block, in block, lane out, lane in]: one row of the ROM for each step of the array
        tiles = self.matrix.reshape(y.beats, y.lanes, x.beats, x.lanes).transpose(0, 2, 1, 3)
        values = {
            "weights": tiles.reshape(y.beats * x.beats, y.lanes * x.lanes).tolist(),
            "weight_width": signed_width(int(self.matrix.min()), int(self.matrix.max())),
            "biases": self.bias.reshape(y.beats, y.lanes).tolist(),
            "bias_width": signed_width(int(self.bias.min()), int(self.bias.max())),
            "dot_width": self._dot_width(tiles),
            "sizes": level_sizes(self.input.lanes),
            "terms": TERMS,
            "product_shift": self.product_shift,
            "step": self.step,
            "acc_width": self.step.width,
        }
        return Instance(template="linear_folded", values=values, needs=("mase_requantize",))

    def _dot_width(self, tiles: Integers) -> int:
        """Bits of the sum of one step's products, from the bounds of the elements that it can meet."""
        lo, hi = (side.reshape(-1, 1, self.input.lanes) for side in self.input.bounds)
        ends = np.stack([tiles * lo, tiles * hi])
        return signed_width(int(ends.min(0).sum(-1).min()), int(ends.max(0).sum(-1).max()))


def linear(
    name: str,
    x: Stream,
    weight: Integers,
    bias: Integers | None,
    weight_fixed: Fixed,
    bias_fixed: Fixed | None,
    result: Result | None,
    *,
    out_lanes: int,
    folded: bool,
) -> Linear:
    """A linear layer on `x`; `weight` [out, in] and `bias` [out] are integers of the given types."""
    alignment = align(x.fixed, weight_fixed, bias_fixed)
    constant = np.zeros(len(weight), np.int64) if bias is None else bias << alignment.constant_shift
    exact = matrix_bounds(x, weight << alignment.product_shift, constant)
    out, step = finish(f"{name}_out", out_lanes, exact, alignment.frac, result)
    kind = LinearFolded if folded else LinearUnrolled
    return kind(name, (x,), (out,), weight, constant, alignment.product_shift, step)
