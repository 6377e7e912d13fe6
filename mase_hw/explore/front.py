"""The Pareto front of a TOML's hardware: for each interval that pays, the smallest design that reaches it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mase_hw.config import Config
from mase_hw.diagnostics import Collector
from mase_hw.flow import quantized_graph
from mase_hw.ir import Design
from mase_hw.loading import load_data, load_weights
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.choose import ChoiceRequest, request
from mase_hw.lowering.layers import Layer, LayerGraph
from mase_hw.lowering.lower import lower
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.space import FOREVER, unsolved
from mase_hw.models import input_shapes
from mase_hw.passes.layers import SUPPORTED, layer_graph_of

Report = Callable[[float], None]  # told how much is done, 0 to 1


@dataclass(frozen=True)
class Point:
    """A design on the front: `hardware` are the keys of [hardware] with which `emit` builds it."""

    plan: Plan
    design: Design
    layers: tuple[Layer, ...]
    hardware: Mapping[str, int]

    @property
    def luts(self) -> int:
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
    with Collector() as problems:
        loaded = problems.attempt(lambda: load_weights(config))
        dataset = problems.attempt(lambda: load_data(config, None if loaded is None else loaded[0]))
    assert loaded is not None
    model, notes = loaded
    shape = input_shapes(model, dataset, config.where("model" if dataset is None else "dataset"))
    quantize: dict[str, Any] = {**config.raw["passes"]["quantize"], "places": config.places}
    graph = quantized_graph(model, shape, quantize, fuse_batch_norm=config.fuse_batch_norm)
    with Collector() as problems:
        chain = layer_graph_of(graph, problems, config.quantize)
        config.hardware.check_keys([layer.name for layer in chain.layers], SUPPORTED, problems)
        asked = request(chain, config.hardware, config.target, problems, dsp=dsp)
    points = tuple(_point(asked, chain, plan) for plan in front(asked, slowest or FOREVER, report))
    return Explored(points[::-1], (*notes, *_notes(asked)))


def front(asked: ChoiceRequest, slowest: int, report: Report = lambda _: None) -> list[Plan]:
    """From the smallest plan to the fastest: the next is the smallest that is faster than the one before."""
    return list(_front(asked, slowest, report))


def _front(asked: ChoiceRequest, slowest: int, report: Report) -> Iterator[Plan]:
    planner, most_dsp = asked.planner, asked.target.dsp_budget
    least = 2 if unsolved(asked.sites, asked.specs) else 1
    before, first = None, 0
    while slowest >= least and (plan := planner.best(slowest, most_dsp)) is not None:
        plan = planner.best(plan.interval, most_dsp) or plan  # what `emit` finds when asked for this very interval
        first = first or plan.interval
        if before is not None and plan.luts > before.luts:
            yield before
        before, slowest = plan, plan.interval - 1
        report(1 - math.log(plan.interval) / math.log(first) if first > 1 else 1)
    if before is not None:
        yield before
    report(1)


def _point(asked: ChoiceRequest, chain: LayerGraph, plan: Plan) -> Point:
    wish = {"target_interval": plan.interval} | ({"dsp_budget": plan.dsp} if asked.dsp else {})
    design = lower(asked.target.top, chain, plan.choices, asked.target)
    assert design.cost().logic == plan.luts, "the design does not cost what was planned"
    assert design.schedule.interval <= plan.interval, "the design is slower than was planned"
    return Point(plan, design, chain.layers, wish)


def _notes(asked: ChoiceRequest) -> list[str]:
    names = unsolved(asked.sites, asked.specs)
    if not names:
        return []
    text = f"interval 1 is left out: {', '.join(names)} would have to be unrolled"
    return [f'{text}, which takes long; implementation = "unrolled" asks for it']
