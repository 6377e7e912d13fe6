"""Branches: what is chosen, how deep the FIFOs are, that it goes on for ever, and that the RTL does just that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from chains import config_of
from layer_graphs import cat, graphs, join, linear, mul, relu
from support import run_rtl, write_rtl
from together import assert_all_equal

from mase_hw.config.hardware import HardwareSpec, HardwareTarget
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.ir.cycles import DeadlockError, schedule_within
from mase_hw.ir.design import Design
from mase_hw.ir.plumbing import Fifo
from mase_hw.layers import LayerGraph, ModelInput
from mase_hw.lowering.build import design_of
from mase_hw.lowering.choose import choose, request
from mase_hw.lowering.lower import Branching, Edge, lower
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.skips import exact_depths
from mase_hw.ops.choice import Choice, Folded, Unrolled

GRAPHS = graphs()
INTERVALS = [1, 4, 12]


def planned(graph: LayerGraph, interval: int | None = None, **specs: HardwareSpec) -> tuple[Plan, Design]:
    target = HardwareTarget("dut", target_interval=interval)
    config = config_of(**specs)
    with Collector() as problems:
        plan = choose(graph, config, target, problems)
        design = design_of(graph, plan, target, config, problems)
    return plan, design


@pytest.mark.parametrize("interval", INTERVALS)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_interval_is_reached_and_it_goes_on(name: str, interval: int) -> None:
    plan, design = planned(GRAPHS[name], interval)
    assert design.schedule.interval == plan.interval <= interval
    assert design.progress.goes_on


@pytest.mark.slow
@pytest.mark.parametrize(
    "interval", [pytest.param(1, marks=pytest.mark.nightly), 4, pytest.param(12, marks=pytest.mark.nightly)]
)
def test_rtl(interval: int, tmp_path: Path) -> None:
    assert_all_equal({name: planned(graph, interval)[1] for name, graph in GRAPHS.items()}, tmp_path)


def test_values_of_a_residual_by_hand() -> None:
    """The reference in plain numpy: every step of 1-numbers, written out."""
    graph = GRAPHS["residual"]
    _, design = planned(graph)
    x = np.random.default_rng(0).integers(-16, 16, (50, 4))

    def dense(v: np.ndarray, name: str) -> np.ndarray:
        integers = graph.by_name[name].integers
        return v @ integers["weight"].T + (integers["bias"] << 2)

    def to_f5(n: np.ndarray, drop: int) -> np.ndarray:
        q, r, half = n >> drop, n & ((1 << drop) - 1), 1 << (drop - 1) if drop else 0
        return np.clip(q + ((r > half) | ((r == half) & (q & 1 == 1))) * bool(drop), -16, 15)

    skip = np.maximum(to_f5(dense(x, "fc0"), 2), 0)
    total = skip + to_f5(dense(skip, "fc1"), 2)
    assert np.array_equal(design.results(x)[0], dense(to_f5(total, 0), "out"))


SMALL = {
    "residual": LayerGraph(
        (ModelInput("x", (2,)),),
        (linear("fc0", "x", 2, 2), relu("r0", "fc0", 2), linear("fc1", "r0", 2, 2), join("add", "s", "r0", "fc1", 2)),
        ("s",),
    ),
    "input skipped": LayerGraph(
        (ModelInput("x", (2,)),), (linear("fc", "x", 2, 2), join("sub", "d", "fc", "x", 2), relu("r", "d", 2)), ("r",)
    ),
    "two heads": LayerGraph(
        (ModelInput("x", (2,)),), (linear("a", "x", 2, 2), relu("r", "a", 2), linear("b", "x", 2, 1)), ("r", "b")
    ),
}


@pytest.mark.parametrize("slowest", [1, 4])
@pytest.mark.parametrize("name", SMALL)
def test_trying_everything_finds_nothing_better(name: str, slowest: int) -> None:
    """Every choice for every layer and every fork; FIFOs aside, which the plan says that it leaves out."""
    graph = SMALL[name]
    with Collector() as problems:
        asked = request(graph, config_of(), HardwareTarget("dut"), problems)
    plan = asked.planner.best(slowest)
    assert plan is not None
    forked = [n for n, found in graph.readers.items() if len(found) + graph.outputs.count(n) > 1]
    totals = []
    for candidates in product(*asked.offer(slowest)):
        for buffered in product([True, False], repeat=len(forked)):
            branching = Branching(dict(zip(forked, buffered, strict=True)))
            design = lower("dut", graph, [candidate.choice for candidate in candidates], None, branching)
            cost = design.cost()
            totals.append((cost.logic, cost.dsp, cost.bram))
    assert (plan.sites, plan.dsp, plan.bram) == min(totals)
    cost = lower("dut", graph, plan.choices, None, Branching(plan.forks)).cost()
    assert (cost.logic, cost.dsp, cost.bram) == min(totals)


def maker(name: str, **kinds: Choice) -> tuple[LayerGraph, object]:
    graph = GRAPHS[name]
    plan, _ = planned(graph)
    choices = [kinds.get(layer.name, choice) for layer, choice in zip(graph.layers, plan.choices, strict=True)]

    def make(depths: Mapping[Edge, int]) -> Design:
        return lower("dut", graph, choices, None, Branching(plan.forks, depths))

    return graph, make


DEEP: dict[str, dict[str, Choice]] = {
    "unrolled": {},
    "folded, one lane": {
        "fc0": Folded(1, 1, 0, 1, 1),
        "r0": Choice(1, 1),
        "fc1": Folded(1, 1, 0, 1, 1),
        "sum": Choice(1, 1),
        "out": Folded(1, 1, 0, 1, 1),
    },
    "folded, whole vectors": {
        "fc0": Unrolled(4, 4),
        "fc1": Folded(4, 4, 0, 2, 2),
        "sum": Choice(4, 4),
        "out": Unrolled(4, 2),
    },
}


@pytest.mark.parametrize("built", DEEP)
def test_depths_are_the_least(built: str) -> None:
    """Against brute force: no smaller depth keeps every output in its cycle, and more room changes nothing."""
    graph, make = maker("residual", **DEEP[built])
    depths = exact_depths(graph, make)  # type: ignore[arg-type]
    best = make(depths).schedule  # type: ignore[operator]
    assert any(depths.values())
    for edge, depth in depths.items():
        for other in range(depth):
            try:
                assert not make({**depths, edge: other}).schedule.no_later_than(best), (edge, other)  # type: ignore[operator]
            except DeadlockError:
                continue
        if depth:
            more = make({**depths, edge: depth + 40}).schedule  # type: ignore[operator]
            assert best.no_later_than(more)
            assert more.no_later_than(best)


@pytest.mark.slow
def test_one_less_loses_a_cycle_in_the_rtl_too(tmp_path: Path) -> None:
    graph, make = maker("residual", **DEEP["folded, one lane"])
    depths = exact_depths(graph, make)  # type: ignore[arg-type]
    (edge,) = [edge for edge, depth in depths.items() if depth]
    cycles = []
    for less in (0, 1):
        design = make({**depths, edge: depths[edge] - less})  # type: ignore[operator]
        outcome = run_rtl(design, write_rtl(design, tmp_path / f"rtl{less}"), tmp_path / f"sim{less}", count=20)
        assert outcome.passed, outcome.failures
        cycles.append(outcome.pattern("none").cycles)
    assert cycles[1] > cycles[0]


def deadlocking() -> tuple[LayerGraph, object, Edge, int]:
    """A folded branch wants a whole vector before it gives a beat; the other one has to hold it meanwhile."""
    graph, make = maker("residual", **DEEP["folded, one lane"])
    edge = ("sum", 0)
    least = next(depth for depth in range(1, 40) if make({edge: depth}).progress.goes_on)  # type: ignore[operator]
    assert least > 1
    return graph, make, edge, least


def test_a_deadlock_is_seen_by_the_slowest_run_and_by_the_schedule() -> None:
    _, make, edge, least = deadlocking()
    for depth in range(1, least):
        stuck = make({edge: depth})  # type: ignore[operator]
        assert not stuck.progress.goes_on
        assert stuck.progress.stuck
        with pytest.raises(DeadlockError):
            _ = stuck.schedule
    assert make({edge: least}).schedule.interval > 0  # type: ignore[operator]


@pytest.mark.slow
def test_the_rtl_hangs_one_below_and_not_at_the_least_depth(tmp_path: Path) -> None:
    """Under every stall pattern. A schedule that stops cannot be asked for, so the hanging one borrows the other's."""
    _, make, edge, least = deadlocking()
    good = make({edge: least})  # type: ignore[operator]
    bad = make({edge: least - 1})  # type: ignore[operator]
    object.__setattr__(bad, "schedule", good.schedule)
    assert run_rtl(good, write_rtl(good, tmp_path / "good"), tmp_path / "a", count=12).passed
    outcome = run_rtl(bad, write_rtl(bad, tmp_path / "bad"), tmp_path / "b", count=12)
    assert all(pattern.hang for pattern in outcome.patterns)


