"""Convolutions with all their components, and where streams part and meet, in the grid of the cost model."""

from __future__ import annotations

from typing import Any

import numpy as np

from mase_hw.geometry import Geometry
from mase_hw.ir import full_range
from mase_hw.ir.branches import concat, fork
from mase_hw.ir.component import Component
from mase_hw.ir.finish import Result
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.add import add
from mase_hw.ops.affine import align
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.serial import serial
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.ops.window import depthwise, window, window_wide

Config = dict[str, Any]
COUNTS = {
    "conv_folded": 20,
    "conv_dsp": 10,
    "conv_unrolled": 6,
    "conv_serial": 6,
    "conv_depthwise": 8,
    "fork": 8,
    "concat": 8,
    "add": 10,
}


def draw(kind: str, rng: np.random.Generator) -> Config:
    def within(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    rounding = str(rng.choice([r.value for r in Rounding]))
    bits = within(4, 9)
    found: Config = {"x": [bits, within(1, 3), bool(rng.integers(2))], "rounding": rounding}
    found["result"] = [within(4, 9), within(1, 3), bool(rng.integers(2))]
    if kind in ("fork", "concat", "add"):
        lanes, beats = within(1, 8), int(rng.choice([1, 2, 3, 4, 8]))
        found |= {"lanes": lanes, "beats": beats, "count": within(2, 4), "option": bool(rng.integers(2))}
        return {**found, "y": [within(3, 9), within(1, 4), bool(rng.integers(2))]}
    size, small = within(6, 40), kind in ("conv_unrolled", "conv_serial")
    kernel = [int(rng.choice([2, 3, 3])), int(rng.choice([2, 3, 3]))]
    found |= {"frame": [within(6, 20), size], "kernel": kernel, "stride": [int(rng.choice([1, 1, 2]))] * 2}
    found["padding"] = [[k // 2, k // 2] for k in kernel] if rng.integers(3) else [[0, 0], [0, 0]]
    found |= {"weight": [within(3, 8), 2, True], "adders_per_stage": int(rng.choice([2, 4, 4]))}
    if small:
        return {**found, "channels": within(1, 3), "outputs": within(2, 4), "lanes": 0, "digit_bits": within(1, 2)}
    lanes, blocks = within(1, 4), int(rng.choice([1, 2, 4]))
    found |= {"channels": lanes * blocks, "lanes": lanes}
    if kind == "conv_depthwise":
        return found
    outputs = int(rng.choice([2, 4, 6, 8]))
    array_out = int(rng.choice([q for q in (1, 2, 3, 4) if outputs % q == 0]))
    return {**found, "outputs": outputs, "array_out": array_out}


def build(config: Config) -> list[Component]:
    kind, x_type, result = config["kind"], Fixed(*config["x"]), _result(config)
    if kind not in ("fork", "concat", "add"):
        return _convolution(config, x_type, result)
    features = config["lanes"] * config["beats"]
    x = full_range("data_in_0", features, config["lanes"], x_type)
    if kind == "fork":
        return [fork("dut_fork", x, config["count"], buffered=config["option"])]
    if kind == "concat":
        parts = [x.renamed(f"data_in_{k}") for k in range(config["count"])]
        return [concat("dut_concat", parts)]
    y = full_range("data_in_1", features, config["lanes"], Fixed(*config["y"]))
    return [add("dut_add", [x, y], (1, -1 if config["option"] else 1), result)]


def _convolution(config: Config, x_type: Fixed, result: Result) -> list[Component]:
    frame, channels = tuple(config["frame"]), config["channels"]
    geometry = Geometry.of(frame, config["kernel"], config["stride"], config["padding"])
    lanes = config["lanes"] or channels
    x = full_range("data_in_0", channels, lanes, x_type, frame)
    rng, weight = np.random.default_rng(config["seed"]), Fixed(*config["weight"])
    alignment = align(x_type, weight, None)
    per_stage = config["adders_per_stage"]
    if config["kind"] == "conv_depthwise":
        read: Component = window("dut_window", x, geometry, grouped=True)
        matrix = _drawn(rng, weight, (channels, geometry.taps))
        bias = rng.integers(-100, 100, channels)
        return [read, depthwise("dut_layer", read.output, matrix, bias, alignment, result, per_stage)]
    matrix = _drawn(rng, weight, (config["outputs"], geometry.taps * channels))
    bias = rng.integers(-100, 100, config["outputs"])
    if config["kind"] in ("conv_unrolled", "conv_serial"):
        read = window_wide("dut_window", x, geometry)
        arguments = ("dut_layer", read.output, matrix, bias, alignment, result)
        if config["kind"] == "conv_unrolled":
            return [read, unrolled(*arguments, adders_per_stage=per_stage)]
        return [read, serial(*arguments, digit_bits=config["digit_bits"], adders_per_stage=per_stage)]
    read = window("dut_window", x, geometry)
    folded = folded_linear(
        "dut_layer", read.output, matrix, bias, alignment, result,
        out_lanes=config["array_out"], array=(lanes, config["array_out"]), adders_per_stage=per_stage,
        use_dsp=config["kind"] == "conv_dsp",
    )  # fmt: skip
    return [read, folded]


def _drawn(rng: np.random.Generator, fixed: Fixed, shape: tuple[int, ...]) -> Any:
    """As training leaves them: most are small."""
    return np.clip(np.round(rng.normal(0, fixed.hi / 3, shape)), fixed.lo, fixed.hi).astype(np.int64)


def _result(config: Config) -> Result:
    return Result(Fixed(*config["result"]), Rounding(config["rounding"]))
