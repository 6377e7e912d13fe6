"""The plan for what is asked of the whole: an interval to reach, LUT sites, DSP blocks and block RAMs to keep within.

What stands in front of joins is found after the plan. `aside` is what it takes, so that the rest keeps within the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mase_hw.config.hardware import HardwareTarget
from mase_hw.cost.cost import PREDICTED, Cost
from mase_hw.diagnostics import Collector
from mase_hw.lowering.labels import Limits
from mase_hw.lowering.optimize import Plan, Planner
from mase_hw.ops.operator import FOREVER

UNITS = {"dsp": "DSP blocks", "bram": "block RAMs"}
HINTS = {
    "dsp": "delete use_dsp = true where LUTs will do",
    "bram": "ask for a longer interval: weights of fewer steps fit LUTs",
}


@dataclass(frozen=True)
class Budget:
    """What may be taken. `sites` is None where any number will do."""

    sites: int | None
    limits: Limits

    @staticmethod
    def of(target: HardwareTarget, aside: Cost) -> Budget:
        def less(whole: int | None, part: int) -> int | None:
            return None if whole is None else max(-1, whole - part)

        limits = Limits(less(target.dsp_budget, aside.dsp), less(target.bram_budget, aside.bram))
        return Budget(less(target.lut_budget, aside.logic), limits)

    def holds(self, plan: Plan) -> bool:
        return self.sites is None or plan.sites <= self.sites


def reach(planner: Planner, target: HardwareTarget, problems: Collector, aside: Cost | None = None) -> Plan | None:
    """With an interval to reach, the smallest design that does; without, the fastest inside the budgets."""
    aside = aside or Cost()
    slowest, budget = target.target_interval or FOREVER, Budget.of(target, aside)
    smallest = planner.best(slowest, budget.limits)
    if smallest is None:
        _too_few(planner, target, aside, budget, problems)
        return None
    if not budget.holds(smallest):
        _too_few_luts(planner, target, aside, smallest, problems)
        return None
    return smallest if target.target_interval is not None else fastest(planner, budget, smallest)


def fastest(planner: Planner, budget: Budget, within: Plan) -> Plan:
    """The fastest plan inside the budgets, of which `within` is one: fewer cycles never take fewer sites."""
    low, best = 1, within
    while low < best.interval:
        middle = (low + best.interval - 1) // 2
        plan = planner.best(middle, budget.limits)
        if plan is not None and budget.holds(plan):
            best = plan
        else:
            low = middle + 1
    return best


def _too_few(planner: Planner, target: HardwareTarget, aside: Cost, budget: Budget, problems: Collector) -> None:
    """No design has so few DSP blocks, or block RAMs: block RAMs where there is one without their limit."""
    slowest, limits = target.target_interval or FOREVER, budget.limits
    free = planner.best(slowest, replace(limits, bram=None)) if limits.bram is not None else None
    figure = "dsp" if free is None else "bram"
    plan = free or planner.best(slowest, replace(limits, dsp=None)) or planner.best(slowest)
    assert plan is not None, "a layer has no candidate"
    if free is None:
        limits = replace(limits, bram=None)
    low = (getattr(limits, figure) or 0) + 1
    while low < getattr(plan, figure):  # the fewest with which there is a design
        middle = (low + getattr(plan, figure) - 1) // 2
        fewer = planner.best(slowest, replace(limits, **{figure: middle}))
        if fewer is not None:
            plan = fewer
        else:
            low = middle + 1
    least = getattr(plan, figure) + getattr(aside, figure)
    under = f" with dsp_budget = {target.dsp_budget}" if figure == "bram" and target.dsp_budget is not None else ""
    problems.add(
        f"hardware: {figure}_budget = {getattr(target, f'{figure}_budget')}: no design{under} takes fewer than {least} "
        f"{UNITS[figure]}; that one takes {plan.sites + aside.logic} LUT sites, at interval {plan.interval}",
        target.where(f"{figure}_budget"),
        f"set {figure}_budget = {least} or more, or {HINTS[figure]}",
        _notes(aside),
    )


def _too_few_luts(planner: Planner, target: HardwareTarget, aside: Cost, smallest: Plan, problems: Collector) -> None:
    budget = Budget.of(target, aside)
    smallest = fastest(planner, replace(budget, sites=smallest.sites), smallest)
    given = {"target_interval": target.target_interval or None}
    given |= {"dsp_budget": target.dsp_budget, "bram_budget": target.bram_budget}
    under = [f"{key} = {value}" for key, value in given.items() if value is not None]
    sites = smallest.sites + aside.logic
    hint = f"set lut_budget = {sites} or more"
    if target.target_interval:
        slower = planner.best(FOREVER, budget.limits)
        if slower is not None and budget.holds(slower):
            hint += f", or target_interval = {fastest(planner, budget, slower).interval}, which fits"
        elif slower is not None:
            least = slower.sites + aside.logic
            hint += f"; no interval fits {target.lut_budget}: the smallest design of all takes {least}"
    elif target.dsp_budget is None:
        hint += ", or let DSP blocks multiply: dsp_budget"
    problems.add(
        f"hardware: lut_budget = {target.lut_budget}: the smallest design{' with ' if under else ''}"
        f"{' and '.join(under)} takes {sites} LUT sites, at interval {smallest.interval}",
        target.where("lut_budget"),
        hint,
        (*_notes(aside), PREDICTED),
    )


def _notes(aside: Cost) -> tuple[str, ...]:
    if aside == Cost():
        return ()
    taken = f"{aside.logic} LUT sites" + (f" and {aside.bram} block RAMs" if aside.bram else "")
    return (f"FIFOs in front of joins take {taken} of these",)
