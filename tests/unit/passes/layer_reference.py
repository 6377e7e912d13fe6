"""A graph of layers computed in integers, by the definitions of docs/numbers.md: no torch, no hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.layers import Layer, LayerGraph
from mase_hw.numerics import Fixed, Rounding, requantize, to_integers
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Value:
    """Integers `n` in units of 2**-frac; or, before the first quantizer, real numbers."""

    n: np.ndarray
    frac: int | None = None

    def read(self, to: Fixed, rounding: Rounding) -> Integers:
        return to_integers(self.n, to, rounding) if self.frac is None else requantize(self.n, self.frac, to, rounding)

    def at(self, frac: int) -> Integers:
        assert self.frac is not None, "an unquantized sum of real numbers"
        return np.asarray(self.n << (frac - self.frac), np.int64)


def run_layers(found: LayerGraph, samples: Sequence[np.ndarray]) -> list[Value]:
    """The model's results, each in the order of torch's flattened tensor."""
    values: dict[str, Value] = {}
    for x, given in zip(found.inputs, samples, strict=True):
        flat = given.reshape(len(given), -1)
        values[x.name] = Value(flat if x.order is None else flat[:, list(x.order)])
    for layer in found.layers:
        assert layer.name not in values
        values[layer.name] = _run(layer, [values[name] for name in layer.inputs])
        assert values[layer.name].n.shape[1] == layer.out_features
        assert sum(values[name].n.shape[1] for name in layer.inputs) == layer.in_features
    results = []
    for name, order in zip(found.outputs, found.output_orders, strict=True):
        n = values[name].n
        if order is not None:
            n = np.empty_like(n)
            n[:, list(order)] = values[name].n
        results.append(Value(n, values[name].frac))
    return results


def _run(layer: Layer, read: list[Value]) -> Value:
    spec = layer.spec
    if spec.rounding is not None:
        assert spec.data_in is not None
        read = [Value(value.read(spec.data_in, spec.rounding), spec.data_in.frac) for value in read]
    exact = _exact(layer, read, {"weight": spec.weight, "bias": spec.bias})
    if spec.rounding is None or spec.data_out is None:
        return exact
    return Value(exact.read(spec.data_out, spec.rounding), spec.data_out.frac)


def _exact(layer: Layer, read: list[Value], types: Mapping[str, Fixed | None]) -> Value:
    x, fixed = read[0], types["weight"]
    if layer.op == "relu":
        return Value(np.maximum(x.n, 0), x.frac)
    if layer.op == "cat" and any(value.frac is None for value in read):
        return Value(np.concatenate([v.n if v.frac is None else v.n * 2.0**-v.frac for v in read], 1))
    if layer.op in ("add", "sub", "cat"):
        frac = max(value.frac for value in read if value.frac is not None)
        parts = [value.at(frac) for value in read]
        joined = {"add": sum, "sub": lambda p: p[0] - p[1], "cat": lambda p: np.concatenate(p, 1)}[layer.op](parts)
        return Value(joined, frac)
    assert fixed is not None
    assert x.frac is not None
    if layer.op == "mul":
        return Value(x.n * layer.integers["scale"], x.frac + fixed.frac)
    name, add = ("weight", "bias") if layer.op == "linear" else ("scale", "shift")
    product = x.n @ layer.integers[name].T if layer.op == "linear" else x.n * layer.integers[name]
    if add not in layer.integers:
        return Value(product, x.frac + fixed.frac)
    bias = types["bias"]
    assert bias is not None
    frac = max(x.frac + fixed.frac, bias.frac)
    shifted = layer.integers[add] << (frac - bias.frac)
    return Value((product << (frac - x.frac - fixed.frac)) + shifted, frac)
