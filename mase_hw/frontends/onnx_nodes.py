"""What each operator of an ONNX file adds to the steps; what it may not be is a problem with its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, OnnxNode
from mase_hw.frontends.onnx_joins import concat, mul, streams, sub, sum_of_two
from mase_hw.frontends.onnx_names import layer_candidates, node_candidates
from mase_hw.frontends.onnx_quant import Constant, on_activation, parse_quant
from mase_hw.frontends.onnx_refusals import SUPPORTED
from mase_hw.frontends.onnx_state import Walk, constant_of
from mase_hw.frontends.onnx_steps import Flatten, Linear, Norm, Relu
from mase_hw.frontends.onnx_windows import average_pool, conv, global_pool, is_frame, max_pool, pad, reduce

_FLOAT = 1  # TensorProto.FLOAT


def handler(node: OnnxNode) -> Callable[[Walk, OnnxNode], None] | None:
    """What takes the node; None: its operator is not supported."""
    if node.is_quant:
        return _quant
    return _HANDLERS.get(node.op) if node.domain in STANDARD_DOMAINS else None


def _quant(state: Walk, node: OnnxNode) -> None:
    state.biasless = False
    if node.inputs[0] in state.constants:
        state.finder.node(node, "its scale, zero point or bit width depends on the model's input")
        return
    quant = parse_quant(node, state.constants.array, state.finder)
    made = None if quant is None else on_activation(quant, len(state.shape) + 1, state.finder)
    if made is not None:
        state.add(made)


def matrix(state: Walk, node: OnnxNode, transposed: bool) -> None:
    """`x @ W`, or `x @ W.T` where `transposed`; our weight is [out, in]."""
    if node.inputs[0] in state.constants:
        state.finder.node(node, "multiplies a constant by the input", "write it as input x constant")
        return
    weight = constant_of(state, node, 1, "weight")
    bias = constant_of(state, node, 2, "bias") if len(node.inputs) > 2 and node.inputs[2] else None
    if weight is None or state.finder.found.problems:
        return
    if len(state.shape) != 1 or weight.values.ndim != 2:
        text = f"multiplies [batch, {', '.join(map(str, state.shape))}] by a constant of shape {weight.values.shape}"
        state.finder.node(node, text, "only [batch, features] by a matrix becomes hardware: flatten first")
        return
    values = weight.values if transposed else weight.values.T
    if values.shape[1] != state.shape[0]:
        state.finder.node(node, f"its weight has {values.shape[1]} inputs, and {state.shape[0]} features reach it")
        return
    columns = np.empty_like(values)
    columns[:, state.order] = values
    outs = len(values)
    names = [*weight.names, *(bias.names if bias else ())]
    name = state.names.take(layer_candidates(node.name, node.scope, names), "linear")
    state.add(Linear(name, node, replace(weight, values=columns), None))
    state.shape, state.order = (outs,), np.arange(outs)
    state.biasless = bias is None
    if bias is not None:
        _set_bias(state, node, bias)


def _set_bias(state: Walk, node: OnnxNode, bias: Constant) -> None:
    step, outs = state.maker, state.shape[0]
    assert isinstance(step, Linear)
    shape = bias.values.shape
    if bias.values.size not in (1, outs) or (shape and shape[-1] != bias.values.size):
        state.finder.node(node, f"adds a constant of shape {shape} to {outs} features", "add one number for each")
        return
    values = np.broadcast_to(bias.values.reshape(-1), (outs,)).copy()
    state.maker = replace(step, bias=replace(bias, values=values))
    state.biasless = False


def _gemm(state: Walk, node: OnnxNode) -> None:
    wanted = {"transA": 0.0, "alpha": 1.0, "beta": 1.0}
    given = {key: state.finder.number(node, key, value) for key, value in wanted.items()}
    if given != wanted:
        told = ", ".join(f"{key} = {given[key]:g}" for key in wanted if given[key] != wanted[key])
        state.finder.node(node, f"{told} is not supported", "use transA = 0, alpha = 1, beta = 1")
        return
    matrix(state, node, bool(state.finder.number(node, "transB", 0)))


def _matmul(state: Walk, node: OnnxNode) -> None:
    matrix(state, node, False)


def _add(state: Walk, node: OnnxNode) -> None:
    if len(streams(state, node)) == 2:
        sum_of_two(state, node, "add")
        return
    inputs = [index for index, name in enumerate(node.inputs) if name in state.constants]
    if len(inputs) != 1 or not state.biasless:
        text = "an Add that is not the bias right after a MatMul is not supported"
        state.finder.node(node, text, "export the layer as Gemm, or add right after the MatMul")
        return
    bias = constant_of(state, node, inputs[0], "bias")
    if bias is not None:
        _set_bias(state, node, bias)


def _relu(state: Walk, node: OnnxNode) -> None:
    state.biasless = False
    state.add(Relu(state.names.take(node_candidates(node.name, node.scope), "relu")))


def _norm(state: Walk, node: OnnxNode) -> None:
    state.biasless = False
    told = len(state.finder.found.problems)
    parts = [constant_of(state, node, k, what) for k, what in enumerate(("scale", "B", "mean", "variance"), 1)]
    if state.finder.number(node, "training_mode", 0):
        state.finder.node(node, "is in training mode", "call model.eval() before the export")
    if len(state.finder.found.problems) > told or any(part is None for part in parts):
        return
    if any(part is None or part.values.shape != state.shape[:1] for part in parts):
        text = f"norms [batch, {', '.join(map(str, state.shape))}] with other numbers of features"
        state.finder.node(node, text, "it has a scale and a shift for each feature or channel")
        return
    rank = len(state.shape) - 1
    if rank and not is_frame(state, node):
        return
    tensors = []
    eps = state.finder.number(node, "epsilon", 1e-5)
    if not (parts[3] is not None and (parts[3].values + eps > 0).all()):
        state.finder.node(node, "a variance is negative, or zero without an epsilon", "check the training")
        return
    for part in parts:
        assert part is not None
        ordered = np.empty_like(part.values)
        ordered[slice(None) if rank else state.order] = part.values
        tensors.append(ordered)
    names = [name for part in parts if part for name in part.names]
    name = state.names.take(layer_candidates(node.name, node.scope, names), "norm")
    scale, shift, mean, var = tensors
    state.add(Norm(name, node, scale, shift, mean, var, eps, rank))


def flatten(state: Walk, node: OnnxNode) -> None:
    """Flatten to [batch, features]."""
    axis, rank = state.finder.number(node, "axis", 1), len(state.shape) + 1
    if axis not in (1, 1 - rank):
        state.finder.node(node, f"axis = {axis} does not keep the batch", "use axis = 1")
        return
    _to_vector(state, node)


def _to_vector(state: Walk, node: OnnxNode) -> None:
    if len(state.shape) > 1:
        state.biasless = False
        state.add(Flatten(state.names.take(node_candidates(node.name, node.scope), "flatten")))
        state.shape = (len(state.order),)


def reshape(state: Walk, node: OnnxNode) -> None:
    """Reshape to [batch, features]."""
    told = constant_of(state, node, 1, "shape")
    if told is None:
        return
    sizes, features = [int(size) for size in told.values.ravel()], len(state.order)
    same = len(state.shape) == 1 and sizes[-1:] == [0]
    if len(sizes) != 2 or sizes == [-1, -1] or not (sizes[1] in (-1, features) or same):
        text = f"reshapes [batch, {', '.join(map(str, state.shape))}] to {sizes}"
        state.finder.node(node, text, "only flattening to [batch, features] is supported")
        return
    _to_vector(state, node)


def transpose(state: Walk, node: OnnxNode) -> None:
    """The order of the elements changes, and no number moves."""
    axes = list(range(len(state.shape) + 1))
    perm = list(np.atleast_1d(node.attributes.get("perm", axes[::-1])))
    if not all(isinstance(axis, int | np.integer) for axis in perm) or sorted(perm) != axes or perm[0] != 0:
        state.finder.node(
            node, f"perm = [{', '.join(map(str, perm))}] moves the batch", "the first axis must stay the first"
        )
        return
    moved = state.order.reshape(state.shape).transpose([int(axis) - 1 for axis in perm[1:]])
    state.shape, state.order = moved.shape, moved.ravel()


def squeeze(state: Walk, node: OnnxNode) -> None:
    """An image of one position to [batch, features]."""
    if len(state.order) != state.shape[0]:
        text = f"takes axes away from [batch, {', '.join(map(str, state.shape))}]"
        state.finder.node(node, text, "only an image of one position can be squeezed to [batch, features]")
        return
    _to_vector(state, node)


def _nothing(state: Walk, node: OnnxNode) -> None:
    """Identity; a dropout that does not drop."""


def _cast(state: Walk, node: OnnxNode) -> None:
    if node.attributes.get("to") != _FLOAT:
        state.finder.node(node, "casts to a type that is not float32", "leave the cast out; Quant nodes say the types")


_HANDLERS: dict[str, Callable[[Walk, OnnxNode], None]] = {
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _add,
    "Sub": sub,
    "Concat": concat,
    "Mul": mul,
    "Relu": _relu,
    "BatchNormalization": _norm,
    "Flatten": flatten,
    "Reshape": reshape,
    "Transpose": transpose,
    "Conv": conv,
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_pool,
    "GlobalMaxPool": global_pool,
    "ReduceMean": reduce,
    "ReduceMax": reduce,
    "Pad": pad,
    "Squeeze": squeeze,
    "Identity": _nothing,
    "Dropout": _nothing,
    "Cast": _cast,
}
assert {*_HANDLERS, "Quant"} == set(SUPPORTED)
