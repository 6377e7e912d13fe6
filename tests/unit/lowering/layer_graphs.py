"""Small graphs of layers with branches, without torch: residuals, two heads, two inputs, concatenations."""

from __future__ import annotations

import zlib

import numpy as np

from mase_hw.config.quantize import QuantSpec
from mase_hw.layers import Layer, LayerGraph, ModelInput
from mase_hw.numerics import Fixed, Rounding

F5 = Fixed(5, 2)
TYPED = QuantSpec(Rounding.HALF_EVEN, F5, F5, F5, None)
INPUTS_TYPED = QuantSpec(Rounding.HALF_EVEN, F5, None, None, None)


def linear(name: str, x: str, n_in: int, n_out: int) -> Layer:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    integers = {"weight": rng.integers(-16, 16, (n_out, n_in)), "bias": rng.integers(-16, 16, n_out)}
    return Layer(name, "linear", TYPED, n_in, n_out, integers, inputs=(x,))


def relu(name: str, x: str, features: int) -> Layer:
    return Layer(name, "relu", QuantSpec(), features, features, inputs=(x,))


def join(op: str, name: str, a: str, b: str, features: int, spec: QuantSpec = INPUTS_TYPED) -> Layer:
    return Layer(name, op, spec, 2 * features, features, inputs=(a, b))


def cat(name: str, parts: dict[str, int], spec: QuantSpec = INPUTS_TYPED) -> Layer:
    total = sum(parts.values())
    return Layer(name, "cat", spec, total, total, inputs=tuple(parts))


def mul(name: str, x: str, features: int) -> Layer:
    scale = np.arange(1, features + 1)
    return Layer(name, "mul", TYPED, features, features, {"scale": scale}, inputs=(x,))


def graphs() -> dict[str, LayerGraph]:
    x, z = ModelInput("x", (4,)), ModelInput("z", (2,))
    return {
        "residual": LayerGraph(
            (x,),
            (
                linear("fc0", "x", 4, 4),
                relu("r0", "fc0", 4),
                linear("fc1", "r0", 4, 4),
                join("add", "sum", "r0", "fc1", 4),
                linear("out", "sum", 4, 2),
            ),
            ("out",),
        ),
        "input skipped": LayerGraph((x,), (linear("fc", "x", 4, 4), join("sub", "d", "fc", "x", 4)), ("d",)),
        "two heads": LayerGraph(
            (x,),
            (linear("fc", "x", 4, 4), relu("r", "fc", 4), linear("a", "r", 4, 2), linear("b", "r", 4, 3)),
            ("a", "b"),
        ),
        "two inputs": LayerGraph(
            (x, z),
            (linear("fx", "x", 4, 4), linear("fz", "z", 2, 4), join("add", "sum", "fx", "fz", 4)),
            ("sum",),
        ),
        "side by side": LayerGraph(
            (x, z), (linear("fx", "x", 4, 4), linear("fz", "z", 2, 2), relu("r", "fz", 2)), ("fx", "r")
        ),
        "concatenation": LayerGraph(
            (x, z),
            (linear("fc", "x", 4, 4), cat("both", {"fc": 4, "z": 2}), linear("out", "both", 6, 2)),
            ("out",),
        ),
        "exact sum": LayerGraph(
            (x,),
            (
                linear("a", "x", 4, 2),
                linear("b", "x", 4, 2),
                join("add", "sum", "a", "b", 2, QuantSpec()),
                relu("r", "sum", 2),
            ),
            ("r",),
        ),
        "scaled skip": LayerGraph(
            (x,),
            (
                linear("fc", "x", 4, 4),
                mul("s", "fc", 4),
                linear("g", "fc", 4, 4),
                join("add", "sum", "s", "g", 4),
            ),
            ("sum", "fc"),
        ),
    }
