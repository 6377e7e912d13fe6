"""Random wishes for the hardware of a random network: of each node, and of the whole design."""

from __future__ import annotations

from math import gcd
from typing import Any

from hypothesis import strategies as st

from fuzzing.nets import JOINS, REMOVED, Draw, Layer, Net
from fuzzing.types import Table

MATRICES = ("linear", "conv1d", "conv2d")
OFTEN = {
    "linear": 3,
    "conv1d": 1,
    "conv2d": 1,
    "batch_norm1d": 1,
    "batch_norm2d": 1,
}  # asked for in so many cases of so many and one; the others in one of four


def draw_hardware(draw: Draw, net: Net, names: tuple[str, ...], quantize: Table, fuse: bool, wild: bool) -> Table:
    """[passes.hardware], by name."""
    table: Table = {"by": "name"}
    gone = (*REMOVED, *(["batch_norm1d", "batch_norm2d"] if fuse and not wild else []))
    for layer, name in zip(net.layers, names, strict=True):
        often = OFTEN.get(layer.op)
        asked = draw(st.integers(0, 3)) == 3 if often is None else draw(st.integers(0, often)) > 0
        if asked and layer.op not in gone:
            spec = quantize.get(layer.op if quantize["by"] == "type" else name, {}).get("config", {})
            table[name] = {"config": _node(draw, layer, int(spec.get("data_in_width", 8)), wild)}
    return table


def _node(draw: Draw, layer: Layer, bits: int, wild: bool) -> Table:
    """The hardware keys of one node, each given or left to the tool."""
    config: Table = {}

    def maybe(key: str, values: st.SearchStrategy[Any]) -> None:
        if draw(st.booleans()):
            config[key] = draw(values)

    if layer.op in MATRICES:
        kind = draw(st.sampled_from(("auto", "unrolled", "serial", "folded")))
        maybe_kind = draw(st.booleans()) or kind == "unrolled"
        config |= {"implementation": kind} if kind != "auto" and maybe_kind else {}
        if kind == "serial":
            maybe("digit_bits", st.integers(1, bits + wild))
            maybe("output_groups", st.integers(1, 9) if wild else _divisors(layer.outputs, 8))
        if kind == "folded":
            maybe("array_in", st.integers(1, layer.inputs + wild))
            maybe("array_out", st.integers(1, layer.outputs + wild))
            maybe("use_dsp", st.booleans())
    _lanes(draw, layer, config, wild)
    if draw(st.booleans()):
        deep = st.one_of(st.integers(0, 5), st.integers(1, 40)) if layer.op in JOINS else st.integers(0, 5)
        config["data_in_fifo_depth"] = draw(deep)
    return config


def _lanes(draw: Draw, layer: Layer, config: Table, wild: bool) -> None:
    into = _divisors(gcd(*layer.features))
    if layer.op == "cat":
        into = st.one_of(into, st.just(layer.inputs))
    if draw(st.booleans()):
        config["data_in_parallelism"] = draw(st.integers(1, layer.inputs) if wild else into)
    if draw(st.booleans()):
        out = _divisors(layer.outputs)
        if layer.op not in MATRICES:  # as many leave as enter
            out = st.just(config["data_in_parallelism"]) if "data_in_parallelism" in config else into
        config["data_out_parallelism"] = draw(st.integers(1, layer.outputs) if wild else out)


def _divisors(n: int, most: int = 99) -> st.SearchStrategy[int]:
    return st.sampled_from([d for d in range(1, n + 1) if n % d == 0 and d <= most])


def draw_target(draw: Draw, wild: bool) -> Table:
    """[hardware]: what the whole design is to reach."""
    table: Table = {}
    if draw(st.integers(0, 2)) == 2:
        table["target_interval"] = draw(st.integers(1, 40) if wild else st.sampled_from((400, 81, 32, 16)))
    if draw(st.integers(0, 2)) == 2:
        table["adders_per_stage"] = draw(st.integers(1, 8))
    if draw(st.integers(0, 5)) == 5:
        table["dsp_budget"] = draw(st.integers(0, 20))
    if draw(st.integers(0, 9)) == 9:
        table["interface"] = "axis"
    if wild and draw(st.booleans()):
        table["lut_budget"] = draw(st.integers(0, 3000))
    return table
