"""What a graph of layers needs of [passes.quantize]: which layers lack a table, and which inputs lack a type."""

from __future__ import annotations

import re

from mase_hw.config.quantize import QuantizeConfig
from mase_hw.diagnostics import Collector
from mase_hw.layers import Layer, LayerGraph, ModelInput
from mase_hw.ops.operator import operator_of


def check_typed(found: LayerGraph, quantize: QuantizeConfig | None, problems: Collector) -> None:
    """Every input of the model has a type: that of the quantized layers that read it."""
    layers = found.layers
    if all(layer.spec.rounding is None for layer in layers):
        problems.add(
            "no layer is quantized, so the input has no type",
            quantize.places.of("passes", "quantize") if quantize and quantize.places else None,
            _lines_to_add(layers[0].op, layers[0].name, quantize),
        )
        return
    for x in found.inputs:
        _check_input(x, found, quantize, problems)


def _check_input(x: ModelInput, found: LayerGraph, quantize: QuantizeConfig | None, problems: Collector) -> None:
    typed: dict[tuple[object, object], Layer] = {}
    names, done = [x.name], set()
    while names:
        name = names.pop(0)
        if name in done:
            continue
        done.add(name)
        if name in found.outputs:
            what = f"its input {name}" if name == x.name else f"{name}, which no quantized layer computes"
            place = None if name == x.name else found.by_name[name].place
            problems.add(f"the model returns {what}", place, "return the result of a quantized layer")
        for layer, _ in found.readers[name]:
            if layer.spec.rounding is not None:
                typed.setdefault((layer.spec.data_in, layer.spec.rounding), layer)
            elif operator_of(layer.op).hands_on:  # they hand their reader's type on
                names.append(layer.name)
            else:
                text = f"{layer.name}: {layer.op} reads the input {x.name} unquantized, so {x.name} has no type"
                where = quantize.where(layer.name, layer.op) if quantize else None
                problems.add(text, where, _lines_to_add(layer.op, layer.name, quantize), layer.note)
    if (
        len({(spec.data_in.frac, spec.rounding) for spec in (layer.spec for layer in typed.values()) if spec.data_in})
        > 1
    ):
        told = [f"{layer.name} reads {fixed}, rounded by {rule}" for (fixed, rule), layer in typed.items()]
        text = f"the input {x.name} is read in {len(typed)} different types"
        last = list(typed.values())[-1]
        where = quantize.where(last.name, last.op) if quantize else None
        problems.add(
            text, where, "give its readers the same data_in, or one binary point and one rounding", tuple(told)
        )


def report_unquantized(layers: list[Layer], quantize: QuantizeConfig | None, problems: Collector) -> None:
    """One problem for each table that is missing: a TOML takes its lines once, however many layers they rule."""
    by_key: dict[str, list[Layer]] = {}
    for layer in layers:
        by_key.setdefault(_key(layer.op, layer.name, quantize), []).append(layer)
    for alike in by_key.values():
        first, names = alike[0], ", ".join(layer.name for layer in alike)
        problems.add(
            f"{names}: {first.called} is not quantized",
            quantize.where(first.name, first.op) if quantize else None,
            _lines_to_add(first.op, first.name, quantize),
            tuple(note for layer in alike for note in layer.note),
        )


def _key(op: str, name: str, quantize: QuantizeConfig | None) -> str:
    """The table of [passes.quantize] that rules a node, or would."""
    if quantize is None:
        return op
    ruling = quantize.key_for(name, op)
    return ruling if ruling != "default" else op if quantize.by == "type" else name


def _lines_to_add(op: str, name: str, quantize: QuantizeConfig | None) -> str:
    """The TOML that quantizes a node."""
    key = _key(op, name, quantize)
    verb = "change this table to" if quantize is not None and key in quantize.entries else "add"
    quoted = key if re.fullmatch(r"[\w-]+", key, re.ASCII) else f"'{key}'"
    lines = [f"{verb}, with widths of your choice:\n[passes.quantize.{quoted}.config]", 'name = "integer"']
    for argument in operator_of(op).arguments:
        lines += [f"{argument}_width = 8", f"{argument}_frac_width = 4"]
    return "\n".join(lines)
