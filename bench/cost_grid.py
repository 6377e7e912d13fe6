"""The grid that the cost model is calibrated on: small components of every kind, drawn with a fixed seed.

A configuration is plain JSON values; `build` makes the component from it, the same one every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import frame_grid
import joined_grid
import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from mase_hw.ir import Design, full_range
from mase_hw.ir.component import Component
from mase_hw.ir.finish import Result
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.ir.stream import Stream
from mase_hw.lowering.lower import legal
from mase_hw.numerics import Fixed, Rounding, to_integers
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.batch_norm1d import batch_norm1d
from mase_hw.ops.cast import cast
from mase_hw.ops.linear.fold import stream_lanes
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.serial import serial
from mase_hw.ops.linear.space import array_lanes
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.ops.relu import relu

Config = dict[str, Any]
Floats = npt.NDArray[np.float32]
SEED = 4
COUNTS = {
    "unrolled": 8,
    "serial": 8,
    "folded": 8,
    "folded_dsp": 6,
    "norm": 6,  # a vector in one beat: unrolled
    "norm_beats": 6,  # a vector in several beats: multipliers
    "cast": 8,
    "relu": 6,
    "skid_buffer": 2,
    "fifo": 6,
    "gather": 4,
    "scatter": 4,
    "serial_groups": 6,
    "folded_trained": 16,  # layers of a trained net on narrow arrays, as slow designs have them
    "serial_trained": 4,
    "unrolled_trained": 4,
    **frame_grid.COUNTS,
    **joined_grid.COUNTS,
}
# Both halves of a kind's earlier draw were looked at when its formula was made, so it was drawn again from new numbers.
DRAWN_AGAIN = {"norm_beats": (1,), "cast": (1,), "relu": (1,), "fifo": (3,)}
MOST_WEIGHTS = 200  # of one layer, so that its synthesis takes seconds
TRAINED = Path(__file__).parents[1] / "examples" / "digits" / "digits.safetensors"
LAYERS = ("fc1", "fc2", "fc3")
NARROW = 6  # the most lanes of a narrow array
SLOW = (64, 128, 256, 512, 1024)  # intervals


def grid() -> dict[str, Config]:
    """Every configuration by name: `<kind>-<number>`."""
    found = {}
    for k, (kind, count) in enumerate(COUNTS.items()):
        rng = np.random.default_rng((SEED, k, *DRAWN_AGAIN.get(kind, ())))
        for n in range(count):
            found[f"{kind}-{n}"] = {"kind": kind, **_draw(kind, rng), "seed": n}
    return found


def half(name: str) -> str:
    """Every second one of a kind is held out: formulas are fitted to the others."""
    return "held_out" if int(name.rpartition("-")[2]) % 2 else "fit"


def design(config: Config) -> Design:
    """A design of this component alone, or of a layer's components."""
    made = joined_grid.build(config) if config["kind"] in joined_grid.COUNTS else [build(config)]
    last = made[-1]
    outputs = tuple(y.renamed(f"data_out_{k}") for k, y in enumerate(last.outputs))
    found = Design("dut", legal([*made[:-1], replace(last, outputs=outputs)], lambda name: name))
    found.verify()
    return found


def build(config: Config) -> Component:
    if config["kind"] in frame_grid.COUNTS:
        return frame_grid.build(config)
    x = full_range("data_in_0", config["features"], config["lanes"], _fixed(config["x"]))
    made = _BUILDERS[config["kind"]](x, config)
    return (made.rectified() or made) if config.get("rectify") else made