def test_a_smaller_depth_is_kept_if_it_makes_progress_and_refused_if_not() -> None:
    graph = GRAPHS["residual"]
    specs = {
        "fc0": HardwareSpec("folded", 1, 1, array_in=1, array_out=1),
        "fc1": HardwareSpec("folded", 1, 1, array_in=1, array_out=1),
        "sum": HardwareSpec(data_in_parallelism=1),
        "out": HardwareSpec("folded", 1, 1, array_in=1, array_out=1),
    }
    _, whole = planned(graph, None, **specs)
    depth = next(c.depth for c in whole.components if c.kind == "fifo")  # type: ignore[attr-defined]
    smaller = {**specs, "sum": HardwareSpec(data_in_parallelism=1, data_in_fifo_depth=depth - 1)}
    _, design = planned(graph, None, **smaller)
    assert [c.depth for c in design.components if c.kind == "fifo"] == [depth - 1]  # type: ignore[attr-defined]
    assert not design.schedule.no_later_than(whole.schedule)
    smallest = {**specs, "sum": HardwareSpec(data_in_parallelism=1, data_in_fifo_depth=1)}
    with pytest.raises(ProblemsError) as error:
        planned(graph, None, **smallest)
    (problem,) = error.value.problems
    assert problem.message == (
        "hardware.sum: data_in_fifo_depth = 1 would stop the design: a branch waits for the other"
    )
    least = int(problem.hint.split("= ")[1].split(" ")[0])  # type: ignore[union-attr]
    assert f"{depth} loses no cycle" in str(problem.hint)
    for asked, refused in ((least, False), (least - 1, True)):
        wish = {**specs, "sum": HardwareSpec(data_in_parallelism=1, data_in_fifo_depth=asked)}
        if refused:
            with pytest.raises(ProblemsError):
                planned(graph, None, **wish)
        else:
            planned(graph, None, **wish)


