"""How each layer is built: what the user asked for, and the rest by the optimiser."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget
from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Collector
from mase_hw.layers import LayerGraph
from mase_hw.lowering.asked import check_reachable, suited
from mase_hw.lowering.budget import reach
from mase_hw.lowering.optimize import Plan, Planner
from mase_hw.lowering.parts import sites
from mase_hw.lowering.space import Candidate, candidates
from mase_hw.lowering.types import types_of
from mase_hw.ops.operator import FOREVER, Options, Site, Wish, operator_of

FOLDED_INTERVAL = 256  # of a large matrix, for each vector, where nothing is asked of the whole


@dataclass(frozen=True)
class ChoiceRequest:
    """A graph of layers, what is fixed for each of them, and what is asked of the whole."""

    graph: LayerGraph
    sites: tuple[Site, ...]
    specs: tuple[HardwareSpec, ...]
    config: HardwareConfig
    target: HardwareTarget
    dsp: bool  # DSP blocks may be used

    @property
    def planner(self) -> Planner:
        return Planner(self.graph, Options.of(self.target), self.offer)

    def offer(self, slowest: int) -> list[list[Candidate]]:
        """What each layer may become in a design with an interval of at most `slowest`."""
        wish = Wish(slowest, self.dsp, self.target.bram_budget is not None)
        return [candidates(site, spec, wish) for site, spec in zip(self.sites, self.specs, strict=True)]

    def usual(self, _: int = FOREVER) -> list[list[Candidate]]:
        """The same where nothing is asked of the whole: small matrices unrolled, large ones folded."""
        offered: list[list[Candidate]] = []
        for site, spec in zip(self.sites, self.specs, strict=True):
            offered.append(_usual(site, spec) if operator_of(site.layer.op).matrix else [])
        slowest = max((candidate.interval for found in offered for candidate in found), default=1)
        for k, (site, spec) in enumerate(zip(self.sites, self.specs, strict=True)):
            if not offered[k]:
                offered[k] = _fastest_or(candidates(site, spec, Wish()), slowest)
        return offered


def request(
    graph: LayerGraph, config: HardwareConfig, target: HardwareTarget, problems: Collector, *, dsp: bool = False
) -> ChoiceRequest:
    """What the user asks for, checked."""
    types = types_of(graph, problems)
    specs = [suited(layer, graph, config, problems) for layer in graph.layers]
    problems.raise_if_any()
    return ChoiceRequest(
        graph, tuple(sites(graph, types)), tuple(specs), config, target, dsp or bool(target.dsp_budget)
    )


def choose(
    graph: LayerGraph,
    config: HardwareConfig,
    target: HardwareTarget,
    problems: Collector,
    aside: Cost | None = None,
) -> Plan:
    """A choice for each layer; what cannot be built as asked is a problem. `aside` is left free in the budgets."""
    asked = request(graph, config, target, problems)
    if not target.asks:
        plan = Planner(graph, Options.of(target), asked.usual).best()
    else:
        if target.target_interval is not None:
            for site, spec in zip(asked.sites, asked.specs, strict=True):
                check_reachable(site, spec, config, target.target_interval, problems)
            problems.raise_if_any()
        plan = reach(asked.planner, target, problems, aside)
    problems.raise_if_any()
    assert plan is not None
    return plan


def _usual(site: Site, spec: HardwareSpec) -> list[Candidate]:
    usual = operator_of(site.layer.op).usual(site, spec)
    slowest = FOLDED_INTERVAL * prod(site.layer.out_frame)
    found = candidates(site, usual, Wish(slowest)) or candidates(site, usual, Wish())
    return _fastest_or(found, slowest)


def _fastest_or(found: list[Candidate], slowest: int) -> list[Candidate]:
    """Those that are fast enough, or the fastest."""
    limit = max(slowest, min(candidate.interval for candidate in found))
    return [candidate for candidate in found if candidate.interval <= limit]
