"""Add, sub and mul left unquantized between quantized layers: exact, on values as they come.

The exact results of two layers may both fit in float32, and their sum may not; so these compute in float64.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor


def exact_add(x: Tensor, y: Tensor) -> Tensor:
    return x.double() + y.double()


def exact_sub(x: Tensor, y: Tensor) -> Tensor:
    return x.double() - y.double()


def exact_mul(x: Tensor, constant: Tensor | float) -> Tensor:
    """A Python number is taken as its nearest float32, as torch takes it beside a float32 tensor."""
    return x.double() * (constant.double() if isinstance(constant, Tensor) else float(np.float32(constant)))


EXACT_FUNCTIONS = {"add": exact_add, "sub": exact_sub, "mul": exact_mul}
for _op, _function in EXACT_FUNCTIONS.items():
    _function.mase_op = _op  # type: ignore[attr-defined]
