"""relu: `max(n, 0)`, exact; its output keeps the type of its input unless its reader wants another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.ir import Component, Stream
from mase_hw.ir.finish import Result, result_stream
from mase_hw.layers import Layer
from mase_hw.numerics import Rounding
from mase_hw.ops.cast import Elementwise
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, RESULT, example_stream
from mase_hw.ops.operator import Operator, Options
from mase_hw.ops.pages import Built, Page


@dataclass(frozen=True, eq=False)
class ReLU(Elementwise):
    """`requantize(max(n, 0))` on every lane, which is `max(requantize(n), 0)`."""

    kind = "relu"


def relu(name: str, x: Stream, result: Result) -> ReLU:
    """A ReLU of `x`, handed on as `result`."""
    out, step = result_stream(f"{name}_out", x.lanes, x.bounds, x.fixed.frac, result, frame=x.frame, rectify=True)
    return ReLU(name, (x,), (out,), finish=step)


class ReluOperator(Operator):
    """`max(n, 0)`; it commutes with all quantizers, so left unquantized it hands its reader's type on."""

    name = "relu"
    mase_type = "module_related_func"
    modules = ("torch.nn.ReLU",)
    functions = ("torch.relu", "torch.relu_", "torch.nn.functional.relu", "torch.nn.functional.relu_")
    methods = ("relu",)
    signature = ("input", "inplace")
    quantized = "mase_hw.modules.relu:ReLUInteger"
    onnx = ("Relu",)
    hands_on = True

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        (x,) = inputs
        return relu(layer.name, x, result or Result(x.fixed, Rounding.FLOOR))  # nothing is dropped: any rule will do

    def does_nothing(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> bool:
        """A ReLU of what is never negative, in the type it already has."""
        (x,) = inputs
        if min(x.lo) < 0 or (result is not None and result.fixed != x.fixed):
            return False
        return layer.spec.data_in is None or layer.spec.data_in == x.fixed

    def may_merge(self, layer: Layer, x: Stream, result: Result | None) -> bool:
        """A ReLU that reads and gives the type in which its input already comes: that can be clamped at 0."""
        if min(x.lo) >= 0:
            return False
        return all(fixed in (None, x.fixed) for fixed in (layer.spec.data_in, result.fixed if result else None))

    def page(self) -> Page:
        return Page(
            "relu",
            "nn.ReLU, F.relu, torch.relu, x.relu()",
            ("y = max(requantize(x), 0)",),
            ("data_in: what the layer before it gives; data_out: what its reader wants, else that of data_in",),
            (
                Built(
                    "stream",
                    "one register stage; merged into the component before it where that rounds or clamps anyway "
                    "(interval and latency 0)",
                    BEATS,
                    "1",
                    lambda: relu("relu", example_stream(2), RESULT),
                ),
            ),
        )
