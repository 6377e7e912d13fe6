"""From a quantized MaseGraph to the graph of layers that hardware is made of, or to all that stands in its way."""

from __future__ import annotations

from dataclasses import replace

from torch import fx

from mase_hw.config.quantize import QuantizeConfig
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place
from mase_hw.graph.inplace import is_number
from mase_hw.layers import Layer, LayerGraph, ModelInput
from mase_hw.lowering.types import types_of
from mase_hw.modules.codes import FromCodes, ToCodes
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.operator import operator_of
from mase_hw.passes.branches import shape_of
from mase_hw.passes.frames import FrameInput, frame_inputs, framed_nodes, stream_order
from mase_hw.passes.layer_types import check_typed, report_unquantized
from mase_hw.passes.node_layers import CODES, NodeLayers, Reading, as_order, supported
from mase_hw.passes.pads import pads_merged

__all__ = ["layer_graph_of", "read_layers", "supported"]


def layer_graph_of(graph: MaseGraph, problems: Collector, quantize: QuantizeConfig | None = None) -> LayerGraph:
    """The graph's layers, as `read_layers` gives them; one that cannot be built is a problem."""
    found = read_layers(graph, problems, quantize)
    for layer in found.layers:
        if not operator_of(layer.op).hardware:
            text = f"{layer.name}: {layer.called} is not supported in hardware"
            problems.add(text, layer.place, f"supported: {', '.join(supported())}")
        divisors = sorted(set(layer.integers["divisor"].tolist())) if "divisor" in layer.integers else []
        if len(divisors) > 1:
            text = (
                f"{layer.name}: its windows are divided by {divisors[0]} to {divisors[-1]}, those at the border by less"
            )
            hint = (
                "one divisor for all is supported in hardware: count_include_pad=True, or no padding and no ceil_mode"
            )
            problems.add(text, layer.place, hint, layer.note)
    problems.raise_if_any()
    return found


def read_layers(graph: MaseGraph, problems: Collector, quantize: QuantizeConfig | None = None) -> LayerGraph:
    """The graph's layers in topological order. Needs the common metadata.

    Every node must be supported, be quantized unless its op can do without, and lead to an output.
    """
    framed = framed_nodes(graph.fx_graph, shape_of)
    frames = frame_inputs(graph.fx_graph, framed, shape_of)
    results: dict[fx.Node, Reading] = {}
    inputs: list[ModelInput] = []
    layers: list[Layer] = []
    unquantized: list[Layer] = []
    outputs: list[Reading] = []
    maker = NodeLayers(framed, results, problems)
    for node in graph.fx_graph.nodes:
        if node.op == "get_attr" or is_number(node):
            continue
        if node.op == "output":
            outputs = _outputs(node, results, problems)
            continue
        _check_readers(node, problems)
        results[node] = maker.unknown(node)  # what follows is looked at even where this node is a problem
        if node.op == "placeholder":
            x, order = _input(node, frames.get(node), problems)
            inputs.append(x)
            results[node] = Reading(node.name, order, x.frame)
            continue
        if get_mase_op(node) in CODES:
            _scaled(node, results, inputs)
            continue
        made = maker.make(node)
        if isinstance(made, Reading):
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
        tuple(as_order(output.order) for output in outputs),
        tuple(output.values for output in outputs),
    )
    if not inputs:
        problems.add("the model has no input", get_node_place(graph.nodes[-1]), "let forward take a tensor")
    elif not layers:
        text = "the model has no layer that becomes hardware"
        problems.add(text, get_node_place(graph.nodes[0]), f"supported: {', '.join(supported())}")
    problems.raise_if_any()
    check_typed(found, quantize, problems)
    problems.raise_if_any()
    _check_averages(found, problems)
    problems.raise_if_any()
    return pads_merged(found)


def _scaled(node: fx.Node, results: dict[fx.Node, Reading], inputs: list[ModelInput]) -> None:
    """What stands between real numbers and the integers of a port is no layer: the port takes it."""
    read, module = results[node.all_input_nodes[0]], get_node_module(node)
    results[node] = read
    if isinstance(module, FromCodes):
        results[node] = replace(read, values=module.values)
        return
    assert isinstance(module, ToCodes)
    (index,) = [k for k, x in enumerate(inputs) if x.name == read.name]
    inputs[index] = replace(inputs[index], codes=module.codes)


def _input(node: fx.Node, read: FrameInput | None, problems: Collector) -> tuple[ModelInput, Integers | None]:
    shape = tuple(shape_of(node)[1:])
    if not shape:
        text = f"{node.name}: this input of the model is no tensor of samples"
        problems.add(text, get_node_place(node), "only tensors become inputs; MaseGraph's cf_args sets other arguments")
    if read is not None:
        return ModelInput(node.name, shape, as_order(read.order), read.frame), read.order
    order = stream_order(shape) if len(shape) == 3 else None  # an image goes pixel by pixel, also to be flattened
    return ModelInput(node.name, shape, as_order(order)), order


def _check_averages(found: LayerGraph, problems: Collector) -> None:
    """A quotient that no fixed-point type has needs a type to be rounded to."""
    types = types_of(found).results
    for layer in found.layers:
        divisors = sorted(set(layer.integers["divisor"].tolist())) if "divisor" in layer.integers else []
        odd = [divisor for divisor in divisors if divisor & (divisor - 1)]
        if odd and types[layer.name] is None:
            text = f"{layer.name}: a sum divided by {odd[-1]} is no fixed-point number, and no one type is asked for"
            hint = "give it data_out_width and data_out_frac_width, or all its readers one data_in"
            problems.add(text, layer.place, hint, layer.note)


def _outputs(node: fx.Node, results: dict[fx.Node, Reading], problems: Collector) -> list[Reading]:
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
