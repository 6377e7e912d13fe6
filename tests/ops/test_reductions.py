"""What reduces windows and frames, alone under every stall pattern, and behind a window as pools are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from frames import alone, assert_built
from together import assert_all_equal, first_name, in_groups

from mase_hw.emit import render
from mase_hw.emit.store import load_design, save_design
from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.ir.finish import Result
from mase_hw.ir.wellformed import probe_vectors
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.affine import align
from mase_hw.ops.window import depthwise, global_most, global_sum, reduce_most, reduce_sum, upsample, window

F5, U4 = Fixed(5, 2), Fixed(4, 0, signed=False)
EVEN, FLOOR = Result(Fixed(5, 2), Rounding.HALF_EVEN), Result(Fixed(4, 1), Rounding.FLOOR)


def grouped(taps: int, lanes: int, blocks: int, fixed: Fixed = F5, frame: tuple[int, ...] = (2, 3)) -> Stream:
    return full_range("data_in_0", taps * lanes, lanes, fixed, (*frame, blocks))


def whole(features: int, lanes: int, frame: tuple[int, ...], fixed: Fixed = F5) -> Stream:
    return full_range("data_in_0", features, lanes, fixed, frame)


def weighted(taps: int, lanes: int, blocks: int, result: Result | None, bits: int = 4, fixed: Fixed = F5) -> Component:
    """A depthwise convolution with random weights."""
    rng, weight = np.random.default_rng(taps), Fixed(bits, 2)
    matrix = rng.integers(weight.lo, weight.hi, (lanes * blocks, taps), endpoint=True)
    bias = rng.integers(-50, 50, lanes * blocks)
    x = grouped(taps, lanes, blocks, fixed)
    return depthwise("reduce", x, matrix, bias, align(x.fixed, weight, None), result)


def rectified(x: Stream) -> Stream:
    """The same stream behind a ReLU: its type has a sign, its numbers have none."""
    return replace(x, lo=(0,) * x.features)


CASES: dict[str, Component] = {
    "largest of 4": reduce_most("reduce", grouped(4, 2, 3)),
    "largest of 9, unsigned, one lane": reduce_most("reduce", grouped(9, 1, 1, U4)),
    "sum of 4, exact": reduce_sum("reduce", grouped(4, 2, 2), None),
    "average of 4": reduce_sum("reduce", grouped(4, 2, 2), EVEN, 4),
    "average of 9": reduce_sum("reduce", grouped(9, 1, 2), EVEN, 9),
    "average of 3, ties": reduce_sum("reduce", grouped(3, 2, 1), Result(Fixed(4, 0), Rounding.HALF_EVEN), 3),
    "average of 6, floor": reduce_sum("reduce", grouped(6, 2, 1), FLOOR, 6),
    "average of 3, finer, unsigned": reduce_sum("reduce", grouped(3, 1, 2, U4), Result(Fixed(9, 4), FLOOR.rounding), 3),
    "average of 4, never negative": reduce_sum("reduce", rectified(grouped(4, 2, 2)), EVEN, 4),
    "average of 9, never negative": reduce_sum("reduce", rectified(grouped(9, 1, 2)), EVEN, 9),
    "sum of 3, never negative": reduce_sum("reduce", rectified(grouped(3, 1, 2)), None),
    "average of 4, unsigned": reduce_sum("reduce", grouped(4, 2, 2, U4), EVEN, 4),
    "one tap": reduce_most("reduce", grouped(1, 2, 2)),
    "global largest": global_most("reduce", whole(6, 2, (3, 3))),
    "global largest, one beat": global_most("reduce", whole(3, 3, (5,), U4)),
    "global average of 9": global_sum("reduce", whole(4, 2, (3, 3)), EVEN),
    "global average of 8": global_sum("reduce", whole(4, 1, (8,)), EVEN),
    "global average of 49": global_sum("reduce", whole(2, 2, (7, 7), U4), Result(U4, Rounding.HALF_EVEN)),
    "global average of 8, never negative": global_sum("reduce", rectified(whole(4, 1, (8,))), EVEN),
    "global average of 9, never negative": global_sum("reduce", rectified(whole(4, 2, (3, 3))), EVEN),
    "global average of 64, unsigned": global_sum("reduce", whole(4, 2, (8, 8), U4), EVEN),
    "global sum": global_sum("reduce", whole(4, 4, (2, 3)), None, 1),
    "depthwise": weighted(9, 2, 2, EVEN),
    "depthwise, one block, floor": weighted(4, 3, 1, FLOOR, 8),
    "depthwise, one lane, unsigned, exact": weighted(5, 1, 3, None, 3, U4),
    "depthwise, weights in block RAM": weighted(25, 1, 3, EVEN, 8),
    "depthwise, one tap": weighted(1, 2, 3, EVEN),
    "one position": global_sum("reduce", whole(4, 2, (1, 1)), None),
}


@pytest.mark.parametrize("name", CASES)
def test_cycles(name: str) -> None:
    component = CASES[name]
    schedule = alone(component).schedule
    assert schedule.latency == component.latency
    assert schedule.interval == component.interval * component.output.positions


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(CASES), ids=first_name)
def test_reductions_in_rtl(group: dict[str, Component], tmp_path: Path) -> None:
    assert_all_equal({name: alone(case) for name, case in group.items()}, tmp_path, count=16, yosys=True)


UPSAMPLED = {
    "both ways": (whole(4, 2, (3, 4)), (2, 3)),
    "rows": (whole(3, 3, (2, 5)), (3, 1)),
    "columns": (whole(4, 1, (3, 2)), (1, 2)),
    "a sequence": (whole(4, 2, (5,)), (3,)),
    "one beat": (whole(2, 2, (2, 2)), (2, 2)),
    "one column": (whole(2, 1, (3, 1)), (2, 2)),
}


@pytest.mark.slow
def test_upsampled_in_rtl(tmp_path: Path) -> None:
    """One output beat in every cycle; the first one after two cycles."""
    designs = {name: alone(upsample("upsample", *of)) for name, of in UPSAMPLED.items()}
    for design in designs.values():
        assert (design.schedule.interval, design.schedule.latency) == (design.output.sample_beats, 2)
    assert_all_equal(designs, tmp_path, count=8, yosys=True)


@pytest.mark.parametrize("name", [*CASES, *UPSAMPLED])
def test_saved_and_read_again(name: str) -> None:
    """A build's design computes what it did before."""
    component = CASES[name] if name in CASES else upsample("upsample", *UPSAMPLED[name])
    design = alone(component)
    manifest, arrays = save_design(design)
    again = load_design({**json.loads(json.dumps(manifest)), "top": design.name, "nodes": []}, arrays)
    x = probe_vectors(component)
    assert all(map(np.array_equal, design.results(*x), again.results(*x)))
    assert again.schedule.interval == design.schedule.interval
    assert list(render(again).values()) == list(render(design).values())


