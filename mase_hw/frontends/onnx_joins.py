"""Where the tensors of an ONNX file meet: Add, Sub, Concat, and Mul by a constant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mase_hw.frontends.onnx_graph import OnnxNode
from mase_hw.frontends.onnx_names import layer_candidates, node_candidates
from mase_hw.frontends.onnx_state import Known, Walk, constant_of
from mase_hw.frontends.onnx_steps import Join, Mul


def streams(state: Walk, node: OnnxNode) -> list[Known]:
    """What is known of the inputs that are no constants."""
    return [state.tensors[name] for name in node.inputs if name and name not in state.constants]


def sub(state: Walk, node: OnnxNode) -> None:
    if len(streams(state, node)) != 2:
        text = "a Sub with a constant is not supported"
        state.finder.node(node, text, "give the constant to the layer before it as a bias")
        return
    sum_of_two(state, node, "sub")


def sum_of_two(state: Walk, node: OnnxNode, op: str) -> None:
    """The sum or the difference of two tensors of one shape."""
    first, second = streams(state, node)
    if first.shape != second.shape:
        told = [" x ".join(map(str, each.shape)) for each in (first, second)]
        text = f"joins {told[0]} and {told[1]} features"
        state.finder.node(node, text, "there is no broadcasting: give both inputs one shape")
        return
    if not np.array_equal(first.order, second.order):
        text = "the elements of its inputs are in different orders, because a Transpose stands before one of them"
        state.finder.node(node, text, "put a linear layer behind the Transpose, or leave the Transpose out")
        return
    _join(state, node, op, [first, second])


def concat(state: Walk, node: OnnxNode) -> None:
    parts = streams(state, node)
    if len(parts) != len(node.inputs) or len(parts) < 2:
        what = "one tensor alone" if len(node.inputs) < 2 else "a constant with a tensor"
        state.finder.node(node, f"joins {what}", "only two or more results of layers or inputs can be joined")
        return
    axis, rank = state.finder.number(node, "axis", 0), len(state.shape) + 1
    frames = rank > 2 and all(is_plain(part) and part.shape[1:] == state.shape[1:] for part in parts)
    if not frames and not _vectors(state, node, parts):
        return
    if axis not in (1, 1 - rank):
        state.finder.node(node, f"axis = {axis} does not join features", "use axis = 1")
        return
    if frames:
        state.shape = (sum(part.shape[0] for part in parts), *state.shape[1:])
        state.order = np.arange(int(np.prod(state.shape)))
        _join(state, node, "cat", parts)
        return
    starts = np.cumsum([0, *(len(part.order) for part in parts[:-1])])
    state.order = np.concatenate([part.order + start for part, start in zip(parts, starts, strict=True)])
    state.shape = (len(state.order),)
    _join(state, node, "cat", parts)


def _join(state: Walk, node: OnnxNode, op: str, parts: list[Known]) -> None:
    state.biasless = False
    name = state.names.take(node_candidates(node.name, node.scope), op)
    state.add(Join(name, node, op, len(state.order)), tuple(part.source for part in parts))


def mul(state: Walk, node: OnnxNode) -> None:
    """By a number, or by one number for each feature."""
    state.biasless = False
    given = streams(state, node)
    if len(given) != 1 or len(node.inputs) != 2:
        text = "multiplies two results of layers" if len(given) == 2 else f"has {len(node.inputs)} inputs, not 2"
        state.finder.node(node, text, "hardware multiplies by constants alone")
        return
    frame = len(state.shape) > 1
    if not (frame and is_plain(given[0])) and not _vectors(state, node, given):
        return
    index = 0 if node.inputs[0] in state.constants else 1
    constant = constant_of(state, node, index, "constant")
    if constant is None:
        return
    shape, features = constant.values.shape, state.shape[0]
    single = constant.values.size == 1 and len(shape) <= 1 + len(state.shape)
    each = (features, *[1] * (len(state.shape) - 1))  # one for each feature, or channel
    if not single and shape not in (each, (1, *each)):
        text = f"multiplies {features} features by a constant of shape {shape}"
        state.finder.node(node, text, "the constant is one number, or one for each feature")
        return
    values = constant.values.reshape(-1).copy()
    if not single and not frame:
        values[state.order] = constant.values.reshape(-1)
    if not single and frame:
        values = values.reshape(each)
    name = state.names.take(layer_candidates(node.name, node.scope, constant.names), "mul")
    state.add(Mul(name, node, replace(constant, values=values), features))


def is_plain(part: Known) -> bool:
    """Whether no Transpose has moved its axes."""
    return bool((part.order == np.arange(len(part.order))).all())


def _vectors(state: Walk, node: OnnxNode, parts: list[Known]) -> bool:
    """Whether all of them are `[batch, features]`; one that is not is a problem."""
    for part in parts:
        if len(part.shape) != 1:
            text = f"reads [batch, {', '.join(map(str, part.shape))}], and only [batch, features] becomes hardware here"
            state.finder.node(node, text, "flatten before it")
            return False
    return True
