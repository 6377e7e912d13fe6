"""From a quantized MaseGraph to the chain of layers that hardware is made of, or to all that stands in its way."""

from __future__ import annotations

import numpy as np
from torch import fx

from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_actual_target, get_node_module, get_node_place
from mase_hw.hardware.layers import ELEMENTWISE_OPS, MATRIX_OPS, TYPELESS_OPS, Chain, Layer
from mase_hw.modules import QuantizedMixin
from mase_hw.numerics.rounding import Integers

SHAPE_OPS = ("flatten", "view", "reshape")  # no hardware: a stream has no shape
SUPPORTED = (*MATRIX_OPS, *ELEMENTWISE_OPS, "flatten", "identity", "dropout")
_ARGUMENTS = {"linear": ("data_in", "weight", "bias"), "batch_norm1d": ("data_in", "weight", "bias")}


def chain_of(graph: MaseGraph, found: Collector, quantize: QuantizeConfig | None = None) -> Chain:
    """The graph's layers in order. Needs the common metadata; every node must be supported, quantized, read once."""
    inputs = [node for node in graph.fx_graph.nodes if node.op == "placeholder"]
    if len(inputs) != 1:
        names = ", ".join(node.name for node in inputs) or "none"
        found.add(
            f"the model has {len(inputs)} inputs ({names}); hardware takes one", hint="merge them into one tensor"
        )
    shape = tuple(_shape(inputs[0], "results", "data_out_0")[1:]) if inputs else ()
    order = _stream_order(shape)
    layers: list[Layer] = []
    pending = order
    for node in graph.fx_graph.nodes:
        if node.op in ("get_attr", "output", "placeholder"):
            _check_readers(node, found)
            continue
        _check_readers(node, found)
        layer = _layer(node, pending, found, quantize)
        if layer is not None:
            layers.append(layer)
            if layer.op in MATRIX_OPS:
                pending = None  # its weights took the order in; its outputs are a plain vector
    if not layers:
        found.add("the model has no layer that becomes hardware", hint=f"supported: {', '.join(SUPPORTED)}")
    elif all(layer.spec.rounding is None for layer in layers):
        found.add(
            "no layer is quantized, so the input has no type",
            quantize.places.of("passes", "quantize") if quantize and quantize.places else None,
            _lines_to_add(layers[0].op, layers[0].name, quantize),
        )
    found.raise_if_any()
    return Chain(tuple(layers), shape, None if order is None else tuple(order.tolist()))


def _layer(node: fx.Node, order: Integers | None, found: Collector, quantize: QuantizeConfig | None) -> Layer | None:
    op, place, called = get_mase_op(node), get_node_place(node), _called(node)
    shape_in, shape_out = _shape(node, "args", "data_in_0"), _shape(node, "results", "data_out_0")
    if op in SHAPE_OPS:
        if len(shape_out) != 2 or shape_out[0] != shape_in[0]:
            text = f"{node.name}: {op} from {shape_in} to {shape_out} is not supported in hardware"
            found.add(text, place, "only flattening to [batch, features] is")
        return None
    if op not in (*MATRIX_OPS, *ELEMENTWISE_OPS):
        found.add(f"{node.name}: {called} is not supported in hardware", place, f"supported: {', '.join(SUPPORTED)}")
        return None
    if op != "relu" and len(shape_in) != 2:
        text = f"{node.name}: {called} on an input of shape {shape_in} is not supported in hardware"
        found.add(text, place, "flatten it to [batch, features] first")
        return None
    module = get_node_module(node)
    in_features, out_features = (int(np.prod(shape[1:])) for shape in (shape_in, shape_out))
    if isinstance(module, QuantizedMixin) and not module.bypass:
        try:
            integers = _reorder(module.integers(), order)
        except ProblemsError as error:  # parameters that are no numbers; go on, to show the problems of all layers
            found.problems += error.problems
            return None
        return Layer(node.name, op, module.spec, in_features, out_features, integers, place, called)
    if op in TYPELESS_OPS:
        return Layer(node.name, op, QuantSpec(), in_features, out_features, {}, place, called)
    layer = Layer(node.name, op, QuantSpec(), in_features, out_features, {}, place, called)
    found.add(
        f"{node.name}: {called} is not quantized",
        quantize.where(node.name, op) if quantize else None,
        _lines_to_add(op, node.name, quantize),
        layer.note,
    )
    return None


def _lines_to_add(op: str, name: str, quantize: QuantizeConfig | None) -> str:
    """The TOML that quantizes a node."""
    key = op if quantize is None or quantize.by == "type" else name
    lines = [f"add, with widths of your choice:\n[passes.quantize.{key}.config]", 'name = "integer"']
    for argument in _ARGUMENTS.get(op, ("data_in",)):
        lines += [f"{argument}_width = 8", f"{argument}_frac_width = 4"]
    return "\n".join(lines)


def _check_readers(node: fx.Node, found: Collector) -> None:
    if node.op == "output":
        if not isinstance(node.args[0], fx.Node):
            found.add("the model returns more than one tensor; hardware gives one", get_node_place(node))
        return
    readers = [user.name for user in node.users]
    if node.op != "get_attr" and len(readers) > 1:
        text = f"{node.name} is read by {len(readers)} nodes ({', '.join(readers)}): hardware has no forks yet"
        found.add(text, get_node_place(node), "let each result be read once")


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
