"""batch_norm1d (eval): `x * scale + shift` for each feature, exact, then one requantize."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mase_hw.cost.xilinx.batch_norm import batch_norm_cost
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.cost import Cost
from mase_hw.ir.finish import Finish, Long, Result, finish
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded_array import FoldedArray
from mase_hw.ops.linear.folded_text import word, words
from mase_hw.ops.linear.matrix import ADDERS_PER_STAGE
from mase_hw.ops.linear.unrolled import LinearUnrolled, unrolled


@dataclass(frozen=True, eq=False)
class BatchNorm1d(Pipe):
    """One multiplier a lane, as in a folded layer with one input; each beat's constants come from tables."""

    kind = "batch_norm1d"
    scale: Integers  # [features]
    shift: Integers  # aligned to the accumulator's binary point
    product_shift: int  # aligns products with it
    step: Finish
    adders_per_stage: int = ADDERS_PER_STAGE

    def execute(self, x: Integers) -> Integers:
        return self.step.execute((x * self.scale << self.product_shift) + self.shift)

    @property
    def latency(self) -> int:
        """Operands, additions, requantize."""
        return 2 + len(self.array.stages)

    @cached_property
    def array(self) -> FoldedArray:
        lanes = self.input.lanes
        return FoldedArray(
            x=self.input,
            fold=Fold(1, self.input.features, 1, lanes, 1, lanes),
            matrix=self.scale[:, None],
            constants=tuple((self.shift + self.step.half).tolist()),
            product_shift=self.product_shift,
            sum_bits=self.step.parameters()["SumWidth"],
            adders_per_stage=self.adders_per_stage,
            use_dsp=False,
        )

    @property
    def _requantize(self) -> dict[str, Any]:
        """The sums hold the half of half to even already; `Offset` says so, and no adder is left."""
        return {"InWidth": self.array.acc_bits, **self.step.parameters(), "Offset": Long(-self.step.half)}

    def instance(self) -> Instance:
        array = self.array
        values = {
            "array": array,
            "roms": [words(rom) for rom in array.rom_bits()],
            "starts": [word(row, array.start_bits) for row in array.starts],
            "kinds": {row.digit.name: row.digit for row in array.rows if row.digit}.values(),
            "requantize": self._requantize,
            "step": self.step,
        }
        return Instance(template="batch_norm1d", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        return batch_norm_cost(self.array, self.input.beats, self.latency, self._requantize)


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
    shift = shift << alignment.constant_shift
    corners = np.stack([(bound * scale << alignment.product_shift) + shift for bound in x.bounds])
    out, step = finish(f"{name}_out", x.lanes, (corners.min(0), corners.max(0)), alignment.frac, result)
    return BatchNorm1d(name, (x,), (out,), scale, shift, alignment.product_shift, step, adders_per_stage)
