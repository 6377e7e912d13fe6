"""Which parameters of a quantized graph saturate, layer by layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mase_hw.graph import MaseGraph, get_mase_op, get_node_module
from mase_hw.modules import QuantizedMixin
from mase_hw.numerics.saturation import entry, saturation, saturation_notes


def saturated_parameters(graph: MaseGraph) -> dict[str, dict[str, Any]]:
    """By node, as the manifest has it; for every quantized layer with parameters, whether any saturate or not."""
    found = {}
    for node, module in _quantized(graph):
        values = {
            argument: saturation(real.detach().cpu().double().numpy(), quantizer.to, quantizer.rounding)
            for argument, (real, quantizer) in module.parameter_values().items()
        }
        if values:
            found[node.name] = entry(values)
    return found


def notes_of_saturation(graph: MaseGraph) -> tuple[str, ...]:
    """A line for each layer's argument that saturates."""
    entries = saturated_parameters(graph)
    lines: list[str] = []
    for node, module in _quantized(graph):
        if node.name in entries:
            types = {"weight": module.spec.weight, "bias": module.spec.bias}
            lines += saturation_notes(node.name, get_mase_op(node), types, entries[node.name])
    return tuple(lines)


def _quantized(graph: MaseGraph) -> Iterator[tuple[Any, QuantizedMixin]]:
    for node in graph.fx_graph.nodes:
        module = get_node_module(node)
        if isinstance(module, QuantizedMixin) and not module.bypass:
            yield node, module
