"""Add, sub, mul and averages left unquantized between quantized layers: exact, on values as they come.

The exact results of two layers may both fit in float32, and their sum may not; so these compute in float64. Averages
take the arguments of torch's functions of these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from mase_hw.modules.average import average
from mase_hw.modules.windows import adaptive_options, avg_pool_options, positions, whole_options


def exact_add(x: Tensor, y: Tensor) -> Tensor:
    return x.double() + y.double()


def exact_sub(x: Tensor, y: Tensor) -> Tensor:
    return x.double() - y.double()


def exact_mul(x: Tensor, constant: Tensor | float) -> Tensor:
    """A Python number is taken as its nearest float32, as torch takes it beside a float32 tensor."""
    return x.double() * (constant.double() if isinstance(constant, Tensor) else float(np.float32(constant)))


def exact_avg_pool1d(input: Tensor, *options: Any) -> Tensor:
    return average(input, avg_pool_options(nn.AvgPool1d(*options), 1))


def exact_avg_pool2d(input: Tensor, *options: Any) -> Tensor:
    return average(input, avg_pool_options(nn.AvgPool2d(*options), 2))


def exact_adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    return average(input, adaptive_options("adaptive_avg_pool1d", output_size, positions(input)))


def exact_adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    return average(input, adaptive_options("adaptive_avg_pool2d", output_size, positions(input)))


def exact_mean(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Over all positions."""
    frame = positions(input)
    y = average(input, whole_options("mean", dim, input.dim(), frame))
    return y if keepdim else y.flatten(1)


EXACT_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "add": exact_add,
    "sub": exact_sub,
    "mul": exact_mul,
    "avg_pool1d": exact_avg_pool1d,
    "avg_pool2d": exact_avg_pool2d,
    "mean": exact_mean,
    "adaptive_avg_pool1d": exact_adaptive_avg_pool1d,
    "adaptive_avg_pool2d": exact_adaptive_avg_pool2d,
}
for _op, _function in EXACT_FUNCTIONS.items():
    _function.mase_op = _op  # type: ignore[attr-defined]