def test_upsampled_values() -> None:
    (y,) = upsample("upsample", whole(2, 1, (2, 2)), (1, 2)).execute(np.arange(8).reshape(4, 2))
    assert y.tolist() == [[0, 1], [0, 1], [2, 3], [2, 3], [4, 5], [4, 5], [6, 7], [6, 7]]


POOL = Geometry.of((5, 6), (3, 3), (2, 2), ((1, 1), (1, 0)))


def pool(lo: int) -> Design:
    """A max pool of positions that are never below `lo`."""
    x = replace(whole(4, 2, POOL.frame), lo=(lo,) * 4)
    read = window("window", x, POOL, grouped=True, fill=x.fixed.lo)
    found = reduce_most("reduce", read.output)
    return Design("dut", (read, replace(found, outputs=(found.output.renamed("data_out_0"),))))


def test_padding_never_wins() -> None:
    design = pool(-16)
    design.verify()
    x = np.random.default_rng(0).integers(-16, -1, (30, 4))
    (y,) = design.results(x)
    frame = np.full((7, 7, 4), -99)
    frame[1:6, 1:7] = x.reshape(5, 6, 4)
    expected = [frame[2 * r : 2 * r + 3, 2 * c : 2 * c + 3].max((0, 1)) for r in range(3) for c in range(3)]
    assert np.array_equal(y, expected)
    assert design.output.frame == (3, 3)


@pytest.mark.slow
def test_pool_in_rtl(tmp_path: Path) -> None:
    design = pool(-3)
    design.verify()
    assert min(design.output.lo) == -3  # some tap of every window is no padding: the one in the middle
    assert_built(design, tmp_path, count=8)
