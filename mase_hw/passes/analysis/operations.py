"""How many computations a node makes, from the shapes in its metadata alone.

| op | computations |
|---|---|
| linear, conv1d, conv2d | outputs x weights of one output: one multiply-accumulate is one computation |
| batch norm | 4 x elements: subtract, divide, multiply, add |
| leaky_relu, hardtanh, and every other operator: relu, add, sub, mul | elements of the result |
| max_pool1d, max_pool2d, avg_pool1d, avg_pool2d | outputs x elements of the window |
| adaptive pools, mean, amax | elements of the input |
| zero_pad, upsample, flatten, view, reshape, transpose, identity, dropout (eval), ... | 0: nothing is computed |

An op that is not in the table has no figure (None).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import fx

from mase_hw.ops.operator import operators
from mase_hw.passes.analysis.windows import options_of

MATRIX = ("linear", "conv1d", "conv2d")
NORMS = ("batch_norm", "batch_norm1d", "batch_norm2d")
_PER_RESULT = ("leaky_relu", "hardtanh")
_WINDOWS = ("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d")
_PER_INPUT = (*(f"adaptive_{kind}_pool{rank}d" for kind in ("avg", "max") for rank in (1, 2)), "mean", "amax")
_NOTHING = (
    *("placeholder", "get_attr", "output", "flatten", "view", "reshape", "squeeze", "unsqueeze", "transpose"),
    *("permute", "unflatten", "zero_pad", "upsample", "cat", "size", "to", "getitem", "getattr", "identity", "dropout"),
)


def computations(node: fx.Node, common: Mapping[str, Any]) -> int | None:
    """The computations for the batch whose shapes `common` holds."""
    op = common["mase_op"]
    if op in _NOTHING:
        return 0
    outputs = prod(_shape(common, "results", "data_out_0"))
    if op in MATRIX:
        return outputs * prod(_shape(common, "args", "weight")[1:])
    if op in NORMS:
        return 4 * outputs
    if op in _WINDOWS:
        return outputs * prod(options_of(node, op, tuple(_shape(common, "args", "data_in_0")[2:])).kernel)
    if op in _PER_INPUT:
        return prod(_shape(common, "args", "data_in_0"))
    return outputs if op in _PER_RESULT or op in operators() else None


def _shape(common: Mapping[str, Any], side: str, name: str) -> list[int]:
    shape = common[side][name]["shape"]
    assert isinstance(shape, list)
    return shape
