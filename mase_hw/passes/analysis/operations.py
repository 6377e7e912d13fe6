"""How many computations a node makes, from the shapes in its metadata alone.

| op | computations |
|---|---|
| linear, conv1d, conv2d | outputs x weights of one output: one multiply-accumulate is one computation |
| batch norm | 4 x elements: subtract, divide, multiply, add |
| leaky_relu, hardtanh, and every other operator: relu, add, sub, mul | elements of the result |
| max_pool2d, avg_pool2d | outputs x elements of the window |
| adaptive_avg_pool2d, mean | elements of the input |
| flatten, view, reshape, transpose, identity, dropout (eval), ... | 0: nothing is computed |

An op that is not in the table has no figure (None).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import fx

from mase_hw.graph import get_node_module
from mase_hw.graph.opcodes import arguments
from mase_hw.ops.operator import operators

MATRIX = ("linear", "conv1d", "conv2d")
NORMS = ("batch_norm", "batch_norm1d", "batch_norm2d")
_PER_RESULT = ("leaky_relu", "hardtanh")
_WINDOWS = ("max_pool2d", "avg_pool2d")
_PER_INPUT = ("adaptive_avg_pool2d", "mean")
_NOTHING = (
    *("placeholder", "get_attr", "output", "flatten", "view", "reshape", "squeeze", "unsqueeze", "transpose"),
    *("permute", "cat", "size", "to", "getitem", "getattr", "identity", "dropout"),
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
    if op in _PER_RESULT or op in operators():
        return outputs
    if op in _WINDOWS:
        return outputs * _window(node, op)
    return prod(_shape(common, "args", "data_in_0")) if op in _PER_INPUT else None


def _shape(common: Mapping[str, Any], side: str, name: str) -> list[int]:
    shape = common[side][name]["shape"]
    assert isinstance(shape, list)
    return shape


def _window(node: fx.Node, op: str) -> int:
    module = get_node_module(node)
    given = arguments(node, op)
    size: Any = given.get("kernel_size", given.get("1")) if module is None else module.kernel_size
    return prod(int(side) for side in size) if isinstance(size, tuple | list) else int(size) ** 2
