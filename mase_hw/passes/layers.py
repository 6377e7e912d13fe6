"""From a quantized MaseGraph to the graph of layers that hardware is made of, or to all that stands in its way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from torch import fx

from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_actual_target, get_node_module, get_node_place
from mase_hw.graph.inplace import is_number
from mase_hw.graph.joins import BRANCH_OPS, operands, why_not_plain
from mase_hw.layers import Layer, LayerGraph, ModelInput, Order
from mase_hw.modules import MulInteger, QuantizedMixin
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.operator import operator_of, operators
from mase_hw.passes.branches import exact_scale, joined_order, shape_of, why_not_streams
from mase_hw.passes.layer_types import check_typed, report_unquantized

SHAPE_OPS = ("flatten", "view", "reshape")  # no hardware: a stream has no shape
NO_HARDWARE = ("flatten", "identity", "dropout")  # in a model, and nothing in a design


def supported() -> tuple[str, ...]:
    """What may stand in a model that becomes hardware."""
    return (*operators(), *NO_HARDWARE)


@dataclass(frozen=True)
class _Result:
    """What a node hands on: the stream of a layer or of an input of the model, and that stream's order."""

    name: str
    order: Integers | None = None


def layer_graph_of(graph: MaseGraph, problems: Collector, quantize: QuantizeConfig | None = None) -> LayerGraph:
    """The graph's layers in topological order. Needs the common metadata.

    Every node must be supported, be quantized unless its op can do without, and lead to an output.
    """
    results: dict[fx.Node, _Result] = {}
    inputs: list[ModelInput] = []
    layers: list[Layer] = []
    unquantized: list[Layer] = []
    outputs: list[_Result] = []
    for node in graph.fx_graph.nodes:
        if node.op == "get_attr" or is_number(node):
            continue
        if node.op == "output":
            outputs = _outputs(node, results, problems)
            continue
        _check_readers(node, problems)
        results[node] = _Result(node.name)  # what follows is looked at even where this node is a problem
        if node.op == "placeholder":
            inputs.append(_input(node, problems))
            order = inputs[-1].order
            results[node] = _Result(node.name, None if order is None else np.array(order))
            continue
        made = _layer(node, results, problems)
        if isinstance(made, _Result):
            results[node] = made
        elif made is not None:
            layer, results[node] = made
            layers.append(layer)
            if layer.spec.rounding is None and operator_of(layer.op).needs_types:
                unquantized.append(layer)
    report_unquantized(unquantized, quantize, problems)
    problems.raise_if_any()
    found = LayerGraph(
        tuple(inputs),
        tuple(layers),
        tuple(output.name for output in outputs),
        tuple(_order(output.order) for output in outputs),
    )
    if not inputs:
        problems.add("the model has no input", get_node_place(graph.nodes[-1]), "let forward take a tensor")
    elif not layers:
        text = "the model has no layer that becomes hardware"
        problems.add(text, get_node_place(graph.nodes[0]), f"supported: {', '.join(supported())}")
    problems.raise_if_any()
    check_typed(found, quantize, problems)
    problems.raise_if_any()
    return found


def _input(node: fx.Node, problems: Collector) -> ModelInput:
    shape = tuple(shape_of(node)[1:])
    if not shape:
        text = f"{node.name}: this input of the model is no tensor of samples"
        problems.add(text, get_node_place(node), "only tensors become inputs; MaseGraph's cf_args sets other arguments")
    return ModelInput(node.name, shape, _order(_stream_order(shape)))


def _order(order: Integers | None) -> Order:
    return None if order is None else tuple(order.tolist())


def _layer(
    node: fx.Node, results: dict[fx.Node, _Result], problems: Collector
) -> tuple[Layer, _Result] | _Result | None:
    """The layer and its result; the result alone where there is nothing to build; None after a problem."""
    op, place, called = get_mase_op(node), get_node_place(node), _called(node)
    shape_in, shape_out = shape_of(node, "args", "data_in_0"), shape_of(node)
    if op in SHAPE_OPS:
        if len(shape_out) != 2 or shape_out[0] != shape_in[0]:
            text = f"{node.name}: {op} from {shape_in} to {shape_out} is not supported in hardware"
            problems.add(text, place, "only flattening to [batch, features] is")
        return results.get(node.all_input_nodes[0])
    if op in BRANCH_OPS:
        return _branch(node, results, problems)
    if node.all_input_nodes and node.all_input_nodes[0].op == "get_attr":
        text = f"{node.name}: {called} works on a constant of the model, not on its input"
        problems.add(text, place, "compute the constant once, in __init__, and store it as a buffer")
        return None
    if op not in operators():
        text = f"{node.name}: {called} is not supported in hardware"
        problems.add(text, place, f"supported: {', '.join(supported())}")
        return None
    if len(shape_in) != 2 and not operator_of(op).hands_on:
        text = f"{node.name}: {called} on an input of shape {shape_in} is not supported in hardware"
        problems.add(text, place, "flatten it to [batch, features] first")
        return None
    read = results[node.all_input_nodes[0]]
    layer = Layer(
        *(node.name, op, QuantSpec(), prod(shape_in[1:]), prod(shape_out[1:]), {}, place, called, (read.name,))
    )
    # The weights of a matrix take the order in: its outputs are a plain vector.
    result = _Result(node.name, None if operator_of(op).matrix else read.order)
    return _typed(node, layer, read.order, result, problems)


