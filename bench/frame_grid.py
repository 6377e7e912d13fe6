"""The components of frames in the grid that the cost model is calibrated on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mase_hw.geometry import Geometry
from mase_hw.ir import full_range
from mase_hw.ir.component import Component
from mase_hw.ir.finish import Result
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.affine import align
from mase_hw.ops.window import (
    depthwise,
    global_most,
    global_sum,
    reduce_most,
    reduce_sum,
    upsample,
    window,
    window_wide,
)

Config = dict[str, Any]
COUNTS = {"window": 32, "window_wide": 16, "reduce": 16, "global_reduce": 12, "depthwise": 12, "upsample": 12}


def draw(kind: str, rng: np.random.Generator) -> Config:
    def within(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    x = [within(3, 9), within(1, 2), bool(rng.integers(4))]
    lanes, blocks = within(1, 8), int(rng.choice([1, 1, 2, 3, 4, 8]))
    frame = [within(4, 36), within(4, 36)]
    found: Config = {"x": x, "lanes": lanes, "blocks": blocks, "frame": frame}
    kernel = [within(1, 4), within(1, 4)]
    pads = [[within(0, size // 2), within(0, size // 2)] for size in kernel]
    if kind == "window_wide":
        found["blocks"] = 1
    if kind.startswith("window"):
        stride = [int(rng.choice([1, 1, 2])) for _ in kernel]
        grouped = bool(rng.integers(3) == 0) and kind == "window"
        return {**found, "kernel": kernel, "stride": stride, "padding": pads, "grouped": grouped}
    found |= {"result": [within(4, 9), within(1, 2), True], "rounding": str(rng.choice([r.value for r in Rounding]))}
    if kind == "upsample":
        return {**found, "factors": [within(1, 3), within(2, 3)]}
    if kind == "depthwise":
        return {**found, "taps": within(2, 9), "weight": [within(3, 8), 2, True]}
    return {**found, "taps": within(2, 9), "most": bool(rng.integers(2))}


def build(config: Config) -> Component:
    fixed, kind = Fixed(*config["x"]), config["kind"]
    lanes, blocks, frame = config["lanes"], config["blocks"], tuple(config["frame"])
    x = full_range("data_in_0", lanes * blocks, lanes, fixed, frame)
    if kind in ("window", "window_wide"):
        geometry = Geometry.of(frame, config["kernel"], config["stride"], config["padding"])
        if kind == "window_wide":
            return window_wide("dut_window", x, geometry)
        return window("dut_window", x, geometry, grouped=config["grouped"])
    if kind == "upsample":
        return upsample("dut_upsample", x, tuple(config["factors"]))
    result = Result(Fixed(*config["result"]), Rounding(config["rounding"]))
    if kind == "global_reduce":
        return global_most("dut_reduce", x) if config["most"] else global_sum("dut_reduce", x, result)
    taps = full_range("data_in_0", lanes * config["taps"], lanes, fixed, (*frame, blocks))
    if kind == "reduce":
        return _reduce(taps, config, result)
    rng, weight = np.random.default_rng(config["seed"]), Fixed(*config["weight"])
    matrix = rng.integers(weight.lo, weight.hi + 1, (lanes * blocks, config["taps"]))
    bias = rng.integers(-100, 100, lanes * blocks)
    return depthwise("dut_depthwise", taps, matrix, bias, align(fixed, weight, None), result)


def _reduce(x: Stream, config: Config, result: Result) -> Component:
    return reduce_most("dut_reduce", x) if config["most"] else reduce_sum("dut_reduce", x, result, config["taps"])
