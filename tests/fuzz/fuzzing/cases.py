"""A random network as a user would write it, and the strategy that draws one; small and plain ones first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Table = dict[str, Any]

WEIGHTS = ("ones", "normal", "ties", "powers", "sparse", "extremes", "zeros")
CHECKPOINTS = (None, "pt", "pl", "safetensors")
OPS = ("linear", "relu", "linear", "batch_norm1d", "linear", "identity", "dropout")
QUANTIZED = ("linear", "batch_norm1d")  # these need types; a ReLU may go without
ROUNDINGS = ("integer", "integer_floor")


@dataclass(frozen=True)
class Layer:
    """One line of the model's `__init__`, and how `forward` calls it."""

    op: str
    inputs: int
    outputs: int
    bias: bool = True  # linear: has a bias; batch norm: has a scale and a shift of its own
    function: bool = False  # relu: called as torch.relu


@dataclass(frozen=True)
class Case:
    """Everything that a case's files are made from, and how its simulation is driven."""

    shape: tuple[int, ...]
    layers: tuple[Layer, ...]
    sequential: bool
    quantize: Table
    hardware: Table
    target: Table
    fuse: bool
    weights: str
    checkpoint: str | None
    samples: int  # 0: no data set
    seed: int  # of weights and samples
    vectors: int
    sim_seed: int

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes' names in the graph, layer by layer."""
        return node_names(self.layers, self.sequential)


def node_names(layers: tuple[Layer, ...], sequential: bool) -> tuple[str, ...]:
    found, functions = [], 0
    for k, layer in enumerate(layers):
        if layer.function and not sequential:
            found.append(f"relu_{functions}" if functions else "relu")
            functions += 1
        else:
            found.append(f"net_{k}" if sequential else f"l{k}")
    return tuple(found)


@st.composite
def cases(draw: Draw) -> Case:
    """Mostly networks that can be built. One in eight asks for what may not be possible: that must be a Problem."""
    wild = draw(st.integers(0, 7)) == 7
    shape = draw(_shapes())
    layers = _layers(draw, prod(shape))
    sequential = draw(st.booleans())
    names = node_names(layers, sequential)
    quantize = _quantize(draw, layers, names, wild)
    fuse = draw(st.booleans()) and (wild or quantize["by"] == "type")  # a batch norm that is gone has no name
    return Case(
        shape,
        layers,
        sequential,
        quantize,
        _hardware(draw, layers, names, quantize, fuse, wild),
        _target(draw, wild),
        fuse,
        draw(st.sampled_from(WEIGHTS)),
        draw(st.sampled_from(CHECKPOINTS)),
        draw(st.sampled_from((0, 3, 24))),
        draw(st.integers(0, 2**16)),
        draw(st.sampled_from((4, 32, 100))),
        draw(st.integers(0, 2**16)),
    )


def _shapes() -> st.SearchStrategy[tuple[int, ...]]:
    sizes = st.one_of(st.integers(1, 4), st.integers(1, 9))
    images = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3))  # are flattened by the model
    return st.one_of(st.tuples(sizes), st.tuples(sizes), images)


def _layers(draw: Draw, features: int) -> tuple[Layer, ...]:
    found: list[Layer] = []
    for op in draw(st.lists(st.sampled_from(OPS), min_size=1, max_size=5)):
        outputs = draw(st.one_of(st.integers(1, 4), st.integers(1, 9))) if op == "linear" else features
        bias = draw(st.booleans()) if op in QUANTIZED else True
        found.append(Layer(op, features, outputs, bias, op == "relu" and draw(st.booleans())))
        features = outputs
    no_layer = not any(layer.op in ("linear", "batch_norm1d", "relu") for layer in found)
    if no_layer or (found[-1].op == "relu" and draw(st.booleans())):  # a ReLU takes its type from what comes next
        found.append(Layer("linear", features, draw(st.integers(1, 4))))
    return tuple(found)


