"""From a plan to the finished design: the components, and the FIFOs in front of joins."""

from __future__ import annotations

from collections.abc import Mapping

from mase_hw.config.hardware import HardwareConfig, HardwareTarget
from mase_hw.diagnostics import Collector
from mase_hw.ir.design import Design
from mase_hw.layers import LayerGraph
from mase_hw.lowering.lower import Branching, Edge, lower
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.skips import Make, exact_depths


def design_of(
    graph: LayerGraph,
    plan: Plan,
    target: HardwareTarget,
    config: HardwareConfig | None = None,
    problems: Collector | None = None,
) -> Design:
    """The design of a plan. A FIFO depth that the user asks for is kept if it is smaller, unless it would deadlock."""

    def make(depths: Mapping[Edge, int]) -> Design:
        return lower(target.top, graph, plan.choices, target, Branching(plan.forks, depths))

    depths = exact_depths(graph, make)
    asked = _asked(graph, plan, depths)
    if asked != depths:
        design = make(asked)
        if design.progress.goes_on:
            return design
        problems = problems or Collector()
        _report(graph, depths, asked, make, config, problems)
        problems.raise_if_any()
    return make(depths)


def _asked(graph: LayerGraph, plan: Plan, depths: Mapping[Edge, int]) -> dict[Edge, int]:
    wished = {layer.name: choice.data_in_fifo_depth for layer, choice in zip(graph.layers, plan.choices, strict=True)}
    return {edge: min(depth, wished[edge[0]] or depth) for edge, depth in depths.items()}


def _report(
    graph: LayerGraph,
    depths: Mapping[Edge, int],
    asked: Mapping[Edge, int],
    make: Make,
    config: HardwareConfig | None,
    problems: Collector,
) -> None:
    for name in dict.fromkeys(edge[0] for edge in asked if asked[edge] < depths[edge]):
        most = max(depth for edge, depth in depths.items() if edge[0] == name)
        low, high = 1, most
        while low < high:  # the smallest depth with which the design goes on, the others as they have to be
            middle = (low + high) // 2
            tried = {edge: min(depth, middle) if edge[0] == name else depth for edge, depth in depths.items()}
            if make(tried).progress.goes_on:
                high = middle
            else:
                low = middle + 1
        layer = graph.by_name[name]
        wish = max(asked[edge] for edge in asked if edge[0] == name)
        where = config.where(name, layer.op, "data_in_fifo_depth") if config else None
        text = f"hardware.{name}: data_in_fifo_depth = {wish} would stop the design: a branch waits for the other"
        hint = f"set data_in_fifo_depth = {high} or more; {most} loses no cycle, and is taken without this line"
        problems.add(text, where, hint, layer.note)
