"""The plan for what is asked of the whole: an interval to reach, LUT sites and DSP blocks to keep within."""

from __future__ import annotations

from dataclasses import replace

from mase_hw.config.hardware import HardwareTarget
from mase_hw.cost.cost import PREDICTED
from mase_hw.diagnostics import Collector
from mase_hw.lowering.optimize import Plan, Planner
from mase_hw.ops.operator import FOREVER


def reach(planner: Planner, target: HardwareTarget, problems: Collector) -> Plan | None:
    """With an interval to reach, the smallest design that does; without, the fastest inside the budgets."""
    slowest = target.target_interval or FOREVER
    smallest = planner.best(slowest, target.dsp_budget)
    if smallest is None:
        _too_few_dsp(planner, target, problems)
        return None
    if target.lut_budget is not None and smallest.sites > target.lut_budget:
        _too_few_luts(planner, target, smallest, problems)
        return None
    return smallest if target.target_interval is not None else fastest(planner, target, smallest)


def fastest(planner: Planner, target: HardwareTarget, within: Plan) -> Plan:
    """The fastest plan inside the budgets, of which `within` is one: fewer cycles never take fewer sites."""
    low, best = 1, within
    while low < best.interval:
        middle = (low + best.interval - 1) // 2
        plan = planner.best(middle, target.dsp_budget)
        if plan is not None and (target.lut_budget is None or plan.sites <= target.lut_budget):
            best = plan
        else:
            low = middle + 1
    return best


def _too_few_dsp(planner: Planner, target: HardwareTarget, problems: Collector) -> None:
    slowest, low = target.target_interval or FOREVER, (target.dsp_budget or 0) + 1
    plan = planner.best(slowest)
    assert plan is not None, "a layer has no candidate"
    while low < plan.dsp:  # the fewest blocks with which there is a design
        middle = (low + plan.dsp - 1) // 2
        fewer = planner.best(slowest, middle)
        if fewer is not None:
            plan = fewer
        else:
            low = middle + 1
    problems.add(
        f"hardware: dsp_budget = {target.dsp_budget}: no design takes fewer than {plan.dsp} DSP blocks; that one takes "
        f"{plan.sites} LUT sites, at interval {plan.interval}",
        target.where("dsp_budget"),
        f"set dsp_budget = {plan.dsp} or more, or delete use_dsp = true where LUTs will do",
    )


def _too_few_luts(planner: Planner, target: HardwareTarget, smallest: Plan, problems: Collector) -> None:
    smallest = fastest(planner, replace(target, lut_budget=smallest.sites), smallest)
    under = [f"target_interval = {target.target_interval}"] if target.target_interval else []
    under += [f"dsp_budget = {target.dsp_budget}"] if target.dsp_budget is not None else []
    hint = f"set lut_budget = {smallest.sites} or more"
    if target.target_interval:
        slower = planner.best(FOREVER, target.dsp_budget)
        if slower is not None and slower.sites <= (target.lut_budget or 0):
            hint += f", or target_interval = {fastest(planner, target, slower).interval}, which fits"
        elif slower is not None:
            hint += f"; no interval fits {target.lut_budget}: the smallest design of all takes {slower.sites}"
    elif target.dsp_budget is None:
        hint += ", or let DSP blocks multiply: dsp_budget"
    problems.add(
        f"hardware: lut_budget = {target.lut_budget}: the smallest design{' with ' if under else ''}"
        f"{' and '.join(under)} takes {smallest.sites} LUT sites, at interval {smallest.interval}",
        target.where("lut_budget"),
        hint,
        (PREDICTED,),
    )
