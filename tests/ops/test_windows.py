"""Components of frames alone, under every stall pattern: values as the geometry says, cycles as predicted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frames import alone
from together import assert_all_equal, first_name, in_groups

from mase_hw.emit import render
from mase_hw.emit.store import load_design, save_design
from mase_hw.geometry import Geometry, windows
from mase_hw.ir import full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.window import Window, WindowWide, window, window_wide

NARROW = Fixed(5, 2)


@dataclass(frozen=True)
class Case:
    geometry: Geometry
    features: int
    lanes: int
    options: dict[str, Any] = field(default_factory=dict)
    fixed: Fixed = NARROW
    full_rate: bool = True

    def window(self) -> Window:
        x = full_range("data_in_0", self.features, self.lanes, self.fixed, self.geometry.frame)
        return window("window", x, self.geometry, **self.options)


G = Geometry.of
CASES = {
    "3 x 3, padded": Case(G((6, 5), (3, 3), None, ((1, 1), (1, 1))), 4, 2),
    "one row": Case(G((1, 7), (1, 3), None, ((0, 0), (1, 1))), 4, 4),
    "a sequence": Case(G((9,), (3,), None, ((1, 1),)), 4, 2),
    "a sequence, dilated, one lane": Case(G((9,), (3,), (2,), ((4, 0),), (2,)), 3, 1),
    "one column": Case(G((7, 1), (3, 1), None, ((1, 1), (0, 0))), 2, 1),
    "kernel is the frame": Case(G((4, 3), (4, 3)), 2, 1, full_rate=False),
    "stride beyond the kernel": Case(G((9, 9), (2, 2), (3, 3)), 2, 2),
    "stride beyond the kernel, frame cut off": Case(G((10, 11), (1, 2), (3, 4)), 2, 1),
    "dilated": Case(G((9, 7), (3, 3), None, ((2, 2), (2, 2)), (2, 2)), 4, 1),
    "dilated, not padded": Case(G((7, 9), (2, 3), None, None, (3, 2)), 2, 2, full_rate=False),
    "padded on one side": Case(G((6, 6), (3, 3), (2, 2), ((0, 1), (0, 1))), 4, 2, full_rate=False),
    "last row of windows half outside": Case(G((7, 5), (3, 3), (2, 2), ((0, 1), (1, 0))), 2, 1, full_rate=False),
    "by blocks, filled": Case(G((7, 7), (3, 3), (2, 2), ((1, 1), (1, 1))), 4, 2, {"grouped": True, "fill": -16}),
    "by blocks, block RAM": Case(G((6, 8), (2, 2), (2, 2)), 6, 2, {"grouped": True, "block_ram": True}),
    "by blocks, tall": Case(
        G((11, 6), (3, 1), (2, 1), ((3, 1), (0, 0)), (3, 1)), 6, 2, {"grouped": True}, full_rate=False
    ),
    "padded by more than the kernel": Case(
        G((3, 3), (2, 2), None, ((3, 2), (2, 4))), 2, 1, {"block_ram": True, "fill": 3}
    ),
    "zero padding": Case(G((4, 5), (1, 1), None, ((1, 2), (0, 1))), 2, 2),
    "kernel beyond the frame": Case(G((3, 3), (5, 5), None, ((2, 2), (2, 2))), 3, 1),
    "every second position": Case(G((8,), (1,), (2,)), 2, 1),
    "one position": Case(G((1, 1), (3, 3), None, ((1, 1), (1, 1))), 2, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_flow_control_is_safe(name: str) -> None:
    case = CASES[name]
    found = case.window()
    found.plan.check(case.geometry)
    assert found.latency == alone(found).schedule.latency


@pytest.mark.parametrize("name", CASES)
def test_full_rate(name: str) -> None:
    """A sample takes as many cycles as it has beats, at whichever end it has more."""
    design = alone(CASES[name].window())
    least = max(design.input.sample_beats, design.output.sample_beats)
    assert (design.schedule.interval == least) == CASES[name].full_rate


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(CASES), ids=first_name)
def test_windows_in_rtl(group: dict[str, Case], tmp_path: Path) -> None:
    assert_all_equal({name: alone(case.window()) for name, case in group.items()}, tmp_path, count=4, yosys=True)


@dataclass(frozen=True)
class Wide:
    geometry: Geometry
    features: int = 2
    options: dict[str, Any] = field(default_factory=dict)

    def window(self) -> WindowWide:
        x = full_range("data_in_0", self.features, self.features, NARROW, self.geometry.frame)
        return window_wide("window", x, self.geometry, **self.options)


WIDE = {
    "3 x 3, padded": Wide(G((6, 5), (3, 3), None, ((1, 1), (1, 1)))),
    "5 x 5, filled": Wide(G((5, 6), (5, 5), None, ((2, 2), (2, 2))), 1, {"fill": -16}),
    "one row": Wide(G((1, 7), (1, 3), None, ((0, 0), (1, 1)))),
    "a sequence": Wide(G((9,), (3,), None, ((1, 1),))),
    "one column": Wide(G((7, 1), (3, 1), None, ((1, 1), (0, 0)))),
    "kernel is the frame": Wide(G((4, 3), (4, 3))),
    "stride beyond the kernel, frame cut off": Wide(G((10, 11), (1, 2), (3, 4))),
    "padded on one side, stride": Wide(G((6, 6), (3, 3), (2, 2), ((0, 1), (0, 1)))),
    "padded on the left": Wide(G((4, 5), (3, 3), None, ((2, 0), (2, 1)))),
    "dilated, block RAM": Wide(G((7, 9), (2, 3), None, ((1, 0), (1, 2)), (3, 2)), 2, {"block_ram": True}),
    "padded, block RAM": Wide(G((4, 6), (3, 3), (1, 2), ((1, 1), (1, 1))), 2, {"block_ram": True}),
    "one position": Wide(G((1, 1), (3, 3), None, ((1, 1), (1, 1)))),
}


@pytest.mark.parametrize("name", WIDE)
def test_wide_cycles(name: str) -> None:
    """A step for every position that windows read, and for every one of the frame."""
    found = WIDE[name].window()
    schedule = alone(found).schedule
    assert schedule.latency == found.latency
    assert schedule.interval == found.walks[0].steps * found.walks[1].steps


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(WIDE), ids=first_name)
def test_wide_in_rtl(group: dict[str, Wide], tmp_path: Path) -> None:
    assert_all_equal({name: alone(case.window()) for name, case in group.items()}, tmp_path, count=4, yosys=True)


@pytest.mark.parametrize("case", [CASES["by blocks, filled"], WIDE["5 x 5, filled"]])
def test_saved_and_read_again(case: Case | Wide) -> None:
    design = alone(case.window())
    manifest, arrays = save_design(design)
    again = load_design({**json.loads(json.dumps(manifest)), "top": design.name, "nodes": []}, arrays)
    assert list(render(again).values()) == list(render(design).values())


def test_values_are_those_of_the_geometry() -> None:
    """Also where padding holds something else, and where the blocks of a position are read one by one."""
    geometry = G((4, 5), (3, 2), (1, 2), ((1, 1), (0, 1)))
    x = full_range("data_in_0", 6, 2, Fixed(5, 2), geometry.frame)
    values = np.random.default_rng(1).integers(-16, 15, (2 * 20, 6))
    (plain,) = window("w", x, geometry).execute(values)
    assert np.array_equal(plain, windows(values, geometry))
    (filled,) = window("w", x, geometry, fill=-9, grouped=True).execute(values)
    taps = plain.reshape(2, -1, geometry.taps, 3, 2)
    outside = (geometry.sources < 0)[None, :, :, None, None]
    expected = np.where(outside, -9, taps).swapaxes(2, 3).reshape(-1, geometry.taps * 2)
    assert np.array_equal(filled, expected)


def test_padding_is_within_the_bounds() -> None:
    geometry = G((4, 4), (3, 3), None, ((1, 1), (1, 1)))
    x = replace(full_range("data_in_0", 2, 1, Fixed(8, 0), geometry.frame), lo=(5, 6), hi=(9, 9))
    y = window("w", x, geometry).output
    assert y.lo[8:10] == (5, 6)  # the tap in the middle never lies on padding
    assert set(y.lo[:8]) == {0}
    assert set(y.hi) == {9}


def test_figures() -> None:
    """The window of README's comparison: no cycle more than the beats of an image, three rows of storage."""
    geometry = G((32, 32), (3, 3), None, ((1, 1), (1, 1)))
    x = full_range("data_in_0", 16, 16, Fixed(8, 4), geometry.frame)
    found = window("window", x, geometry)
    assert (found.plan.slots, found.plan.pitch) == (3, 32)
    assert alone(found).schedule.interval == 9216
    assert alone(window_wide("window", x, geometry)).schedule.interval == 33 * 33
