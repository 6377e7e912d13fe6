"""What is measured of a candidate, and what Optuna is told of it.

Average bit width: over every layer with weights, and every other node that is quantized, the bits of its input, its
weight and its bias, each weighted by its number of elements (an input's for one sample). What is left in floats counts
32 bits. Memory density is `compare_to` divided by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from torch import Tensor

from mase_hw.config import Config
from mase_hw.config.search import Direction, Metric, SearchConfig
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module
from mase_hw.ir import Design
from mase_hw.modules import QuantizedMixin
from mase_hw.pipeline.hardware import hardware_of

FLOAT_BITS = 32
WEIGHTED_OPS = ("linear", "conv1d", "conv2d", "batch_norm1d", "batch_norm2d")

Number = int | float


@dataclass(frozen=True)
class Measured:
    """Every metric of a candidate, and the seconds that each step took."""

    software: Mapping[str, float]
    hardware: Mapping[str, Number]
    seconds: Mapping[str, float]

    @property
    def all(self) -> dict[str, Number]:
        return {**self.software, **self.hardware}


@dataclass(frozen=True)
class Verdict:
    """The metrics as the study takes them. A bound that is kept is 0 or less."""

    scaled: dict[str, float]
    values: tuple[float, ...]
    bounds: dict[str, float]

    @property
    def value(self) -> float | list[float]:
        return self.values[0] if len(self.values) == 1 else list(self.values)


def judge(measured: Mapping[str, Number], search: SearchConfig) -> Verdict:
    """In a sum, a metric whose direction is the other one counts negatively."""
    scaled = {metric.name: measured[metric.name] * metric.scale for metric in search.objectives}
    if search.direction is None:
        values = tuple(scaled.values())
    else:
        signs = {metric.name: 1 if metric.direction == search.direction else -1 for metric in search.objectives}
        values = (sum(signs[name] * value for name, value in scaled.items()),)
    bounds: dict[str, float] = {}
    for metric in search.metrics:
        bounds |= _bounds(metric, measured[metric.name])
    return Verdict(scaled, values, bounds)


def _bounds(metric: Metric, value: Number) -> dict[str, float]:
    bounds = {}
    if metric.at_least is not None:
        bounds[f"{metric.name}.at_least"] = float(metric.at_least - value)
    if metric.at_most is not None:
        bounds[f"{metric.name}.at_most"] = float(value - metric.at_most)
    return bounds


def directions(search: SearchConfig) -> list[Direction]:
    """Of the study's objectives."""
    return [search.direction] if search.direction else [metric.direction for metric in search.objectives]


def average_bitwidth(graph: MaseGraph) -> Fraction:
    """See the top of this file."""
    bits = elements = 0
    for node in graph.fx_graph.nodes:
        module, op = get_node_module(node), get_mase_op(node)
        quantized = isinstance(module, QuantizedMixin)
        if op not in WEIGHTED_OPS and not quantized:
            continue
        arguments = node.meta["mase"].parameters["common"]["args"]
        counts = {"data_in": math.prod(arguments["data_in_0"]["shape"][1:])}
        for name in ("weight", "bias"):
            tensor = getattr(module, name, None)
            stated = arguments.get(name, {}).get("shape")
            counts[name] = tensor.numel() if isinstance(tensor, Tensor) else math.prod(stated) if stated else 0
        for name, count in counts.items():
            fixed = getattr(module.spec, name) if isinstance(module, QuantizedMixin) else None
            bits += count * (FLOAT_BITS if fixed is None else fixed.width)
            elements += count
    return Fraction(bits, elements) if elements else Fraction(FLOAT_BITS)


def design_of(graph: MaseGraph, config: Config) -> Design:
    """The hardware that `emit` would build; what stands in its way is a Problem."""
    return hardware_of(graph, config.hardware, config.target).design


def hardware_metrics(graph: MaseGraph, config: Config, search: SearchConfig) -> dict[str, Number]:
    """Those of the runners that the TOML names; cycles are exact, LUT sites are predicted."""
    metrics: dict[str, Number] = {}
    if "average_bitwidth" in search.hw_runners:
        average = average_bitwidth(graph)
        metrics["average_bitwidth"] = exact(average)
        metrics["memory_density"] = float(search.compare_to / average)
    if asked := {"latency", "interval", "lut"} & set(search.hw_runners):
        design = design_of(graph, config)
        if asked & {"latency", "interval"}:
            schedule = design.schedule
            cycles: dict[str, Number] = {"latency": schedule.latency, "interval": exact(schedule.interval)}
            metrics |= {name: cycles[name] for name in ("latency", "interval") if name in asked}
        if "lut" in asked:
            metrics["lut"] = design.cost().logic
    return metrics


def exact(value: Fraction) -> Number:
    return int(value) if value.denominator == 1 else float(value)