def _type(draw: Draw, wild: bool) -> tuple[int, int, bool]:
    """Width, fractional width, signedness: mostly narrow, often with the point outside."""
    signed = draw(st.sampled_from((True, True, True, False)))
    least = 2 if signed else 1
    widest = 32 if wild else draw(st.sampled_from((4, 8, 8, 12, 18)))
    width = draw(st.integers(least, widest))
    frac = draw(st.integers(-64, 64) if wild else st.one_of(st.integers(0, width), st.integers(-3, width + 3)))
    return width, frac, signed


def _spec(draw: Draw, op: str, rounding: str, wild: bool) -> Table:
    config: Table = {"name": rounding}
    arguments = ["data_in", *(["weight", "bias"] if op in QUANTIZED else [])]
    arguments += ["data_out"] if draw(st.integers(0, 5)) == 5 else []
    for argument in arguments:
        width, frac, signed = _type(draw, wild)
        config |= {f"{argument}_width": width, f"{argument}_frac_width": frac}
        config |= {} if signed else {f"{argument}_signed": False}
    return {"config": config}


def _quantize(draw: Draw, layers: tuple[Layer, ...], names: tuple[str, ...], wild: bool) -> Table:
    """By type, by name, or by patterns; a ReLU is left out where another layer tells its type."""
    by = draw(st.sampled_from(("type", "name", "regex_name")))
    rounding = draw(st.sampled_from(ROUNDINGS))
    mixed = by != "type" and draw(st.booleans())  # each layer by a rule of its own
    table: Table = {"by": by}
    lone = not any(layer.op in QUANTIZED for layer in layers)
    for layer, name in zip(layers, names, strict=True):
        key = layer.op if by == "type" else name
        wanted = layer.op in QUANTIZED or (layer.op == "relu" and (lone or draw(st.integers(0, 3)) == 3))
        if key not in table and wanted:
            rule = draw(st.sampled_from(ROUNDINGS)) if mixed else rounding
            table[key] = _spec(draw, layer.op, rule, wild)
    return table


def _hardware(
    draw: Draw, layers: tuple[Layer, ...], names: tuple[str, ...], quantize: Table, fuse: bool, wild: bool
) -> Table:
    table: Table = {"by": "name"}
    gone = ("identity", "dropout", *(["batch_norm1d"] if fuse and not wild else []))
    for layer, name in zip(layers, names, strict=True):
        often = {"linear": 3, "relu": 4}.get(layer.op, 1)
        given = draw(st.integers(0, often))
        if layer.op not in gone and (given == often if layer.op == "relu" else given):
            spec = quantize.get(layer.op if quantize["by"] == "type" else name, {}).get("config", {})
            table[name] = {"config": _node(draw, layer, int(spec.get("data_in_width", 8)), wild)}
    return table


def _node(draw: Draw, layer: Layer, bits: int, wild: bool) -> Table:
    """The hardware keys of one node, each given or left to the tool."""
    config: Table = {}

    def maybe(key: str, values: st.SearchStrategy[Any]) -> None:
        if draw(st.booleans()):
            config[key] = draw(values)

    if layer.op == "linear":
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
    lanes = [st.integers(1, n) if wild else _divisors(n) for n in (layer.inputs, layer.outputs)]
    maybe("data_in_parallelism", lanes[0])
    if layer.op != "linear" and "data_in_parallelism" in config and not wild:
        lanes[1] = st.just(config["data_in_parallelism"])
    maybe("data_out_parallelism", lanes[1])
    maybe("data_in_fifo_depth", st.integers(0, 5))
    return config


def _divisors(n: int, most: int = 99) -> st.SearchStrategy[int]:
    return st.sampled_from([d for d in range(1, n + 1) if n % d == 0 and d <= most])


def _target(draw: Draw, wild: bool) -> Table:
    table: Table = {}
    if draw(st.integers(0, 2)) == 2:
        table["target_interval"] = draw(st.integers(1, 40) if wild else st.sampled_from((81, 32, 16, 8)))
    if draw(st.integers(0, 2)) == 2:
        table["adders_per_stage"] = draw(st.integers(1, 8))
    if draw(st.integers(0, 5)) == 5:
        table["dsp_budget"] = draw(st.integers(0, 20))
    if wild and draw(st.booleans()):
        table["lut_budget"] = draw(st.integers(0, 3000))
    return table
