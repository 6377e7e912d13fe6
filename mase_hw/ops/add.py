"""add and sub of two streams: aligned to the larger `frac`, exact, one requantize."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx import branches
from mase_hw.ir import Component, Instance, Pipe, Stream
from mase_hw.ir.finish import Finish, Result, result_stream
from mase_hw.ir.meaning import Affine, Meaning
from mase_hw.layers import Layer
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.choice import Choice
from mase_hw.ops.examples import BEATS, READER, RESULT, example_stream
from mase_hw.ops.operator import Operator, Options
from mase_hw.ops.pages import Built, Page


@dataclass(frozen=True, eq=False)
class Add(Pipe):
    """`requantize(sum of sign * x << shift)` on every lane, over the inputs: a join of one register stage."""

    kind = "add"
    latency = 1
    signs: tuple[int, ...]  # 1 or -1, for each input
    shifts: tuple[int, ...]  # which align the inputs' binary points
    finish: Finish = field(kw_only=True)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (self.finish.execute(_sum(x, self.signs, self.shifts)),)

    def meaning(self) -> Meaning:
        eye = np.eye(self.output.features, dtype=np.int64)
        factors = tuple(sign * eye << shift for sign, shift in zip(self.signs, self.shifts, strict=True))
        return Affine(factors, np.zeros(self.output.features, np.int64), self.finish)

    def extremes(self) -> tuple[Integers, ...]:
        """All features at the least, and at the greatest, of the sum."""
        sides = [x.bounds if sign > 0 else x.bounds[::-1] for x, sign in zip(self.inputs, self.signs, strict=True)]
        return tuple(np.stack(side) for side in sides)

    def instance(self) -> Instance:
        terms = [
            {"sign": sign, "shift": shift, "stream": x}
            for sign, shift, x in zip(self.signs, self.shifts, self.inputs, strict=True)
        ]
        values = {"inputs": self.inputs, "terms": terms, "step": self.finish}
        return Instance(template="add", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        operands = [
            branches.Operand(x.fixed.width, x.fixed.signed, shift)
            for x, shift in zip(self.inputs, self.shifts, strict=True)
        ]
        first, second = sorted(zip(self.signs, operands, strict=True), key=lambda one: -one[0])
        lanes, width, parameters = self.output.lanes, self.finish.width, self.finish.parameters()
        return branches.add(lanes, width, first[1], second[1], second[0] < 0, len(self.inputs), parameters)


def _sum(x: Sequence[Integers], signs: Sequence[int], shifts: Sequence[int]) -> Integers:
    terms = (sign * (each << shift) for each, sign, shift in zip(x, signs, shifts, strict=True))
    return np.asarray(sum(terms), np.int64)


def add(name: str, inputs: Sequence[Stream], signs: tuple[int, ...], result: Result | None) -> Add:
    """The sum of streams with the same features and lanes; inputs with sign -1 are subtracted."""
    first = inputs[0]
    frac = max(x.fixed.frac for x in inputs)
    shifts = tuple(frac - x.fixed.frac for x in inputs)
    sides = [x.bounds if sign > 0 else x.bounds[::-1] for x, sign in zip(inputs, signs, strict=True)]
    exact = (_sum([low for low, _ in sides], signs, shifts), _sum([high for _, high in sides], signs, shifts))
    out, step = result_stream(f"{name}_out", first.lanes, exact, frac, result, frame=first.frame)
    return Add(name, tuple(inputs), (out,), signs, shifts, finish=step)


class AddOperator(Operator):
    """The sum of two results. Left unquantized, it takes them exactly as they come."""

    name = "add"
    functions: ClassVar[tuple[str, ...]] = ("operator.add", "operator.iadd", "torch.add")
    methods: ClassVar[tuple[str, ...]] = ("add", "__add__", "__radd__", "__iadd__")
    signature = ("input", "other")
    quantized = "mase_hw.modules.joins:AddInteger"
    onnx = ("Add",)
    stays_exact = True
    signs: ClassVar[tuple[int, ...]] = (1, 1)

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        return add(layer.name, inputs, self.signs, result)

    def page(self) -> Page:
        sign = "+" if self.signs[1] > 0 else "-"
        return Page(
            self.name,
            f"x {sign} y, torch.{self.name}, x.{self.name}(y)",
            (f"z = requantize(x {sign} y), aligned to the larger number of fractional bits",),
            ("data_in: of both inputs, before the sum; left out, they are taken exactly as they come", READER),
            (Built("stream", "a join: one adder a lane, one register stage", BEATS, "1", self._example),),
        )

    def _example(self) -> Component:
        return add(self.name, [example_stream(2), example_stream(2, "data_in_1")], self.signs, RESULT)


class SubOperator(AddOperator):
    """The difference of two results."""

    name = "sub"
    functions = ("operator.sub", "operator.isub", "torch.sub", "torch.subtract")
    methods = ("sub", "subtract", "__sub__", "__rsub__", "__isub__")
    quantized = "mase_hw.modules.joins:SubInteger"
    onnx = ("Sub",)
    signs = (1, -1)
