"""The Pareto front of a TOML's hardware: for each interval that pays, the smallest design that reaches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mase_hw.config import Config
from mase_hw.diagnostics import Collector
from mase_hw.flow import load
from mase_hw.ir import Design
from mase_hw.ir.plumbing import Fifo
from mase_hw.layers import Layer, LayerGraph
from mase_hw.lowering.build import design_of
from mase_hw.lowering.choose import ChoiceRequest, request
from mase_hw.lowering.labels import Limits
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.space import unsolved
from mase_hw.ops.choice import Choice
from mase_hw.ops.operator import FOREVER
from mase_hw.pipeline.graphs import quantized_graph
from mase_hw.pipeline.hardware import layers_of

Report = Callable[[float], None]  # told how much is done, 0 to 1


@dataclass(frozen=True)
class Point:
    """A design on the front: `hardware` are the keys of [hardware] with which `emit` builds it."""

    plan: Plan
    design: Design
    layers: tuple[Layer, ...]
    hardware: Mapping[str, int]

    @property
    def sites(self) -> int:
        """LUT sites of every use."""
        return self.design.cost().logic

    @property
    def chosen(self) -> dict[str, Choice]:
        return {layer.name: choice for layer, choice in zip(self.layers, self.plan.choices, strict=True)}

    @property
    def told(self) -> str:
        """The choices in words, but for layers that need none."""
        nodes = zip(self.design.nodes, self.plan.choices, strict=True)
        shown = [(node.name, choice.built) for node, choice in nodes if node.implementation not in ("none", "merged")]
        return "; ".join(f"{name}: {built}" for name, built in shown)


@dataclass(frozen=True)
class Explored:
    """The front, from the fastest design to the smallest."""

    points: tuple[Point, ...]
    notes: tuple[str, ...]


def explore(
    config: Config, *, slowest: int | None = None, dsp: bool = False, report: Report = lambda _: None
) -> Explored:
    """All points with an interval of at most `slowest`. `dsp` allows DSP blocks; [hardware] may limit them."""
    loaded = load(config)
    quantize: dict[str, Any] = {**config.raw["passes"]["quantize"], "places": config.places}
    graph = quantized_graph(loaded.model, loaded.shapes, quantize, fuse_batch_norm=config.fuse_batch_norm)
    layers = layers_of(graph, config.hardware, config.quantize)
    with Collector() as problems:
        asked = request(layers, config.hardware, config.target, problems, dsp=dsp)
    points: list[Point] = []
    for plan in front(asked, slowest or FOREVER, report):
        point = _point(asked, layers, plan)
        # Each plan is faster than those before it. Where windows wait between frames, its design need not be.
        if not points or point.design.schedule.interval < points[-1].design.schedule.interval:
            points.append(point)
    return Explored(tuple(points[::-1]), (*loaded.notes, *_notes(asked)))


def front(asked: ChoiceRequest, slowest: int, report: Report = lambda _: None) -> list[Plan]:
    """From the smallest plan to the fastest: the next is the smallest that is faster than the one before."""
    return list(_front(asked, slowest, report))


def _front(asked: ChoiceRequest, slowest: int, report: Report) -> Iterator[Plan]:
    planner, limits = asked.planner, Limits(asked.target.dsp_budget, asked.target.bram_budget)
    least = 2 if unsolved(asked.sites, asked.specs) else 1
    before, first = None, 0
    while slowest >= least and (plan := planner.best(slowest, limits)) is not None:
        plan = planner.best(plan.interval, limits) or plan  # what `emit` finds when asked for this very interval
        first = first or plan.interval
        if before is not None and plan.sites > before.sites:
            yield before
        before, slowest = plan, plan.interval - 1
        report(1 - math.log(plan.interval) / math.log(first) if first > 1 else 1)
    if before is not None:
        yield before
    report(1)


def _point(asked: ChoiceRequest, layers: LayerGraph, plan: Plan) -> Point:
    wish = {"target_interval": plan.interval} | ({"dsp_budget": plan.dsp} if asked.dsp else {})
    wish |= {"bram_budget": asked.target.bram_budget} if asked.target.bram_budget is not None else {}
    design = design_of(layers, plan, replace(asked.target, target_interval=plan.interval))
    fifos = sum(c.cost().logic for c in design.components if isinstance(c, Fifo))  # a plan has those that users ask for
    assert design.cost().logic <= plan.sites + fifos, "the design costs more than was planned"
    waits = any(layer.geometry is not None for layer in layers.layers)
    assert waits or design.schedule.interval <= plan.interval, "the design is slower than was planned"
    return Point(plan, design, layers.layers, wish)


def _notes(asked: ChoiceRequest) -> list[str]:
    names = unsolved(asked.sites, asked.specs)
    if not names:
        return []
    text = f"interval 1 is left out: {', '.join(names)} would have to be unrolled"
    return [f'{text}, which takes long; implementation = "unrolled" asks for it']
