"""Cycles: what each component states, what its control model does, and what designs made of them take."""

from __future__ import annotations

import numpy as np
import pytest

from mase_hw.ir import Component, Design, full_range
from mase_hw.ir.cycles import PortCycles, Schedule
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer, adapters
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, batch_norm1d, relu
from mase_hw.ops.linear.make import linear

F8 = Fixed(8, 4)
RESULT = Result(F8, Rounding.HALF_EVEN)


def schedule(components: list[Component]) -> Schedule:
    return Design("d", tuple(components)).schedule


def components() -> dict[str, Component]:
    ones = {n: np.ones(n, np.int64) for n in (12, 24)}
    x = {lanes: full_range("x", 12, lanes, F8) for lanes in (1, 2, 3, 4, 6, 12)}
    found: dict[str, Component] = {}
    for lanes in (1, 3, 12):
        stream = x[lanes]
        found[f"relu {lanes}"] = relu("r", stream, RESULT)
        found[f"batch norm {lanes}"] = batch_norm1d("b", stream, ones[12], ones[12], F8, F8, RESULT)
        found[f"skid {lanes}"] = SkidBuffer("s", (stream,), (stream.renamed("y"),))
        for depth in (1, 2, 5):
            found[f"fifo {lanes} {depth}"] = Fifo("f", (stream,), (stream.renamed("y"),), depth)
        for out_lanes in (1, 8, 24):
            weight = np.ones((24, 12), np.int64)
            found[f"folded {lanes} {out_lanes}"] = linear(
                "l", stream, weight, None, F8, None, RESULT, out_lanes=out_lanes, folded=True
            )
    found["unrolled"] = linear(
        "l", x[12], np.ones((24, 12), np.int64), None, F8, None, None, out_lanes=24, folded=False
    )
    found["gather"] = Gather("g", (x[2],), (x[6].renamed("y"),))
    found["scatter"] = Scatter("g", (x[6],), (x[2].renamed("y"),))
    return found


@pytest.mark.parametrize("name", components())
def test_component_keeps_what_it_states(name: str) -> None:
    component = components()[name]
    timing = schedule([component])
    assert timing.latency == component.latency
    assert timing.interval == component.interval


@pytest.mark.parametrize(("lanes", "wanted"), [(4, 6), (6, 4), (1, 12), (12, 1), (2, 4), (4, 2), (3, 4), (4, 4)])
def test_adapters_keep_the_full_rate(lanes: int, wanted: int) -> None:
    stream = full_range("x", 12, lanes, F8)
    chain = adapters("a", stream, wanted)
    assert (chain[-1].output if chain else stream).lanes == wanted
    if chain:
        assert schedule(chain).interval == 12 // min(lanes, wanted)


def test_repeated_cycles_are_those_of_a_longer_run() -> None:
    """What is extended from the period equals what running on would have given."""
    x = full_range("x", 12, 3, F8)
    weight = np.ones((24, 12), np.int64)
    first = linear("a", x, weight, None, F8, None, RESULT, out_lanes=8, folded=True)
    narrow = adapters("n", first.output, 4)
    second = linear(
        "b", narrow[-1].output, np.ones((6, 24), np.int64), None, F8, None, RESULT, out_lanes=2, folded=True
    )
    chain = [first, *narrow, second]
    timing = schedule(chain)
    (port,) = timing.outputs
    outputs = port.of_samples(40)
    assert outputs.shape == (40, 3)
    assert (np.diff(outputs.ravel()) > 0).all()
    flat = outputs.ravel()[60 - port.period :]
    assert (flat[port.period :] - flat[: -port.period] == port.period_cycles).all()
    assert timing.interval == max(component.interval for component in chain)
    assert np.array_equal(outputs.ravel()[: len(port.seen)], port.seen)
    assert timing.inputs[0].of_samples(40)[0, 0] == 0


@pytest.mark.parametrize("first", range(0, 40, 3))
def test_cycles_from_any_beat_on(first: int) -> None:
    """Three beats a vector; the last two of five vectors repeat."""
    seen = np.array([4, 6, 9, 11, 12, 13, 17, 18, 20, 22, 25, 26, 29, 30, 32])
    port = PortCycles(full_range("y", 3, 1, F8), seen, period=6, period_cycles=12)
    whole = port.cycles(0, 90)
    assert np.array_equal(whole[:15], seen)
    assert np.array_equal(whole[15:] - whole[9:-6], np.full(75, 12))
    assert np.array_equal(port.cycles(first, 20), whole[first : first + 20])


def test_slowest_component_rules_the_design() -> None:
    x = full_range("x", 12, 12, F8)
    slow = linear("a", x, np.ones((24, 12), np.int64), None, F8, None, RESULT, out_lanes=1, folded=True)
    fast = relu("r", slow.output, RESULT)
    assert schedule([slow, fast]).interval == 24
