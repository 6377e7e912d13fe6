"""From a quantized MaseGraph to the chain of layers that hardware is made of, or to all that stands in its way."""

from __future__ import annotations

import re

import numpy as np
from torch import fx

from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_actual_target, get_node_module, get_node_place
from mase_hw.layers import Layer, LayerGraph, chain
from mase_hw.modules import QuantizedMixin
from mase_hw.numerics.rounding import Integers

MATRIX_OPS = ("linear",)
ELEMENTWISE_OPS = ("relu", "batch_norm1d")
TYPELESS_OPS = ("relu",)
SHAPE_OPS = ("flatten", "view", "reshape")  # no hardware: a stream has no shape
SUPPORTED = (*MATRIX_OPS, *ELEMENTWISE_OPS, "flatten", "identity", "dropout")
_ARGUMENTS = {"linear": ("data_in", "weight", "bias"), "batch_norm1d": ("data_in", "weight", "bias")}


def layer_graph_of(graph: MaseGraph, problems: Collector, quantize: QuantizeConfig | None = None) -> LayerGraph:
    """The graph's layers in order. Needs the common metadata; every node must be supported, quantized, read once."""
    inputs = [node for node in graph.fx_graph.nodes if node.op == "placeholder"]
    if len(inputs) != 1:
        names = ", ".join(node.name for node in inputs) or "none"
        text = f"the model has {len(inputs)} inputs ({names}); hardware takes one"
        problems.add(text, get_node_place(inputs[-1]) if inputs else None, "let forward take one tensor")
    shape = tuple(_shape(inputs[0], "results", "data_out_0")[1:]) if inputs else ()
    order = _stream_order(shape)
    layers: list[Layer] = []
    unquantized: list[Layer] = []
    pending = order
    for node in graph.fx_graph.nodes:
        if node.op in ("get_attr", "output", "placeholder"):
            _check_readers(node, problems)
            continue
        if _asks_shape(node):
            continue
        _check_readers(node, problems)
        layer = _layer(node, pending, problems)
        if layer is not None and layer.spec.rounding is None and layer.op not in TYPELESS_OPS:
            unquantized.append(layer)
        elif layer is not None:
            layers.append(layer)
            if layer.op in MATRIX_OPS:
                pending = None  # its weights took the order in; its outputs are a plain vector
    _report_unquantized(unquantized, quantize, problems)
    problems.raise_if_any()
    if not layers:
        text = "the model has no layer that becomes hardware"
        problems.add(text, get_node_place(inputs[0]) if inputs else None, f"supported: {', '.join(SUPPORTED)}")
    elif all(layer.spec.rounding is None for layer in layers):
        problems.add(
            "no layer is quantized, so the input has no type",
            quantize.places.of("passes", "quantize") if quantize and quantize.places else None,
            _lines_to_add(layers[0].op, layers[0].name, quantize),
        )
    problems.raise_if_any()
    kept = None if order is None else tuple(order.tolist())
    made = chain(layers, shape, kept)
    mixed = any(layer.op in MATRIX_OPS for layer in layers)
    return LayerGraph(made.inputs, made.layers, made.outputs, (None if mixed else kept,))


def _layer(node: fx.Node, order: Integers | None, problems: Collector) -> Layer | None:
    op, place, called = get_mase_op(node), get_node_place(node), _called(node)
    shape_in, shape_out = _shape(node, "args", "data_in_0"), _shape(node, "results", "data_out_0")
    if op in SHAPE_OPS:
        if len(shape_out) != 2 or shape_out[0] != shape_in[0]:
            text = f"{node.name}: {op} from {shape_in} to {shape_out} is not supported in hardware"
            problems.add(text, place, "only flattening to [batch, features] is")
        return None
    if node.all_input_nodes and node.all_input_nodes[0].op == "get_attr":
        text = f"{node.name}: {called} works on a constant of the model, not on its input"
        problems.add(text, place, "compute the constant once, in __init__, and store it as a buffer")
        return None
    if op not in (*MATRIX_OPS, *ELEMENTWISE_OPS):
        problems.add(f"{node.name}: {called} is not supported in hardware", place, f"supported: {', '.join(SUPPORTED)}")
        return None
    if op != "relu" and len(shape_in) != 2:
        text = f"{node.name}: {called} on an input of shape {shape_in} is not supported in hardware"
        problems.add(text, place, "flatten it to [batch, features] first")
        return None
    module = get_node_module(node)
    in_features, out_features = (int(np.prod(shape[1:])) for shape in (shape_in, shape_out))
    if isinstance(module, QuantizedMixin) and not module.bypass:
        try:
            integers = _reorder(module.integers(), order)
        except ProblemsError as error:  # parameters that are no numbers; go on, to show the problems of all layers
            problems.problems += error.problems
            return None
        return Layer(node.name, op, module.spec, in_features, out_features, integers, place, called)
    return Layer(node.name, op, QuantSpec(), in_features, out_features, {}, place, called)


