"""[passes.quantize]: which quantizer and which fixed-point types the nodes get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mase_hw.config.entries import PerNode, parse_entries
from mase_hw.config.places import Places
from mase_hw.config.table import Table, nearest, shown
from mase_hw.diagnostics import Collector
from mase_hw.numerics import MAX_FRAC, MAX_WIDTH, Fixed, Rounding

ARGUMENTS = ("data_in", "weight", "bias", "data_out")
UNQUANTIZED = ("NA", "null")


@dataclass(frozen=True)
class QuantSpec:
    """A node's quantization. `rounding` None: the node is not quantized."""

    rounding: Rounding | None = None
    data_in: Fixed | None = None
    weight: Fixed | None = None
    bias: Fixed | None = None
    data_out: Fixed | None = None

    @property
    def quantized(self) -> bool:
        return self.rounding is not None


@dataclass(frozen=True)
class QuantizeConfig(PerNode[QuantSpec]):
    """The whole of [passes.quantize]; `for_node(name, op)` is what the pass asks."""


def parse_quantize(
    mapping: Mapping[str, Any],
    problems: Collector,
    places: Places | None = None,
    subject: str = "passes.quantize",
    *,
    partial: bool = False,
) -> QuantizeConfig:
    """Reads the shape that TOMLs and `quantize_transform_pass` share; without `default`: not quantized.

    `partial`: an entry may leave out the type of data_in, because the model's file says it.
    """
    by, default, entries = parse_entries(mapping, problems, places, subject, lambda table: _spec(table, partial))
    return QuantizeConfig(by, default or QuantSpec(), entries, subject, places)


def _spec(config: Table, partial: bool) -> QuantSpec:
    known = ["name"]
    for argument in ARGUMENTS:
        known += [f"{argument}_width", f"{argument}_frac_width", f"{argument}_signed"]
    config.only(known)
    types = {argument: _fixed(config, argument) for argument in ARGUMENTS}
    rounding = _rounding(config)
    if rounding is None:
        return QuantSpec()
    given = any(key in config.values for key in ("data_in_width", "data_in_frac_width", "data_in_signed"))
    if not given and not partial:
        config.problem(
            f"name = {shown(rounding.value)} needs the type of data_in",
            "name",
            hint="add data_in_width and data_in_frac_width",
        )
    return QuantSpec(rounding, **types)


def _rounding(config: Table) -> Rounding | None:
    names = [rule.value for rule in Rounding] + list(UNQUANTIZED)
    if "name" not in config.values:
        config.problem("the quantizer's name is missing", hint=f"add name = one of {', '.join(names)}")
        return None
    name = config.values["name"]
    if name is None or name in UNQUANTIZED:
        return None
    if not isinstance(name, str):
        config.problem(f"name = {shown(name)} is not a string", "name", hint=f"allowed: {', '.join(names)}")
        return None
    if name not in names:
        config.problem(f"name = {shown(name)} is no quantizer", "name", hint=nearest(name, names, "quantizers"))
        return None
    return Rounding(name)


def _fixed(config: Table, argument: str) -> Fixed | None:
    """The argument's type; None when it is not given, or when it is wrong and so reported."""
    width_key, frac_key, signed_key = f"{argument}_width", f"{argument}_frac_width", f"{argument}_signed"
    signed = config.boolean(signed_key, True)
    given = [key for key in (width_key, frac_key, signed_key) if key in config.values]
    for key in (width_key, frac_key):
        if given and key not in config.values:
            config.problem(f"{given[0]} is given without {key}", given[0], hint=f"add {key}")
    width = config.integer(width_key, None, 2 if signed else 1, MAX_WIDTH)
    frac = config.integer(frac_key, None, -MAX_FRAC, MAX_FRAC)
    return None if width is None or frac is None else Fixed(width, frac, signed)
