"""Which tensors of a model are frames of vectors, and in which order their streams bring the elements.

A tensor [batch, channels, *positions] is a frame where something reads or writes it position by position: a window, a
norm of channels, a join of channels. An image that is only flattened stays one long vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from torch import fx

from mase_hw.geometry import Frame
from mase_hw.graph import get_mase_op, get_node_module
from mase_hw.graph.inplace import is_number
from mase_hw.graph.joins import operands
from mase_hw.modules import MulInteger
from mase_hw.numerics.rounding import Integers
from mase_hw.passes.analysis.tensors import activations_of, attribute_of
from mase_hw.passes.analysis.windows import ON_FRAMES

SHAPE_OPS = ("flatten", "unflatten", "view", "reshape", "squeeze", "unsqueeze")  # no hardware: a stream has no shape
PERMUTATIONS = ("permute", "transpose")
Shape = Callable[[fx.Node], list[int]]


@dataclass(frozen=True)
class FrameInput:
    """An input of the model that is read as a frame."""

    frame: Frame
    order: Integers | None


def stream_order(shape: Sequence[int]) -> Integers | None:
    """[channels, *positions]: streams go position by position, channels fastest; torch goes channel by channel."""
    return _stream_order(tuple(shape))


@lru_cache(maxsize=64)
def _stream_order(shape: tuple[int, ...]) -> Integers | None:
    """One array for all tensors of a shape: an image of ImageNet's has millions of elements."""
    if len(shape) < 2:
        return None
    order = plain(np.moveaxis(np.arange(prod(shape)).reshape(shape), 0, -1).ravel())
    if order is not None:
        order.flags.writeable = False
    return order


def plain(order: Integers) -> Integers | None:
    """None for an order that changes nothing."""
    return None if np.array_equal(order, np.arange(len(order))) else order


def permuted(order: Integers | None, index: Integers) -> Integers | None:
    """The order of a stream in a tensor whose element k is element index[k] of the tensor it was."""
    inverse = np.empty_like(index)
    inverse[index] = np.arange(len(index))
    return plain(inverse if order is None else inverse[order])


def moved(node: fx.Node, shape: Sequence[int]) -> Integers | None:
    """Of a permutation of a tensor of this shape: which element each element was; None where the batch moves."""
    dims = _dims(node, len(shape))
    if dims[0] != 0:
        return None
    inner = [dim - 1 for dim in dims[1:]]
    return np.arange(prod(shape[1:])).reshape(tuple(shape[1:])).transpose(inner).ravel()


def _dims(node: fx.Node, rank: int) -> list[int]:
    """What `permute` or `transpose` puts where."""
    rest = [value for value in (*node.args[1:], *node.kwargs.values()) if value is not None]
    given = rest[0] if len(rest) == 1 and isinstance(rest[0], tuple | list) else rest
    dims = [int(dim) % rank for dim in given if isinstance(dim, int)]
    if get_mase_op(node) == "permute":
        return dims
    found = list(range(rank))
    found[dims[0]], found[dims[1]] = dims[1], dims[0]
    return found


def framed_nodes(graph: fx.Graph, shape: Shape) -> set[fx.Node]:
    """The nodes whose results are frames."""
    parent: dict[fx.Node, fx.Node] = {}
    marked: set[fx.Node] = set()

    def root(node: fx.Node) -> fx.Node:
        while parent.setdefault(node, node) is not node:
            node = parent[node]
        return node

    for node in graph.nodes:
        if not node.op.startswith("call_") or is_number(node) or get_mase_op(node) in (*SHAPE_OPS, *PERMUTATIONS):
            continue
        read = [source for source in activations_of(node).values() if len(shape(source)) > 2]
        if on_frame(node, shape):
            marked.update(node_ for node_ in (*read, node) if len(shape(node_)) > 2)
        elif len(shape(node)) > 2:
            for source in read:
                parent[root(source)] = root(node)
        if on_frame(node, shape) and get_mase_op(node) in ("cat", "mul"):
            for source in read:
                parent[root(source)] = root(node)
    roots = {root(node) for node in marked}
    return {node for node in parent if root(node) in roots} | marked


def on_frame(node: fx.Node, shape: Shape) -> bool:
    """Whether a node works position by position, in a way that a long vector could not."""
    op, rank = get_mase_op(node), len(shape(node))
    read = list(activations_of(node).values())
    if op in ON_FRAMES or op in ("batch_norm1d", "thresholds"):
        return bool(read) and len(shape(read[0])) > 2
    if op == "mul" and rank > 2:
        module = get_node_module(node)
        constant = operands(node, op).constant
        value = module.weight if isinstance(module, MulInteger) else None
        if isinstance(constant, fx.Node):
            value = attribute_of(constant)
        return value is not None and value.numel() != 1
    return op == "cat" and rank > 2


def frame_inputs(graph: fx.Graph, framed: Iterable[fx.Node], shape: Shape) -> dict[fx.Node, FrameInput]:
    """The inputs of the model that are frames, as they are or behind reshapes and permutations."""
    found: dict[fx.Node, FrameInput] = {}
    frames = set(framed)
    for node in graph.nodes:
        if node not in frames:
            continue
        sizes = shape(node)[1:]
        chain: list[fx.Node] = []
        source = node
        while source.op.startswith("call_") and get_mase_op(source) in (*SHAPE_OPS, *PERMUTATIONS):
            chain.append(source)
            source = source.all_input_nodes[0]
        if source.op != "placeholder" or source in found or (chain and source in frames):
            continue
        index = np.arange(prod(shape(source)[1:]))
        for step in reversed(chain):
            if get_mase_op(step) in PERMUTATIONS:
                took = moved(step, shape(step.all_input_nodes[0]))
                if took is None:
                    break
                index = index[took]
        order = stream_order(sizes)
        found[source] = FrameInput(tuple(sizes[1:]), plain(index if order is None else index[order]))
    return found