def _draw(kind: str, rng: np.random.Generator) -> Config:
    if kind in frame_grid.COUNTS:
        return frame_grid.draw(kind, rng)
    if kind in joined_grid.COUNTS:
        return joined_grid.draw(kind, rng)
    if kind.endswith("_trained"):
        return _draw_trained(kind.removesuffix("_trained"), rng)

    def within(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    def fixed(signed: bool | None = None) -> list[Any]:
        width = within(3, 12)
        return [width, within(1, width - 1), bool(rng.integers(4)) if signed is None else signed]

    x = fixed()
    if kind in ("skid_buffer", "fifo", "gather", "scatter"):
        lanes, ratio = within(1, 6), within(2, 12)
        many = lanes * ratio
        moved = {"x": x, "features": many, "lanes": many if kind == "scatter" else lanes}
        if kind == "fifo":
            return {**moved, "depth": int(rng.choice([2, 4, 7, 16, 32, 33, 48, 100]))}
        return moved if kind == "skid_buffer" else {**moved, "lanes_out": many if kind == "gather" else lanes}
    rounding = str(rng.choice([rule.value for rule in Rounding]))
    common: Config = {"x": x, "result": fixed(), "rounding": rounding}
    if kind in ("cast", "relu"):
        lanes = within(2, 8)
        return {**common, "features": lanes, "lanes": lanes}
    common |= {"weight": fixed(True), "bias": fixed(True), "spread": str(rng.choice(["uniform", "normal"]))}
    common |= {"adders_per_stage": int(rng.choice([2, 3, 4, 4, 6]))}
    if kind.startswith("norm"):
        lanes = within(2, 8) if kind == "norm" else within(1, 4)
        return {**common, "features": lanes * (1 if kind == "norm" else within(2, 12)), "lanes": lanes}
    if kind == "serial_groups":
        inputs, groups = within(2, 32), within(2, 8)
        common |= {"features": inputs, "lanes": inputs, "groups": groups, "digit_bits": within(1, 2)}
        return {**common, "outputs": groups * within(1, max(1, MOST_WEIGHTS // inputs // groups))}
    inputs = within(2, 32)
    outputs = within(2, min(32, max(2, MOST_WEIGHTS // inputs)))
    common |= {"features": inputs, "outputs": outputs}
    if kind == "unrolled":
        return {**common, "lanes": inputs}
    if kind == "serial":
        return {**common, "lanes": inputs, "digit_bits": within(1, min(6, x[0] - 1))}
    array = (within(1, min(5, inputs)), within(1, min(5, outputs)))
    lanes_in, lanes_out = stream_lanes(inputs, outputs, array)
    return {**common, "array": list(array), "lanes": lanes_in, "lanes_out": lanes_out}


def _draw_trained(built: str, rng: np.random.Generator) -> Config:
    """A layer of the trained net, as a net of 4 to 8 bits has it: activations without a sign behind a ReLU."""
    name = str(rng.choice(LAYERS if built == "folded" else LAYERS[1:]))
    outputs, inputs = trained(name)[0].shape
    bits, wide = (int(n) for n in rng.integers(4, 9, 2))  # of activations and of weights
    x, kind = [bits, bits - 3, name == "fc1"], [wide, wide - 2, True]
    last = name == "fc3"
    found: Config = {"x": x, "result": [bits, bits - 3, last or bool(rng.integers(2))], "rectify": not last}
    found |= {"rounding": str(rng.choice([rule.value for rule in Rounding])), "weight": kind, "bias": kind}
    found |= {"layer": name, "adders_per_stage": int(rng.choice([2, 4, 4])), "features": inputs, "outputs": outputs}
    if built == "unrolled":
        return {**found, "lanes": inputs}
    if built == "serial":
        groups = int(rng.choice([1, 1, 2]))
        return {**found, "lanes": inputs, "digit_bits": int(rng.integers(1, 3)), "groups": groups}
    slowest = int(rng.choice([cycles for cycles in SLOW if cycles <= inputs * outputs]))
    pairs = [(p, q) for p in range(1, NARROW + 1) for q in range(1, NARROW + 1)]
    steps = {(p, q): -(-inputs // p) * -(-outputs // q) for p, q in pairs}
    suited = [pair for pair in pairs if slowest / 2 < steps[pair] <= slowest]
    array = suited[int(rng.integers(len(suited)))]
    lanes = [int(rng.choice(side)) for side in array_lanes((inputs, outputs), array)]
    return {**found, "array": list(array), "lanes": lanes[0], "lanes_out": lanes[1]}


@cache
def trained(layer: str) -> tuple[Floats, Floats]:
    """Weights [out, in] and biases that training gave the digits example."""
    tensors = load_file(TRAINED)
    return tensors[f"{layer}.weight"], tensors[f"{layer}.bias"]


def _constants(config: Config, inputs: int, weight: Fixed, bias: Fixed) -> tuple[Integers, Integers]:
    """The weights and the biases of a layer: those of a trained one, or drawn."""
    if "layer" in config:
        pairs = zip(trained(config["layer"]), (weight, bias), strict=True)
        matrix, constants = (to_integers(values, fixed, Rounding.HALF_EVEN) for values, fixed in pairs)
        return matrix, constants
    rng = np.random.default_rng(config["seed"])
    matrix = _values(rng, weight, config["spread"], (config["outputs"], inputs))
    return matrix, _values(rng, bias, config["spread"], (config["outputs"],))


def _linear(x: Stream, config: Config) -> Component:
    weight, bias = _fixed(config["weight"]), _fixed(config["bias"])
    matrix, constants = _constants(config, x.features, weight, bias)
    alignment = align(x.fixed, weight, bias)
    constants = constants << alignment.constant_shift
    layer = ("dut_layer", x, matrix, constants, alignment, _result(config))
    per_stage = config["adders_per_stage"]
    if config["kind"].startswith("unrolled"):
        return unrolled(*layer, adders_per_stage=per_stage)
    if config["kind"].startswith("serial"):
        digits = {"digit_bits": config["digit_bits"], "groups": config.get("groups", 1)}
        return serial(*layer, **digits, adders_per_stage=per_stage)
    p_in, p_out = config["array"]
    dsp = config["kind"] == "folded_dsp"
    lanes = config["lanes_out"]
    return folded_linear(*layer, out_lanes=lanes, array=(p_in, p_out), adders_per_stage=per_stage, use_dsp=dsp)


def _norm(x: Stream, config: Config) -> Component:
    weight, bias = _fixed(config["weight"]), _fixed(config["bias"])
    rng = np.random.default_rng(config["seed"])
    scale = _values(rng, weight, config["spread"], (x.features,))
    shift = _values(rng, bias, config["spread"], (x.features,))
    return batch_norm1d("dut_norm", x, scale, shift, weight, bias, _result(config), config["adders_per_stage"])


def _adapter(kind: type[Gather | Scatter]) -> Callable[[Stream, Config], Component]:
    def made(x: Stream, config: Config) -> Component:
        return kind("dut_adapter", (x,), (x.with_lanes("adapter_out", config["lanes_out"]),))

    return made


_BUILDERS: dict[str, Callable[[Stream, Config], Component]] = {
    "unrolled": _linear,
    "serial": _linear,
    "serial_groups": _linear,
    "folded": _linear,
    "folded_trained": _linear,
    "serial_trained": _linear,
    "unrolled_trained": _linear,
    "folded_dsp": _linear,
    "norm": _norm,
    "norm_beats": _norm,
    "cast": lambda x, config: cast("dut_cast", x, _result(config)),
    "relu": lambda x, config: relu("dut_relu", x, _result(config)),
    "skid_buffer": lambda x, config: SkidBuffer("dut_skid", (x,), (x.renamed("skid_out"),)),
    "fifo": lambda x, config: Fifo("dut_fifo", (x,), (x.renamed("fifo_out"),), config["depth"]),
    "gather": _adapter(Gather),
    "scatter": _adapter(Scatter),
}


def _fixed(values: list[Any]) -> Fixed:
    return Fixed(*values)


def _result(config: Config) -> Result:
    return Result(_fixed(config["result"]), Rounding(config["rounding"]))


def _values(rng: np.random.Generator, fixed: Fixed, spread: str, shape: tuple[int, ...]) -> Integers:
    """Any integers of the type, or those of trained weights: most of them small."""
    if spread == "uniform":
        return rng.integers(fixed.lo, fixed.hi + 1, shape)
    return np.clip(np.round(rng.normal(0, fixed.hi / 4, shape)), fixed.lo, fixed.hi).astype(np.int64)
