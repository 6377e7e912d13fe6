"""A graph of layers on frames computed in integers: windows and matrix products, by the definitions of docs/numbers.md.

A value is [samples * positions, features], as streams bring it; nothing here knows of torch or of hardware.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, prod

import numpy as np

from mase_hw.geometry import windows
from mase_hw.layers import Layer, LayerGraph
from mase_hw.numerics import Fixed, Rounding, requantize, to_integers
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Value:
    """Integers `n` in units of 2**-frac, each divided by its `divisor`; before the first quantizer, reals."""

    n: np.ndarray
    frac: int | None = None
    divisor: Integers | None = None

    def read(self, to: Fixed, rounding: Rounding) -> Integers:
        if self.frac is None:
            return to_integers(self.n, to, rounding)
        if self.divisor is None:
            return requantize(self.n, self.frac, to, rounding)
        pairs = zip(self.n.ravel().tolist(), self.divisor.ravel().tolist(), strict=True)
        rounded = [_rounded(n, divisor, self.frac, to, rounding) for n, divisor in pairs]
        return np.array(rounded, np.int64).reshape(self.n.shape)

    def viewed(self, positions: int, samples: int) -> Value:
        """As so many positions of a sample: the same beats."""
        rows = samples * positions
        return Value(
            self.n.reshape(rows, -1), self.frac, None if self.divisor is None else self.divisor.reshape(rows, -1)
        )

    def ordered(self, order: Sequence[int]) -> Value:
        """[samples, elements] of a stream in torch's order."""
        back = np.argsort(list(order))
        return Value(self.n[:, back], self.frac, None if self.divisor is None else self.divisor[:, back])


def _rounded(n: int, divisor: int, frac: int, to: Fixed, rounding: Rounding) -> int:
    exact = Fraction(n, divisor) * Fraction(2) ** (to.frac - frac)
    whole = floor(exact) if rounding is Rounding.FLOOR else round(exact)  # Python rounds halves to even
    return min(max(whole, to.lo), to.hi)


def run_frames(found: LayerGraph, samples: Sequence[np.ndarray]) -> list[Value]:
    """The model's results, each [samples, elements] in the order of torch's flattened tensor."""
    count = len(samples[0])
    values: dict[str, Value] = {}
    for x, given in zip(found.inputs, samples, strict=True):
        flat = given.reshape(count, -1)
        values[x.name] = Value(flat if x.order is None else flat[:, list(x.order)])
        assert values[x.name].n.shape[1] == x.features * prod(x.frame)
    for layer in found.layers:
        assert layer.name not in values
        read = [values[name].viewed(prod(layer.frame), count) for name in layer.inputs]
        assert [value.n.shape[1] for value in read] == found.features_read(layer)
        assert sum(value.n.shape[1] for value in read) == layer.in_features
        values[layer.name] = _run(layer, read)
        assert values[layer.name].n.shape == (count * prod(layer.out_frame), layer.out_features)
    results = []
    for name, order in zip(found.outputs, found.output_orders, strict=True):
        value = values[name].viewed(1, count)
        results.append(value if order is None else value.ordered(order))
    return results


def _run(layer: Layer, read: list[Value]) -> Value:
    spec = layer.spec
    if spec.rounding is not None:
        assert spec.data_in is not None
        read = [Value(value.read(spec.data_in, spec.rounding), spec.data_in.frac) for value in read]
    exact = _exact(layer, read)
    if spec.rounding is None or spec.data_out is None:
        return exact
    return Value(exact.read(spec.data_out, spec.rounding), spec.data_out.frac)


def _exact(layer: Layer, read: list[Value]) -> Value:
    x, op = read[0], layer.op
    if op == "relu":
        return Value(np.maximum(x.n, 0), x.frac, x.divisor)
    if op in ("add", "sub", "cat"):
        frac = max(value.frac for value in read if value.frac is not None)
        parts = [value.n << (frac - (value.frac or 0)) for value in read]
        return Value({"add": sum, "sub": lambda p: p[0] - p[1], "cat": lambda p: np.concatenate(p, 1)}[op](parts), frac)
    if op in ("conv1d", "conv2d"):
        return _affine(layer, x, _convolved(layer, x.n), "bias")
    if op == "linear":
        return _affine(layer, x, x.n @ layer.integers["weight"].T, "bias")
    if op in ("batch_norm1d", "batch_norm2d", "mul"):
        return _affine(layer, x, x.n * layer.integers["scale"], "shift")
    return _moved(layer, x)


def _moved(layer: Layer, x: Value) -> Value:
    """Pools, paddings, upsamplings."""
    if layer.op == "upsample":
        rows = np.arange(prod(layer.frame)).reshape(layer.frame)
        for axis, times in enumerate(layer.factor):
            rows = rows.repeat(times, axis)
        frames = x.n.reshape(-1, prod(layer.frame), x.n.shape[1])[:, rows.ravel()]
        return Value(frames.reshape(-1, x.n.shape[1]), x.frac)
    assert layer.geometry is not None
    taps = windows(x.n, layer.geometry).reshape(-1, layer.geometry.taps, layer.in_features)
    if layer.op == "zero_pad":
        return Value(taps[:, 0], x.frac)
    count = len(taps) // len(layer.geometry.sources)
    outside = np.tile(layer.geometry.sources < 0, (count, 1))
    if layer.op in ("max_pool1d", "max_pool2d"):
        least = np.iinfo(np.int64).min if x.frac is not None else -np.inf
        return Value(np.where(outside[:, :, None], least, taps).max(1), x.frac)
    assert layer.op in ("avg_pool1d", "avg_pool2d"), layer.op
    divisor = np.tile(layer.integers["divisor"], count)[:, None].repeat(layer.in_features, 1)
    return Value(taps.sum(1), x.frac, divisor)


def _convolved(layer: Layer, n: Integers) -> Integers:
    """Each group's outputs from the windows of that group's channels."""
    assert layer.geometry is not None
    weight, groups = layer.integers["weight"], layer.groups
    outs, ins = len(weight) // groups, layer.in_features // groups
    parts = []
    for g in range(groups):
        rows = windows(np.ascontiguousarray(n[:, g * ins : (g + 1) * ins]), layer.geometry)
        own = weight[g * outs : (g + 1) * outs].reshape(outs, ins, -1)
        parts.append(rows @ own.transpose(2, 1, 0).reshape(-1, outs))
    return np.concatenate(parts, 1)


def _affine(layer: Layer, x: Value, product: Integers, add: str) -> Value:
    fixed, bias = layer.spec.weight, layer.spec.bias
    assert fixed is not None
    assert x.frac is not None
    if add not in layer.integers:
        return Value(product, x.frac + fixed.frac)
    assert bias is not None
    frac = max(x.frac + fixed.frac, bias.frac)
    return Value((product << (frac - x.frac - fixed.frac)) + (layer.integers[add] << (frac - bias.frac)), frac)
