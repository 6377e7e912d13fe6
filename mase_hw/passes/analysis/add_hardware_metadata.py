"""add_hardware_metadata_analysis_pass: how each node is built, written into `parameters["hardware"]`."""

from __future__ import annotations

from typing import Any

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget, parse_hardware
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph
from mase_hw.layers import LayerGraph
from mase_hw.lowering.choose import choose
from mase_hw.lowering.optimize import Plan
from mase_hw.passes.layers import layer_graph_of, supported


def add_hardware_metadata_analysis_pass(
    graph: MaseGraph, pass_args: dict[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Chooses implementation and parallelism for every node that becomes hardware.

    `pass_args` has the shape of [passes.hardware]; beside it may stand `target` (the parsed [hardware], what is asked
    of the whole design) or just `target_interval` (cycles per inference to reach), `places`, `config` (already parsed)
    and `quantize` (the parsed [passes.quantize], for better messages). `info` holds the `layers` and the `plan` made
    for them, which is what lowering takes.
    """
    args = dict(pass_args or {})
    target_interval, target = args.pop("target_interval", None), args.pop("target", None)
    if not isinstance(target, HardwareTarget):
        target = HardwareTarget("top", target_interval=target_interval)
    places, quantize = args.pop("places", None), args.pop("quantize", None)
    config = args.pop("config", None)
    with Collector() as problems:
        if not isinstance(config, HardwareConfig):
            config = parse_hardware(args, problems, places) if args else HardwareConfig("type", HardwareSpec())
        problems.raise_if_any()
        layers = layer_graph_of(graph, problems, quantize)
        config.check_keys([layer.name for layer in layers.layers], supported(), problems)
        plan = choose(layers, config, target, problems)
    note_choices(graph, layers, plan)
    return graph, {"layers": layers, "plan": plan}


def note_choices(graph: MaseGraph, layers: LayerGraph, plan: Plan) -> None:
    """Writes a plan into the metadata of the graph's nodes."""
    by_name = {layer.name: choice for layer, choice in zip(layers.layers, plan.choices, strict=True)}
    for node in graph.fx_graph.nodes:
        choice = by_name.get(node.name)
        hardware = node.meta["mase"].parameters["hardware"]
        hardware.clear()
        hardware.update({"is_implicit": True} if choice is None else {"is_implicit": False, **choice.metadata()})
