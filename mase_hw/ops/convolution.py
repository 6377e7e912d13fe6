"""How a convolution is built: a window over the frame, then a matrix once for each position, as of a linear layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import gcd

import numpy as np

from mase_hw.config.hardware import HardwareSpec
from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Stream
from mase_hw.ir.finish import Result
from mase_hw.ir.plumbing import adapters
from mase_hw.layers import Layer
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.choice import Choice, Folded, PerChannel
from mase_hw.ops.linear.operator import MatrixOperator
from mase_hw.ops.linear.serial_plan import digits_of
from mase_hw.ops.linear.space import matrix_choices
from mase_hw.ops.operator import MEMORIES, Options, Site, Wish, divisors
from mase_hw.ops.window import depthwise, window, window_wide
from mase_hw.ops.window.plan import BLOCK_WORDS


class Convolution(MatrixOperator):
    """The matrix has the weights of all taps: [out, taps * channels], in the order of the window.

    A window hands out some channels of one tap in each beat, or all taps at once. In a depthwise convolution every
    channel has a matrix of its own, of one row: one multiplier a lane goes through the taps.
    """

    def sizes(self, layer: Layer) -> tuple[int, int]:
        return geometry_of(layer).taps * layer.in_features, layer.out_features

    def weights(self, layer: Layer) -> Integers:
        return window_matrix(layer)

    def bits(self, site: Site) -> int:
        return digits_of(_windowed(site), self.weights(site.layer), 1).count

    def candidates(self, site: Site, spec: HardwareSpec, wish: Wish) -> Iterable[Choice]:
        """Those of the matrix. What the user says of `data_in_parallelism` is said of the stream into the window."""
        asked, out = spec.data_in_parallelism, spec.data_out_parallelism
        depthwise_too = is_depthwise(site.layer) and spec.implementation in ("auto", "folded") and not spec.use_dsp
        if depthwise_too:
            lanes = [asked] if asked else divisors(site.layer.in_features)
            yield from (PerChannel(p, out or p, spec.data_in_fifo_depth) for p in lanes)
        for choice in matrix_choices(self.sizes(site.layer), self.bits(site), self._of_matrix(spec), wish):
            if isinstance(choice, Folded):
                if depthwise_too:
                    continue  # most of its multiplications would be by zero
                choice = replace(choice, window_lanes=choice.data_in_parallelism)
            yield replace(choice, data_in_parallelism=asked or self.lanes(site, choice)[0][0])

    def usual(self, site: Site, spec: HardwareSpec) -> HardwareSpec:
        return replace(super().usual(site, self._of_matrix(spec)), data_in_parallelism=spec.data_in_parallelism)

    def _of_matrix(self, spec: HardwareSpec) -> HardwareSpec:
        return replace(spec, data_in_parallelism=None)

    def matrix_lanes(self, layer: Layer, choice: Choice) -> tuple[int, int]:
        if isinstance(choice, Folded):
            choice = replace(choice, data_in_parallelism=choice.window_lanes or 1)
        return super().matrix_lanes(layer, choice)

    def lanes(self, site: Site, choice: Choice) -> tuple[tuple[int, ...], int]:
        layer = site.layer
        if isinstance(choice, PerChannel):
            return (choice.data_in_parallelism,), choice.data_in_parallelism
        return (self._window_lanes(layer, choice)[0],), self.matrix_lanes(layer, choice)[1]

    def _window_lanes(self, layer: Layer, choice: Choice) -> tuple[int, int]:
        """Lanes into and out of the window: some channels of one tap, or, where that is too slow, all taps.

        All taps at once are gathered while the last of them enters, so no window may be padding alone.
        """
        channels, wanted = layer.in_features, self.matrix_lanes(layer, choice)[0]
        narrow = gcd(channels, wanted)
        geometry = geometry_of(layer)
        if geometry.is_pointwise or narrow == wanted:
            return wanted, wanted
        if geometry.begins_outside:
            return narrow, narrow
        inputs, outputs = self.sizes(layer)
        if isinstance(choice, Folded):
            steps = -(-inputs // choice.array_in) * -(-outputs // choice.array_out)
            if inputs // narrow <= steps:
                return narrow, narrow
        return channels, inputs

    def cycles(self, site: Site, choice: Choice) -> int:
        inputs = self.sizes(site.layer)[0]
        if isinstance(choice, PerChannel):
            return inputs // choice.data_in_parallelism
        return max(super().cycles(site, choice), inputs // self._window_lanes(site.layer, choice)[1])

    def memories(self, site: Site, choice: Choice) -> tuple[bool | None, ...]:
        """A graph of additions is not looked for again because of the window before it, unless that is deep."""
        if not self.solves(site, choice):
            return MEMORIES
        geometry = geometry_of(site.layer)
        return (None, False) if not geometry.is_pointwise and geometry.frame[-1] > BLOCK_WORDS else (None,)

    def solves(self, site: Site, choice: Choice) -> bool:
        return not isinstance(choice, PerChannel) and super().solves(site, choice)

    def parts(
        self, layer: Layer, choice: Choice, inputs: Sequence[Stream], result: Result | None, options: Options
    ) -> list[Component]:
        (x,), geometry, name = inputs, geometry_of(layer), f"{layer.name}_window"
        if isinstance(choice, PerChannel):
            front = window(name, x, geometry, grouped=True, block_ram=choice.block_ram)
            return [front, self._per_channel(layer, choice, front.output, result, options)]
        made: list[Component] = []
        if not geometry.is_pointwise:
            lanes_in, lanes_out = self._window_lanes(layer, choice)
            wide = lanes_out != lanes_in
            made.append((window_wide if wide else window)(name, x, geometry, block_ram=choice.block_ram))
            made += adapters(f"{layer.name}_taps", made[-1].output, self.matrix_lanes(layer, choice)[0])
            x = made[-1].output
        return [*made, self.build(layer, choice, [x], result, options)]

    def _per_channel(
        self, layer: Layer, choice: Choice, x: Stream, result: Result | None, options: Options
    ) -> Component:
        spec, bias = layer.spec, layer.integers.get("bias")
        assert spec.weight is not None
        alignment = align(x.fixed, spec.weight, spec.bias if bias is not None else None)
        matrix = layer.integers["weight"].reshape(layer.out_features, -1)
        constant = np.zeros(len(matrix), np.int64) if bias is None else bias << alignment.constant_shift
        how = (options.adders_per_stage, choice.block_ram)
        return depthwise(layer.name, x, matrix, constant, alignment, result, *how)


def is_depthwise(layer: Layer) -> bool:
    """Every channel has one output, which reads this channel alone."""
    return layer.groups == layer.in_features == layer.out_features and layer.groups > 1


def geometry_of(layer: Layer) -> Geometry:
    assert layer.geometry is not None, f"{layer.name} has no windows"
    return layer.geometry


def window_matrix(layer: Layer) -> Integers:
    """Weights [out, channels of a group, *kernel] as a matrix [out, taps * channels]; other groups' channels are 0."""
    weight, geometry = layer.integers["weight"], geometry_of(layer)
    outs, channels, taps = layer.out_features, layer.in_features, geometry.taps
    by_tap = weight.reshape(outs, channels // layer.groups, taps).transpose(0, 2, 1)
    if layer.groups == 1:
        return np.ascontiguousarray(by_tap.reshape(outs, taps * channels))
    found = np.zeros((layer.groups, outs // layer.groups, taps, layer.groups, channels // layer.groups), np.int64)
    grouped = by_tap.reshape(layer.groups, outs // layer.groups, taps, -1)
    for k in range(layer.groups):
        found[k, :, :, k] = grouped[k]
    return found.reshape(outs, taps * channels)


def _windowed(site: Site) -> Stream:
    """The stream that the matrix reads, whatever its lanes."""
    (x,), geometry = site.inputs, geometry_of(site.layer)
    return x if geometry.is_pointwise else window("window", x, geometry).output
