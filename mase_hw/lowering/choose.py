"""How each layer is built: what the user asked for, and the rest by the optimiser."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget
from mase_hw.diagnostics import Collector
from mase_hw.lowering.asked import check_reachable, suited
from mase_hw.lowering.budget import reach
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.layers import MATRIX_OPS, Chain
from mase_hw.lowering.optimize import Planner
from mase_hw.lowering.parts import Options
from mase_hw.lowering.space import FOREVER, Candidate, Site, candidates, sites

__all__ = ["Choice", "ChoiceRequest", "choose", "request"]

UNROLLED_WEIGHTS = 4096  # where nothing is asked of the whole, larger matrices are folded
FOLDED_INTERVAL = 256  # and this is the interval of such a matrix


@dataclass(frozen=True)
class ChoiceRequest:
    """A chain, what is fixed for each of its layers, and what is asked of the whole."""

    chain: Chain
    sites: tuple[Site, ...]
    specs: tuple[HardwareSpec, ...]
    config: HardwareConfig
    target: HardwareTarget
    dsp: bool  # DSP blocks may be used

    @property
    def planner(self) -> Planner:
        return Planner(self.chain, Options.of(self.target), self.offer)

    def offer(self, slowest: int) -> list[list[Candidate]]:
        """What each layer may become in a design with an interval of at most `slowest`."""
        pairs = zip(self.sites, self.specs, strict=True)
        return [candidates(site, spec, self.dsp, slowest) for site, spec in pairs]

    def usual(self, _: int = FOREVER) -> list[list[Candidate]]:
        """The same where nothing is asked of the whole: small matrices unrolled, large ones folded."""
        offered: list[list[Candidate]] = []
        for site, spec in zip(self.sites, self.specs, strict=True):
            offered.append(_usual(site, spec) if site.layer.op in MATRIX_OPS else [])
        slowest = max((candidate.interval for found in offered for candidate in found), default=1)
        for k, (site, spec) in enumerate(zip(self.sites, self.specs, strict=True)):
            if site.layer.op not in MATRIX_OPS:
                offered[k] = _fastest_or(candidates(site, spec, False), slowest)
        return offered


def request(
    chain: Chain, config: HardwareConfig, target: HardwareTarget, problems: Collector, *, dsp: bool = False
) -> ChoiceRequest:
    """What the user asks for, checked."""
    specs = [suited(layer, config, problems) for layer in chain.layers]
    problems.raise_if_any()
    return ChoiceRequest(chain, tuple(sites(chain)), tuple(specs), config, target, dsp or bool(target.dsp_budget))


def choose(chain: Chain, config: HardwareConfig, target: HardwareTarget, problems: Collector) -> list[Choice]:
    """A choice for each layer; what cannot be built as asked is a problem."""
    asked = request(chain, config, target, problems)
    if target.target_interval is None and target.lut_budget is None and target.dsp_budget is None:
        plan = Planner(chain, Options.of(target), asked.usual).best()
    else:
        if target.target_interval is not None:
            for site, spec in zip(asked.sites, asked.specs, strict=True):
                check_reachable(site, spec, config, target.target_interval, problems)
            problems.raise_if_any()
        plan = reach(asked.planner, target, problems)
    problems.raise_if_any()
    assert plan is not None
    return list(plan.choices)


def _usual(site: Site, spec: HardwareSpec) -> list[Candidate]:
    layer = site.layer
    lanes = (spec.data_in_parallelism, spec.data_out_parallelism)
    whole = all(p in (None, n) for p, n in zip(lanes, (layer.in_features, layer.out_features), strict=True))
    free = spec.implementation == "auto" and spec.digit_bits is None and spec.output_groups is None
    if free:
        small = layer.in_features * layer.out_features <= UNROLLED_WEIGHTS and whole
        folded = spec.array_in or spec.array_out or spec.use_dsp or not small
        spec = replace(spec, implementation="folded" if folded else "unrolled")
    found = candidates(site, spec, False, FOLDED_INTERVAL) or candidates(site, spec, False)
    return _fastest_or(found, FOLDED_INTERVAL)


def _fastest_or(found: list[Candidate], slowest: int) -> list[Candidate]:
    """Those that are fast enough, or the fastest."""
    limit = max(slowest, min(candidate.interval for candidate in found))
    return [candidate for candidate in found if candidate.interval <= limit]
