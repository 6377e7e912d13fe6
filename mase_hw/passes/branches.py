"""Adds, subs, muls and cats as layers: which of torch's forms streams can have, and the order of what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor, fx

from mase_hw.graph import get_node_module
from mase_hw.graph.joins import operands
from mase_hw.modules import MulInteger
from mase_hw.modules.exact import exact_constant
from mase_hw.modules.mul import constant_tensor, scale_of
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.passes.analysis.tensors import attribute_of


def shape_of(node: fx.Node, side: str = "results", name: str = "data_out_0") -> list[int]:
    """A shape from the common metadata, with the batch."""
    entry = node.meta["mase"].parameters["common"][side].get(name, {})
    return list(entry.get("shape", []))


def why_not_streams(
    node: fx.Node, op: str, orders: Mapping[fx.Node, Integers | None], *, framed: bool = False
) -> tuple[str, str] | None:
    """What torch can compute and streams cannot, as a verb phrase, and a hint. `orders` are those of the results.

    `framed`: the results are frames.
    """
    given = operands(node, op)
    if any(stream not in orders for stream in given.streams):
        return "reads a size of a tensor", "only results of layers and inputs of the model are streams"
    shapes = [shape_of(stream) for stream in given.streams]
    if op == "cat":
        if framed:
            if given.dim % len(shapes[0]) != 1:
                return f"joins results along dim {given.dim}", "only channels can be joined: dim=1"
            return None
        if any(len(shape) != 2 for shape in shapes):
            told = ", ".join(str(shape) for shape in shapes)
            return f"joins results of shapes {told}", "flatten them to [batch, features] first"
        if given.dim not in (1, -1):
            return f"joins results along dim {given.dim}", "only features can be joined: dim=1"
    if op in ("add", "sub") and not alike(*(orders[stream] for stream in given.streams)):
        text = "joins an image, which streams pixel by pixel, with features that are in another order"
        return text, "put a linear layer between the image and this node"
    module = get_node_module(node)
    constant = module.weight if isinstance(module, MulInteger) else None
    if isinstance(given.constant, fx.Node):
        constant = attribute_of(given.constant)
    if constant is not None and constant.numel() != 1:
        each = [shapes[0][1], *[1] * (len(shapes[0]) - 2)]  # one for each feature, or channel
        if list(constant.shape) not in (each, [1, *each]):
            text = f"multiplies a result of shape {shapes[0]} by a constant of shape {list(constant.shape)}"
            what = f"channel: a constant of shape {each}" if framed else "feature of [batch, features]"
            return text, f"the constant is one number, or one for each {what}"
    return None


def alike(a: Integers | None, b: Integers | None) -> bool:
    """Whether two orders are the same."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b))


def joined_order(op: str, orders: Sequence[Integers | None], sizes: Sequence[int]) -> Integers | None:
    """The order of the result: parts that are joined follow one another, everything else keeps its order."""
    if op != "cat" or all(order is None for order in orders):
        return orders[0]
    starts = np.cumsum([0, *sizes[:-1]])
    parts = [np.arange(size) if order is None else order for order, size in zip(orders, sizes, strict=True)]
    return np.concatenate([part + start for part, start in zip(parts, starts, strict=True)])


def exact_scale(node: fx.Node, features: int) -> tuple[Fixed, Integers]:
    """The constant of an unquantized mul: its narrowest type, and an integer for each feature."""
    constant = operands(node, "mul").constant
    assert constant is not None
    value: Tensor = constant_tensor(node.name, attribute_of(constant) if isinstance(constant, fx.Node) else constant)
    fixed = exact_constant(node.name, value)
    return fixed, scale_of(value, None, fixed, features)
