"""FIFOs in front of windows: a design is said to keep to a pace where its own schedule does, and only there."""

from __future__ import annotations

from functools import cache
from math import ceil

import numpy as np
import pytest
from chains import asked

from mase_hw.config.quantize import QuantSpec
from mase_hw.geometry import Geometry
from mase_hw.ir import Design
from mase_hw.ir.cycles import DeadlockError
from mase_hw.layers import Layer, LayerGraph, ModelInput
from mase_hw.lowering.ahead import ahead_depths, window_edges
from mase_hw.lowering.lower import Branching, lower
from mase_hw.lowering.optimize import Plan
from mase_hw.lowering.paced import Kept, kept
from mase_hw.lowering.skips import Depths, join_edges
from mase_hw.numerics import Fixed, Rounding

F4 = Fixed(4, 2)
TYPED = QuantSpec(Rounding.HALF_EVEN, F4, F4, F4, None)
INPUTS_TYPED = QuantSpec(Rounding.HALF_EVEN, F4, None, None, None)
PADDED, BARE = ((1, 1), (1, 1)), ((0, 0), (0, 0))
ENOUGH = 400  # beats: a FIFO that none of these designs fills


def conv(
    name: str, x: str, channels: tuple[int, int], size: int, stride: int = 1, pads: tuple[tuple[int, int], ...] = PADDED
) -> Layer:
    n_in, n_out = channels
    geometry = Geometry.of((size, size), (3, 3), (stride, stride), pads)
    rng = np.random.default_rng([n_in, n_out, size])
    integers = {"weight": rng.integers(-8, 8, (n_out, n_in, 3, 3)), "bias": rng.integers(-8, 8, n_out)}
    return Layer(name, "conv2d", TYPED, n_in, n_out, integers, inputs=(x,), frame=(size, size), geometry=geometry)


def graph(*layers: Layer, size: int, features: int) -> LayerGraph:
    frame = (size, size)
    return LayerGraph((ModelInput("x", (features, *frame), None, frame),), layers, (layers[-1].name,))


@cache
def graphs() -> dict[str, LayerGraph]:
    add = Layer("add", "add", INPUTS_TYPED, 6, 3, inputs=("b", "a"), frame=(6, 6))
    return {
        "padded": graph(conv("a", "x", (2, 3), 6), conv("b", "a", (3, 3), 6), size=6, features=2),
        "strides": graph(
            conv("a", "x", (2, 4), 8, 2), conv("b", "a", (4, 6), 4, 2), conv("c", "b", (6, 4), 2), size=8, features=2
        ),
        "nothing padded": graph(
            conv("a", "x", (2, 3), 8, 1, BARE), conv("b", "a", (3, 3), 6, 1, BARE), size=8, features=2
        ),
        "residual": graph(
            conv("a", "x", (2, 3), 6),
            conv("b", "a", (3, 3), 6),
            add,
            conv("c", "add", (3, 4), 6, 2),
            size=6,
            features=2,
        ),
    }


CASES = [(name, target) for name in graphs() for target in (150, 324)]
NEEDED = [("padded", 150), ("padded", 324), ("residual", 150)]


@cache
def planned(name: str, target: int) -> Plan:
    plan = asked(graphs()[name], target_interval=target).planner.best(target)
    assert plan is not None
    return plan


def built(name: str, plan: Plan, depths: Depths) -> Design:
    return lower("top", graphs()[name], plan.choices, None, Branching(plan.forks, depths), verified=False)


def at_pace(design: Design, cycles: int) -> Kept | None:
    return kept(design.components, design.inputs, design.outputs, cycles)


@pytest.mark.parametrize(("name", "target", "depth"), [*((*case, 0) for case in CASES), ("padded", 150, 3)])
def test_a_design_keeps_to_its_interval_and_to_no_shorter_one(name: str, target: int, depth: int) -> None:
    plan = planned(name, target)
    depths = dict.fromkeys(window_edges(graphs()[name], plan.choices), depth)
    design = built(name, plan, dict.fromkeys(join_edges(graphs()[name]), ENOUGH) | depths)
    interval = ceil(design.schedule.interval)
    assert at_pace(design, interval) is not None
    assert at_pace(design, 2 * interval + 1) is not None
    assert at_pace(design, interval - 1) is None
    for samples in (2, 3, 4):  # come while the design takes one: it repeats itself, and ever more of them wait
        assert interval % samples or at_pace(design, interval // samples) is None


@pytest.mark.parametrize("depth", [1, 2])
def test_a_design_that_stops_keeps_to_no_pace(depth: int) -> None:
    plan = planned("residual", 150)
    design = built("residual", plan, dict.fromkeys(join_edges(graphs()["residual"]), depth))
    with pytest.raises(DeadlockError):
        assert design.schedule
    assert at_pace(design, 100_000) is None


@pytest.mark.parametrize(("name", "target"), CASES)
def test_the_fifos_reach_what_can_be_reached_and_none_is_larger_than_needed(name: str, target: int) -> None:
    plan, joins = planned(name, target), dict.fromkeys(join_edges(graphs()[name]), ENOUGH)

    def interval(depths: Depths) -> float:
        return float(built(name, plan, {**joins, **depths}).schedule.interval)

    def make(depths: Depths) -> Design:
        return built(name, plan, depths)

    found = ahead_depths(graphs()[name], plan.choices, make, target)
    best = interval(dict.fromkeys(window_edges(graphs()[name], plan.choices), ENOUGH))
    assert bool(found) == ((name, target) in NEEDED)
    if not found:
        assert interval({}) <= max(target, best)
        return
    goal = max(target, ceil(best))
    assert interval(found) <= goal < interval({})
    for edge, depth in found.items():
        assert interval({**found, edge: depth - 1}) > goal
