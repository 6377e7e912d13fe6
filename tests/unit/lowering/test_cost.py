"""Predicted cost against what Yosys measured once: the grid in bench/cost_grid.json, no synthesis here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mase_hw.cost.cost import Cost
from mase_hw.ir import Stream
from mase_hw.numerics import Fixed
from mase_hw.ops.add import add

BENCH = Path(__file__).parents[3] / "bench"

# Bounds of the mean error on the held-out half, a little above the errors that docs/hardware.md publishes. Of sites,
# LUTs, registers and carry cells in parts of what was measured; of the others in cells, and of the depth in levels.
BOUNDS = {
    "sites": 0.04,
    "lut": 0.04,
    "ff": 0.035,
    "carry": 0.03,
    "lutram": 1.0,
    "dsp": 0.0,
    "bram": 0.0,
    "depth": 0.6,
}
BY_KIND = {  # sites, lut, ff, carry
    "unrolled": (0.01, 0.02, 0.01, 0.01),
    "unrolled_trained": (0.02, 0.03, 0.01, 0.01),
    "serial": (0.02, 0.02, 0.02, 0.03),
    "serial_trained": (0.02, 0.02, 0.03, 0.09),
    "serial_groups": (0.05, 0.06, 0.08, 0.07),
    "folded": (0.04, 0.04, 0.05, 0.02),
    "folded_trained": (0.05, 0.05, 0.03, 0.01),
    "folded_dsp": (0.05, 0.06, 0.01, 0.02),
    "norm": (0.21, 0.20, 0.14, 0.06),
    "norm_beats": (0.15, 0.10, 0.06, 0.09),
    "relu": (0.01, 0.01, 0.01, 0.01),
    "window": (0.08, 0.14, 0.01, 0.08),
    "window_wide": (0.24, 0.16, 0.04, 0.02),
    "reduce": (0.15, 0.09, 0.01, 0.16),
    "global_reduce": (0.07, 0.09, 0.03, 0.20),
    "depthwise": (0.04, 0.03, 0.02, 0.07),
    "upsample": (0.02, 0.08, 0.01, 0.16),
    "conv_folded": (0.03, 0.03, 0.01, 0.04),
    "conv_dsp": (0.06, 0.06, 0.01, 0.06),
    "conv_unrolled": (0.03, 0.03, 0.02, 0.01),
    "conv_serial": (0.04, 0.04, 0.02, 0.02),
    "conv_depthwise": (0.04, 0.04, 0.02, 0.03),
    "add": (0.14, 0.05, 0.01, 0.07),
}
FRAMES = ("window", "window_wide", "reduce", "global_reduce", "depthwise", "upsample")  # small; each kind on its own
CONVOLUTIONS = ("conv_folded", "conv_dsp", "conv_unrolled", "conv_serial", "conv_depthwise")
APART = (*FRAMES, *CONVOLUTIONS, "fork", "concat", "add")
SMALL_LUTS = 2


@pytest.fixture(scope="module")
def calibrate() -> ModuleType:
    """The bench's own comparison, loaded from its file: bench/ is no package."""
    modules = {}
    for name in ("frame_grid", "joined_grid", "cost_grid", "calibrate"):
        spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        modules[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    for name in modules:
        del sys.modules[name]
    return modules["calibrate"]


@pytest.fixture(scope="module")
def stored(calibrate: ModuleType) -> dict:
    return calibrate.read_grid()


@pytest.fixture(scope="module")
def compared(calibrate: ModuleType, stored: dict) -> list:
    """Today's predictions; a component whose RTL has changed since is measured anew by `python bench/calibrate.py`."""
    found = calibrate.compare(stored)
    stale = [c.name for c in found if c.stale]
    if stale:
        print(f"measured on other RTL: {', '.join(stale)}")  # no error: the prediction is still held against it
    return found


def held_out(compared: list, *kinds: str) -> list:
    return [c for c in compared if c.half == "held_out" and (not kinds or c.kind in kinds)]


def test_the_grid_is_whole(calibrate: ModuleType, stored: dict) -> None:
    wanted = calibrate.grid()
    assert list(stored["components"]) == list(wanted)
    for name, entry in stored["components"].items():
        assert entry["config"] == wanted[name], name
        assert len(entry["rtl_sha256"]) == 64, name
        assert set(entry["measured"]) == set(vars(Cost())), name


def test_every_kind_is_in_both_halves(calibrate: ModuleType, compared: list) -> None:
    for side in calibrate.HALVES:
        assert {c.kind for c in compared if c.half == side} == set(calibrate.COUNTS)


@pytest.mark.parametrize("figure", BOUNDS)
def test_held_out_errors_stay_within_what_is_published(calibrate: ModuleType, compared: list, figure: str) -> None:
    error = calibrate.error_of([c for c in held_out(compared) if c.kind not in APART], figure)
    assert error is not None
    assert error.mean <= BOUNDS[figure], f"{figure}: {error}"


@pytest.mark.parametrize("kind", BY_KIND)
def test_held_out_errors_of_a_kind(calibrate: ModuleType, compared: list, kind: str) -> None:
    """A wrong formula for one kind must not drown in the others."""
    for figure, bound in zip(("sites", "lut", "ff", "carry"), BY_KIND[kind], strict=True):
        error = calibrate.error_of(held_out(compared, kind), figure)
        assert error is not None
        assert error.mean <= bound, f"{kind}: {figure}: {error}"


def test_convolutions(calibrate: ModuleType, compared: list) -> None:
    """Window, matrix and what stands between: what a network of images is made of."""
    found = held_out(compared, *CONVOLUTIONS)
    assert len(found) == 25
    for figure, bound in (("sites", 0.04), ("ff", 0.01), ("dsp", 0.2), ("bram", 0.0)):
        assert calibrate.error_of(found, figure).mean <= bound, figure
    assert max(abs(c.error("sites")) for c in found) < 0.09


def test_forks_and_concatenations(compared: list) -> None:
    for c in held_out(compared, "fork", "concat"):
        assert c.predicted.ff == c.measured.ff, c
        assert abs(c.predicted.sites - c.measured.sites) <= SMALL_LUTS, c


def test_small_components_are_exact_but_for_a_few_cells(compared: list) -> None:
    for c in held_out(compared, "skid_buffer", "fifo", "gather", "scatter"):
        assert c.predicted.ff == c.measured.ff, c
        assert abs(c.predicted.lut - c.measured.lut) <= SMALL_LUTS, c
        assert abs(c.predicted.sites - c.measured.sites) <= SMALL_LUTS, c


def test_trained_layers_on_narrow_arrays(compared: list) -> None:
    """No layer of a trained net is far off in sites: with few multipliers, what stands around them is most of it."""
    errors = [c.error("sites") for c in compared if c.kind == "folded_trained"]
    assert len(errors) == 16
    assert max(map(abs, errors)) < 0.15


def test_sites_are_never_fewer_than_luts(compared: list) -> None:
    assert all(c.measured.sites >= c.measured.lut and c.predicted.sites >= c.predicted.lut for c in compared)


def test_the_check_says_when_rtl_has_changed(calibrate: ModuleType, stored: dict) -> None:
    name, entry = next(iter(stored["components"].items()))
    changed = {"components": {name: {**entry, "rtl_sha256": "0" * 64}}}
    assert [c.stale for c in calibrate.compare(changed)] == [True]


def test_the_errors(calibrate: ModuleType) -> None:
    """Relative to what was measured, or to 20 cells where there are fewer; depth in levels."""
    one = calibrate.Compared("a-0", "a", "fit", Cost(lut=200, ff=4, depth=5), Cost(lut=180, ff=6, depth=7), False)
    two = calibrate.Compared("a-1", "a", "fit", Cost(lut=100), Cost(lut=130), False)
    error = calibrate.error_of([one, two], "lut")
    assert (error.count, error.mean, error.worst, error.bias) == pytest.approx((2, 0.2, 0.3, 0.1))
    assert calibrate.error_of([one, two], "ff").mean == pytest.approx(0.1)
    assert calibrate.error_of([one, two], "depth").worst == 2
    assert calibrate.error_of([one, two], "dsp") is None


@pytest.mark.parametrize("minus", [False, True])
def test_a_sum_of_which_no_bit_is_left_costs_nothing(minus: bool) -> None:
    """Both inputs are 0, and one is shifted far above the sum's bits."""
    near, far = (Stream(name, 2, 2, Fixed(3, frac), (0, 0), (0, 0)) for name, frac in (("a", 9), ("b", 1)))
    cost = add("s", [near, far], (1, -1 if minus else 1), None).cost()
    assert min(cost.sites, cost.lut, cost.ff, cost.carry) >= 0