def _report_unquantized(layers: list[Layer], quantize: QuantizeConfig | None, problems: Collector) -> None:
    """One problem for each table that is missing: a TOML takes its lines once, however many layers they rule."""
    by_key: dict[str, list[Layer]] = {}
    for layer in layers:
        by_key.setdefault(_key(layer.op, layer.name, quantize), []).append(layer)
    for alike in by_key.values():
        first, names = alike[0], ", ".join(layer.name for layer in alike)
        problems.add(
            f"{names}: {first.called} is not quantized",
            quantize.where(first.name, first.op) if quantize else None,
            _lines_to_add(first.op, first.name, quantize),
            tuple(note for layer in alike for note in layer.note),
        )


def _key(op: str, name: str, quantize: QuantizeConfig | None) -> str:
    """The table of [passes.quantize] that rules a node, or would."""
    if quantize is None:
        return op
    ruling = quantize.key_for(name, op)
    return ruling if ruling != "default" else op if quantize.by == "type" else name


def _lines_to_add(op: str, name: str, quantize: QuantizeConfig | None) -> str:
    """The TOML that quantizes a node."""
    key = _key(op, name, quantize)
    verb = "change this table to" if quantize is not None and key in quantize.entries else "add"
    quoted = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else f"'{key}'"
    lines = [f"{verb}, with widths of your choice:\n[passes.quantize.{quoted}.config]", 'name = "integer"']
    for argument in _ARGUMENTS.get(op, ("data_in",)):
        lines += [f"{argument}_width = 8", f"{argument}_frac_width = 4"]
    return "\n".join(lines)


def _check_readers(node: fx.Node, problems: Collector) -> None:
    if node.op == "output":
        given = node.args[0]
        if not isinstance(given, fx.Node):
            what = f"{len(given)} values" if isinstance(given, tuple | list) else "no tensor"
            what = "a dict" if isinstance(given, dict) else what
            text = f"the model returns {what}; hardware gives one tensor"
            problems.add(text, get_node_place(node), "let forward return the last layer's result alone")
        elif given.op == "get_attr":
            text = "the model returns a constant, whatever its input is"
            problems.add(text, get_node_place(node), "let forward return the last layer's result")
        return
    readers = [user.name for user in node.users if not _asks_shape(user)]
    if node.op not in ("get_attr", "placeholder") and not readers:
        problems.add(
            f"{node.name}: its result is never used", get_node_place(node), "delete the call, or use its result"
        )
    if node.op != "get_attr" and len(readers) > 1:
        text = f"{node.name} is read by {len(readers)} nodes ({', '.join(readers)}), and hardware has no forks yet"
        problems.add(text, get_node_place(node), "let each result be read once: no branches, no skip connections")


def _asks_shape(node: fx.Node) -> bool:
    """`x.shape`, `x.size(0)` and what is picked out of them: known when the graph is, no hardware."""
    op = get_mase_op(node)
    if op == "getitem":
        return isinstance(node.args[0], fx.Node) and _asks_shape(node.args[0])
    return op == "size" or (op == "getattr" and node.args[1] == "shape")


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


def _shape(node: fx.Node, side: str, name: str) -> list[int]:
    entry = node.meta["mase"].parameters["common"][side].get(name, {})
    return list(entry.get("shape", []))


def _called(node: fx.Node) -> str:
    target = get_node_actual_target(node)
    if node.op == "call_module":
        return type(target).__name__.removesuffix("Integer")
    return f".{target}()" if isinstance(target, str) else str(getattr(target, "__name__", target))
