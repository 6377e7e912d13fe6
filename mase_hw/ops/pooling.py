"""How layers that look at positions without a matrix are built: pools, zero padding, upsampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Stream, full_range
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer
from mase_hw.ops.choice import Choice
from mase_hw.ops.convolution import geometry_of
from mase_hw.ops.examples import IN, READER, RESULT
from mase_hw.ops.operator import MEMORIES, Operator, Options, Site
from mase_hw.ops.pages import Built, Page
from mase_hw.ops.window import global_most, global_sum, reduce_most, reduce_sum, upsample, window

_INTERVAL = "of a window: taps * channels / lanes; over the whole frame: positions * channels / lanes"
_LATENCY = "until the last tap of the first window is there, and taps + 2"


class Pool(Operator):
    """Windows of some channels at a time, and what makes one beat of their taps. A whole frame needs no window."""

    fill: ClassVar[int | None] = 0  # what a padded position holds; None: the least number of the type

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        return (None,) if geometry_of(site.layer).is_global else MEMORIES

    def cycles(self, site: Site, choice: Choice) -> int:
        geometry = geometry_of(site.layer)
        if geometry.is_global:
            return 1
        beats = geometry.taps * site.layer.in_features // choice.data_in_parallelism
        return beats if geometry.taps > 1 else -(-3 * beats // 2)

    def parts(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> list[Component]:
        (x,), geometry = inputs, geometry_of(layer)
        if geometry.is_global:
            return [self.build(layer, choice, [x], result, options)]
        fill = x.fixed.lo if self.fill is None else self.fill
        front = window(f"{layer.name}_window", x, geometry, grouped=True, fill=fill, block_ram=choice.block_ram)
        return [front, self.build(layer, choice, [front.output], result, options)]

    def _page(self, title: str, equation: str, types: str, example: Callable[[], Component]) -> Page:
        built = Built("window", "a line buffer, then a register for each lane", _INTERVAL, _LATENCY, example)
        return Page(self.name, title, (equation,), (types, READER), (built,))


class MaxPooling(Pool):
    """The largest value of each window; a padded position never wins."""

    fill = None

    def casts(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
        return moved_types(layer, inputs, result)

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        if geometry_of(layer).is_global:
            return global_most(layer.name, inputs[0])
        return reduce_most(layer.name, inputs[0])

    def page(self) -> Page:
        return self._page(
            "nn.MaxPool1d, nn.MaxPool2d and their functions; global and adaptive ones whose windows divide the frame",
            "y = max over the taps of x; a padded position never wins",
            "data_in: what the layer before it gives, or its own; the result keeps that type",
            lambda: reduce_most(self.name, _windows()),
        )


class AveragePooling(Pool):
    """The exact sum of each window, divided and rounded once."""

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        (divisor,) = set(layer.integers["divisor"].tolist())
        if geometry_of(layer).is_global:
            return global_sum(layer.name, inputs[0], result, divisor)
        return reduce_sum(layer.name, inputs[0], result, divisor)

    def page(self) -> Page:
        return self._page(
            "nn.AvgPool1d, nn.AvgPool2d, their functions, x.mean over the positions; global and adaptive ones",
            "y = requantize(sum over the taps of x / count), rounded once",
            "data_in: what the layer before it gives, exactly as it comes, or its own",
            lambda: reduce_sum(self.name, _windows(), RESULT, 4),
        )


class ZeroPadding(Operator):
    """Zeros around a frame: windows of one tap."""

    def casts(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
        return moved_types(layer, inputs, result)

    def cycles(self, site: Site, choice: Choice) -> int:
        return site.layer.in_features // choice.data_in_parallelism

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        return window(layer.name, inputs[0], geometry_of(layer), block_ram=choice.block_ram)

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        return MEMORIES

    def page(self) -> Page:
        return Page(
            self.name,
            "F.pad with zeros, nn.ZeroPad1d, nn.ZeroPad2d; merged into the convolution behind it where it can be",
            ("y = x, with zeros around it",),
            ("data_in: what the layer before it gives; the result keeps that type",),
            (Built("window", "a line buffer", "channels / lanes, of a position", "2", self._example),),
        )

    def _example(self) -> Component:
        x = full_range("data_in_0", 2, 2, IN, (2, 2))
        return window("zero_pad", x, Geometry.of((2, 2), (1, 1), None, ((1, 1), (1, 1))))


class Upsampling(Operator):
    """Every position repeated."""

    def casts(self, layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
        return moved_types(layer, inputs, result)

    def cycles(self, site: Site, choice: Choice) -> int:
        return site.layer.in_features // choice.data_in_parallelism

    def build(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> Component:
        return upsample(layer.name, inputs[0], layer.factor, choice.block_ram)

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        return MEMORIES

    def page(self) -> Page:
        return Page(
            self.name,
            "nn.Upsample and F.interpolate, mode nearest, by whole factors",
            ("y = x, every position repeated",),
            ("data_in: what the layer before it gives; the result keeps that type",),
            (Built("stream", "a buffer of one row", "channels / lanes, of a position", "2", self._example),),
        )

    def _example(self) -> Component:
        return upsample("upsample", full_range("data_in_0", 2, 2, IN, (2, 2)), (2, 2))


def _windows() -> Stream:
    """Windows of 2 x 2 taps, one after the other, for examples."""
    x = full_range("data_in_0", 2, 2, IN, (4, 4))
    return window("window", x, Geometry.of((4, 4), (2, 2), (2, 2)), grouped=True).output.renamed("data_in_0")


def moved_types(layer: Layer, inputs: Sequence[Stream], result: Result | None) -> list[Result | None]:
    """Of what moves or compares numbers: its own type, or its reader's."""
    spec = layer.spec
    own = Result(spec.data_in, spec.rounding) if spec.rounding is not None and spec.data_in is not None else result
    return [own] * len(inputs)