def _typed(
    node: fx.Node, layer: Layer, order: Integers | None, result: _Result, problems: Collector
) -> tuple[Layer, _Result] | None:
    """The layer with the types and the integers of its quantized module."""
    module = get_node_module(node)
    if not isinstance(module, QuantizedMixin) or module.bypass:
        return layer, result
    try:
        integers = _reorder(module.integers(), order)
        spec = module.spec
        if isinstance(module, MulInteger) and spec.weight is None:
            spec = replace(spec, weight=module.constant_type)
    except ProblemsError as error:  # parameters that are no numbers; go on, to show the problems of all layers
        problems.problems += error.problems
        return None
    if not operator_of(layer.op).rounds and spec.data_out not in (None, spec.data_in):
        text = f"{layer.name}: a {layer.op} only moves numbers, so its data_out {spec.data_out} must be its data_in"
        problems.add(text, layer.place, "delete data_out: the data_in of its reader types the result", layer.note)
        return None
    return replace(layer, spec=spec, integers=integers), result


def _branch(node: fx.Node, results: dict[fx.Node, _Result], problems: Collector) -> tuple[Layer, _Result] | None:
    """The layer of an add, a sub, a mul or a cat."""
    op, place = get_mase_op(node), get_node_place(node)
    streams = operands(node, op).streams
    orders = {stream: results[stream].order for stream in streams if stream in results}
    reason = why_not_plain(node, op) or why_not_streams(node, op, orders)
    if reason is not None:
        problems.add(f"{node.name}: {reason[0]}, which is not supported in hardware", place, reason[1])
        return None
    sizes = [prod(shape_of(stream)[1:]) for stream in streams]
    order, out = joined_order(op, [orders[stream] for stream in streams], sizes), prod(shape_of(node)[1:])
    names = tuple(results[stream].name for stream in streams)
    layer = Layer(node.name, op, QuantSpec(), sum(sizes), out, {}, place, _called(node), names)
    if op == "mul" and get_node_module(node) is None:
        exact = problems.attempt(lambda: exact_scale(node, out))
        if exact is None:
            return None
        layer = replace(layer, spec=QuantSpec(weight=exact[0]), integers=_reorder({"scale": exact[1]}, order))
    return _typed(node, layer, order, _Result(node.name, order), problems)


def _outputs(node: fx.Node, results: dict[fx.Node, _Result], problems: Collector) -> list[_Result]:
    """The results that the model returns, in order."""
    given, place = node.args[0], get_node_place(node)
    several = given if isinstance(given, tuple | list) else [given]
    if isinstance(given, dict) or not several or not all(isinstance(value, fx.Node) for value in several):
        what = (
            "a dict"
            if isinstance(given, dict)
            else "no tensor"
            if not isinstance(given, tuple | list)
            else "more than tensors"
        )
        problems.add(f"the model returns {what}", place, "let forward return a tensor, or a tuple of tensors")
        return []
    sources = [value for value in several if isinstance(value, fx.Node)]
    if any(value.op == "get_attr" for value in sources):
        text = "the model returns a constant, whatever its input is"
        problems.add(text, place, "let forward return the last layer's result")
    if any(is_number(value) for value in sources):
        problems.add("the model returns a size of a tensor", place, "let forward return results of layers alone")
    return [results[value] for value in sources if value in results]


def _check_readers(node: fx.Node, problems: Collector) -> None:
    if any(not is_number(user) for user in node.users):
        return
    if node.op == "placeholder":
        text = f"{node.name}: the model never reads this input"
        problems.add(text, get_node_place(node), "take the argument out of forward")
    else:
        problems.add(
            f"{node.name}: its result is never used", get_node_place(node), "delete the call, or use its result"
        )


def _stream_order(shape: tuple[int, ...]) -> Integers | None:
    """Images stream pixel by pixel, channels fastest; torch flattens them channel by channel."""
    if len(shape) != 3 or shape[0] == 1:
        return None
    return np.arange(int(np.prod(shape))).reshape(shape).transpose(1, 2, 0).ravel()


def _reorder(integers: dict[str, Integers], order: Integers | None) -> dict[str, Integers]:
    """Parameters in the order in which the stream brings the features."""
    if order is None:
        return integers
    return {
        name: values if name == "bias" else values[:, order] if values.ndim == 2 else values[order]
        for name, values in integers.items()
    }


def _called(node: fx.Node) -> str:
    target = get_node_actual_target(node)
    if node.op == "call_module":
        return str(getattr(target, "mase_op", type(target).__name__.removesuffix("Integer")))
    target = getattr(target, "mase_op", target)
    return f".{target}()" if node.op == "call_method" else str(getattr(target, "__name__", target))
