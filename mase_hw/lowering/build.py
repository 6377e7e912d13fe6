"""From a plan to the finished design: the components, and the FIFOs in front of joins and windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from mase_hw.config.hardware import HardwareConfig, HardwareTarget
from mase_hw.cost.cost import PREDICTED, Cost
from mase_hw.diagnostics import Collector
from mase_hw.ir.design import Design
from mase_hw.layers import LayerGraph
from mase_hw.lowering.ahead import ahead_depths
from mase_hw.lowering.choose import choose
from mase_hw.lowering.lower import Branching, Edge, lower
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.skips import Depths, Make, Trials, exact_depths

TRIES = 4  # plans that leave ever more room for the FIFOs in front of joins
BUDGETS = {
    "logic": ("lut_budget", "LUT sites"),
    "dsp": ("dsp_budget", "DSP blocks"),
    "bram": ("bram_budget", "block RAMs"),
}
NEAR = "the choice may be a little above the least: too many designs differ in DSP blocks and block RAMs to compare all"


@dataclass(frozen=True)
class Finished:
    """The design of a plan, and notes for the user about what it loses."""

    design: Design
    notes: tuple[str, ...] = ()


def built(
    graph: LayerGraph, config: HardwareConfig, target: HardwareTarget, problems: Collector
) -> tuple[Plan, Finished]:
    """The plan and its design within the budgets, the FIFOs in front of joins included.

    These are known when the design is there. If it takes too much with them, the plan is made again with as much less.
    """
    aside, tries = Cost(), 0
    while True:
        plan = choose(graph, config, target, problems, aside)
        made = finished(graph, plan, target, config, problems)
        over = _over(made.design, target)
        if over == Cost():
            return plan, replace(made, notes=(*made.notes, *(() if plan.optimal else (NEAR,))))
        tries += 1
        if tries == TRIES:
            _report_over(made.design, target, problems)
            problems.raise_if_any()
        aside += over


def _over(design: Design, target: HardwareTarget) -> Cost:
    """By how much the design exceeds its budgets."""
    cost, limits = design.cost(), target.budgets
    found = {figure: max(0, getattr(cost, figure) - most) for figure, most in limits.items() if most is not None}
    return Cost(lut=found.get("logic", 0), dsp=found.get("dsp", 0), bram=found.get("bram", 0))


def _report_over(design: Design, target: HardwareTarget, problems: Collector) -> None:
    cost, over = design.cost(), _over(design, target)
    for figure, (key, unit) in BUDGETS.items():
        if getattr(over, figure):
            text = f"hardware: {key} = {target.budgets[figure]}: with the FIFOs in front of joins"
            text += f" the nearest design that was found takes {getattr(cost, figure)} {unit}"
            problems.add(text, target.where(key), f"set {key} = {getattr(cost, figure)} or more", (PREDICTED,))


def design_of(
    graph: LayerGraph,
    plan: Plan,
    target: HardwareTarget,
    config: HardwareConfig | None = None,
    problems: Collector | None = None,
) -> Design:
    """What `finished` gives, without the notes."""
    return finished(graph, plan, target, config, problems).design


def finished(
    graph: LayerGraph,
    plan: Plan,
    target: HardwareTarget,
    config: HardwareConfig | None = None,
    problems: Collector | None = None,
) -> Finished:
    """The design of a plan. A FIFO depth that the user asks for is kept if it is smaller, unless it would deadlock."""

    def make_any(depths: Depths) -> Design:
        return lower(target.top, graph, plan.choices, target, Branching(plan.forks, depths), verified=False)

    ahead = ahead_depths(graph, plan.choices, make_any, target.target_interval)

    def make(depths: Depths) -> Design:
        return make_any({**ahead, **depths})

    depths = exact_depths(graph, make)
    asked = _asked(graph, plan, depths)
    design = make(asked)
    notes: tuple[str, ...] = ()
    if asked != depths:
        if not design.progress.goes_on:
            problems = problems or Collector()
            _report(graph, depths, asked, make, config, problems)
            problems.raise_if_any()
        notes = _slower(depths, asked, design, make(depths), target)
    design.verify()
    return Finished(design, notes or _missed(design, target))


def _asked(graph: LayerGraph, plan: Plan, depths: Mapping[Edge, int]) -> dict[Edge, int]:
    wished = {layer.name: choice.data_in_fifo_depth for layer, choice in zip(graph.layers, plan.choices, strict=True)}
    return {edge: min(depth, wished[edge[0]] or depth) for edge, depth in depths.items()}


def _slower(
    depths: Mapping[Edge, int], asked: Mapping[Edge, int], design: Design, whole: Design, target: HardwareTarget
) -> tuple[str, ...]:
    """What the depths that the user asks for cost against the computed ones, if it is more than latency."""
    found, best = design.schedule.interval, whole.schedule.interval
    if found <= best:
        return ()
    short = {edge[0]: asked[edge] for edge in depths if asked[edge] < depths[edge]}
    most = {name: max(depth for edge, depth in depths.items() if edge[0] == name) for name in short}
    wishes = [f"hardware.{name}: data_in_fifo_depth = {short[name]} is below {most[name]}" for name in short]
    text = f"{', '.join(wishes)}, which loses no cycle: an interval of {_cycles(found)} in the place of {_cycles(best)}"
    wanted = target.target_interval
    return (text if wanted is None or found <= wanted else f"{text}; target_interval = {wanted} is missed",)


def _missed(design: Design, target: HardwareTarget) -> tuple[str, ...]:
    """Every layer keeps to the target, but a window may keep the next frame waiting.

    FIFOs in front of windows were tried, unless the user has said how deep they are.
    """
    wanted, found = target.target_interval, design.schedule.interval
    if wanted is None or found <= wanted:
        return ()
    advice = "a FIFO in front of a convolution or a pool may win them back: data_in_fifo_depth"
    return (f"target_interval = {wanted} is missed: {_cycles(found)} cycles, some between two frames; {advice}",)


def _cycles(interval: Fraction) -> str:
    return str(interval.numerator) if interval.denominator == 1 else f"{float(interval):.4g}"


def _report(
    graph: LayerGraph,
    depths: Mapping[Edge, int],
    asked: Mapping[Edge, int],
    make: Make,
    config: HardwareConfig | None,
    problems: Collector,
) -> None:
    trials = Trials(graph, depths, make)
    for name in dict.fromkeys(edge[0] for edge in asked if asked[edge] < depths[edge]):
        most = max(depth for edge, depth in depths.items() if edge[0] == name)
        low, high = 1, most
        while low < high:  # the smallest depth with which the design goes on, the others as they have to be
            middle = (low + high) // 2
            tried = {edge: min(depth, middle) if edge[0] == name else depth for edge, depth in depths.items()}
            if trials.design(tried).progress.goes_on:
                high = middle
            else:
                low = middle + 1
        layer = graph.by_name[name]
        wish = max(asked[edge] for edge in asked if edge[0] == name)
        where = config.where(name, layer.op, "data_in_fifo_depth") if config else None
        text = f"hardware.{name}: data_in_fifo_depth = {wish} would stop the design: a branch waits for the other"
        hint = f"set data_in_fifo_depth = {high} or more; {most} loses no cycle, and is taken without this line"
        problems.add(text, where, hint, layer.note)
