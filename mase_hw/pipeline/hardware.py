"""From a quantized graph to a design: its layers, the choice of hardware, the components."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget
from mase_hw.config.quantize import QuantizeConfig
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph
from mase_hw.ir import Design
from mase_hw.layers import LayerGraph
from mase_hw.lowering.build import built, design_of
from mase_hw.lowering.choose import choose
from mase_hw.lowering.optimize import Plan
from mase_hw.passes.analysis.add_hardware_metadata import note_choices
from mase_hw.passes.layers import layer_graph_of, supported

__all__ = ["Hardware", "design_of", "hardware_of", "layers_of", "plan_of"]

ANY_HARDWARE = HardwareConfig("type", HardwareSpec())


@dataclass(frozen=True)
class Hardware:
    """What a quantized graph becomes."""

    layers: LayerGraph
    plan: Plan
    design: Design
    notes: tuple[str, ...] = ()  # for the user


def layers_of(graph: MaseGraph, config: HardwareConfig, quantize: QuantizeConfig | None = None) -> LayerGraph:
    """The graph's layers with their integers; torch ends here. All that stands in the way is a problem."""
    with Collector() as problems:
        layers = layer_graph_of(graph, problems, quantize)
        config.check_keys([layer.name for layer in layers.layers], supported(), problems)
    return layers


def plan_of(layers: LayerGraph, config: HardwareConfig, target: HardwareTarget) -> Plan:
    """The choice for every layer: what the user fixed, and the rest by the optimiser."""
    with Collector() as problems:
        return choose(layers, config, target, problems)


def hardware_of(
    graph: MaseGraph, config: HardwareConfig, target: HardwareTarget, quantize: QuantizeConfig | None = None
) -> Hardware:
    """All steps; the choice is also written into the graph's metadata."""
    layers = layers_of(graph, config, quantize)
    with Collector() as problems:
        plan, made = built(layers, config, target, problems)
    note_choices(graph, layers, plan)
    return Hardware(layers, plan, made.design, made.notes)
