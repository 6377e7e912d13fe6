"""batch_norm1d (eval): `x * scale + shift` for each feature, exact, then one requantize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mase_hw.adders import ADDERS_PER_STAGE
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.batch_norm import batch_norm_cost
from mase_hw.ir.component import Component, Instance, Pipe
from mase_hw.ir.finish import Finish, Long, Result, result_stream
from mase_hw.ir.meaning import Affine, Meaning
from mase_hw.ir.stream import Stream
from mase_hw.layers import Layer
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, READER, RESULT, WEIGHT, example_stream
from mase_hw.ops.linear.equation import MOST_TERMS
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded_array import FoldedArray
from mase_hw.ops.linear.folded_text import word, words
from mase_hw.ops.linear.unrolled import LinearUnrolled, unrolled
from mase_hw.ops.operator import Operator, Options, Site
from mase_hw.ops.pages import Built, Page


@dataclass(frozen=True, eq=False)
class BatchNorm1d(Pipe):
    """One multiplier a lane, as in a folded layer with one input; each beat's constants come from tables."""

    kind = "batch_norm1d"
    scale: Integers  # [features]
    shift: Integers  # aligned to the accumulator's binary point
    product_shift: int  # aligns products with it
    adders_per_stage: int = ADDERS_PER_STAGE
    finish: Finish = field(kw_only=True)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (self.finish.execute((x[0] * self.scale << self.product_shift) + self.shift),)

    def meaning(self) -> Meaning:
        return Affine((np.diag(self.scale << self.product_shift),), self.shift, self.finish)

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
            constants=tuple((self.shift + self.finish.half).tolist()),
            product_shift=self.product_shift,
            sum_bits=self.finish.parameters()["SumWidth"],
            adders_per_stage=self.adders_per_stage,
            use_dsp=False,
        )

    @property
    def _requantize(self) -> dict[str, Any]:
        """The sums hold the half of half to even already; `Offset` says so, and no adder is left."""
        return {"InWidth": self.array.acc_bits, **self.finish.parameters(), "Offset": Long(-self.finish.half)}

    def instance(self) -> Instance:
        array = self.array
        values = {
            "array": array,
            "roms": [words(rom) for rom in array.rom_bits()],
            "rom_notes": self._equations(),
            "starts": [word(row, array.start_bits) for row in array.starts],
            "kinds": {row.digit.name: row.digit for row in array.rows if row.digit}.values(),
            "requantize": self._requantize,
            "step": self.finish,
        }
        return Instance(template="batch_norm1d", values=values, needs=("mase_requantize",))

    def _equations(self) -> list[str]:
        """The scales of each beat as text."""
        beats = np.arange(self.input.features).reshape(self.input.beats, -1)
        products = [[f"{int(self.scale[k])}*x{k}" for k in beat[:MOST_TERMS]] for beat in beats]
        more = ", ..." if self.input.lanes > MOST_TERMS else ""
        return [", ".join(beat) + more for beat in products]

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
    out, step = result_stream(
        f"{name}_out", x.lanes, (corners.min(0), corners.max(0)), alignment.frac, result, frame=x.frame
    )
    return BatchNorm1d(name, (x,), (out,), scale, shift, alignment.product_shift, adders_per_stage, finish=step)


class BatchNormOperator(Operator):
    """`x * scale + shift` for each feature, with the statistics of evaluation."""

    name = "batch_norm1d"
    mase_type = "module"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.BatchNorm1d",)
    signature = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")
    quantized = "mase_hw.modules.batch_norm1d:BatchNorm1dInteger"
    onnx: ClassVar[tuple[str, ...]] = ("BatchNormalization",)
    arguments = ("data_in", "weight", "bias")

    def solves(self, site: Site, choice: Choice) -> bool:
        return True

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        spec, scale, shift = layer.spec, layer.integers["scale"], layer.integers["shift"]
        assert spec.weight is not None
        assert spec.bias is not None
        return batch_norm1d(
            layer.name, inputs[0], scale, shift, spec.weight, spec.bias, result, options.adders_per_stage
        )

    def page(self) -> Page:
        return Page(
            "batch_norm1d",
            "nn.BatchNorm1d in eval mode",
            (
                "y = requantize(x * scale + shift), for each feature",
                "scale = weight / sqrt(var + eps), shift = bias - mean * scale, both quantized",
                "exact until the one requantize; fuse_batch_norm folds it into the linear layer before it instead",
            ),
            ("data_in; weight, the type of scale; bias, the type of shift", READER),
            (
                Built(
                    "stream",
                    "one multiplier a lane, the constants of each beat in tables",
                    BEATS,
                    "2 + stages of additions",
                    lambda: _example(2),
                ),
                Built(
                    "stream_one_beat",
                    "where all features come in one beat: the constants are wires",
                    "1",
                    "stages, as of an unrolled linear",
                    lambda: _example(4),
                ),
            ),
        )


def _example(lanes: int) -> Component:
    scale, shift = np.array([3, -2, 5, 1]), np.array([1, 0, -2, 3])
    return batch_norm1d("batch_norm1d", example_stream(lanes), scale, shift, WEIGHT, WEIGHT, RESULT)