@pytest.mark.parametrize(("features", "depth"), [(7, 5), (8, 6)])
def test_depths_suffice_after_stalls_too(features: int, depth: int) -> None:
    """Without stalls a FIFO of 4 loses no cycle, as the pipe before it is full too. With gaps in the pipe it stops."""
    layers = (relu("r", "x", features), mul("m", "x", features), cat("c", {"r": features, "m": features}))
    graph = LayerGraph((ModelInput("x", (features,)),), layers, ("c",))

    def make(depths: Mapping[Edge, int]) -> Design:
        return lower("dut", graph, [Choice(1, 1)] * 3, None, Branching({"x": True}, depths))

    assert make({("c", 1): 4}).schedule.interval == make({("c", 1): 99}).schedule.interval
    assert exact_depths(graph, make) == {("c", 0): 0, ("c", 1): depth}
    assert make({("c", 1): depth}).progress.goes_on
    assert not make({("c", 1): depth - 1}).progress.goes_on


@pytest.mark.parametrize("swapped", [False, True])
def test_a_part_that_stops_beside_one_that_goes_on(swapped: bool) -> None:
    """No stream joins the two. Depths are computed, and the interval is the slower one's."""
    two = (linear("fc", "x", 4, 4), join("sub", "d", "fc", "x", 4)), (linear("r", "z", 2, 2),)
    first, second = two[::-1] if swapped else two
    outputs = ("r", "d") if swapped else ("d", "r")
    graph = LayerGraph((ModelInput("x", (4,)), ModelInput("z", (2,))), (*first, *second), outputs)
    _, design = planned(graph, fc=HardwareSpec("folded", data_in_parallelism=1, data_out_parallelism=1))
    assert design.schedule.interval == max(port.interval for port in design.schedule.outputs) >= 4
    short = Design("dut", tuple(
        replace(c, depth=1) if isinstance(c, Fifo) else c for c in design.components
    ))  # fmt: skip
    assert not short.progress.goes_on
    with pytest.raises(DeadlockError):
        _ = short.schedule
    assert schedule_within(short.components, short.inputs, short.outputs, design.schedule) is None
