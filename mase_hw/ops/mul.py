"""mul: multiplication by a constant, one number or one for each feature; exact, one requantize."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ir import Component, Stream
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer
from mase_hw.numerics import Fixed
from mase_hw.ops.batch_norm1d import batch_norm1d
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, READER, RESULT, WEIGHT, example_stream
from mase_hw.ops.operator import Operator, Options, Site
from mase_hw.ops.pages import Built, Page


def multiply(
    name: str, x: Stream, scale: np.ndarray, fixed: Fixed, result: Result | None, adders_per_stage: int
) -> Component:
    """`x * scale`: a batch norm that shifts by nothing. `scale` are integers of the type `fixed`."""
    nothing = Fixed(2, x.fixed.frac + fixed.frac)
    return batch_norm1d(name, x, scale, np.zeros(len(scale), np.int64), fixed, nothing, result, adders_per_stage)


class MulOperator(Operator):
    """`x * c` with a constant `c`, which a weight type quantizes. Left unquantized, all of it is exact."""

    name = "mul"
    functions = ("operator.mul", "operator.imul", "torch.mul", "torch.multiply")
    methods = ("mul", "multiply", "__mul__", "__rmul__", "__imul__")
    signature = ("input", "other")
    quantized = "mase_hw.modules.mul:MulInteger"
    onnx = ("Mul",)
    arguments = ("data_in", "weight")
    stays_exact = True

    def solves(self, site: Site, choice: Choice) -> bool:
        return True

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        assert layer.spec.weight is not None
        scale = layer.integers["scale"]
        return multiply(layer.name, inputs[0], scale, layer.spec.weight, result, options.adders_per_stage)

    def page(self) -> Page:
        return Page(
            "mul",
            "x * c, torch.mul(x, c), x.mul(c), with a constant c",
            ("y = requantize(x * c), c one number or one for each feature",),
            ("data_in; weight, the type of c; without one, c is taken as the float32 that it is", READER),
            (
                Built(
                    "stream",
                    "a batch norm that shifts by nothing",
                    BEATS,
                    "2 + stages of additions; where all features come in one beat, stages",
                    lambda: multiply("mul", example_stream(2), np.array([3, -2, 5, 1]), WEIGHT, RESULT, 4),
                ),
            ),
        )
