"""What a user fixed for a layer, checked against the layer: what does not suit it is a problem, or left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mase_hw.config.hardware import OWN_KEYS, HardwareConfig, HardwareSpec
from mase_hw.diagnostics import Collector
from mase_hw.lowering.layers import MATRIX_OPS, Layer
from mase_hw.lowering.parts import divisors
from mase_hw.lowering.space import Site, candidates, groups


def suited(layer: Layer, config: HardwareConfig, problems: Collector) -> HardwareSpec:
    """The spec of a layer without what cannot be meant for it: a default is for those that it suits."""
    spec = config.for_node(layer.name, layer.op)
    _check_lanes(layer, spec, config, problems)
    meant = config.key_for(layer.name, layer.op) != "default"
    dropped: dict[str, Any] = {}
    for key, (text, hint) in _unsuited(layer, spec).items():
        dropped[key] = HardwareSpec.__dataclass_fields__[key].default
        if meant:
            problems.add(f"hardware.{layer.name}: {text}", config.where(layer.name, layer.op, key), hint, layer.note)
    return replace(spec, **dropped)


def _unsuited(layer: Layer, spec: HardwareSpec) -> dict[str, tuple[str, str]]:
    """Keys that are not for this layer: what is wrong, and how to mend it."""
    wrong: dict[str, tuple[str, str]] = {}
    if layer.op not in MATRIX_OPS:
        for key in ("implementation", *OWN_KEYS):
            value = getattr(spec, key)
            if value not in (None, "auto"):
                text = f"a {layer.op} has one implementation, not {value}"
                if key != "implementation":
                    text = f"a {layer.op} has no {key}"
                wrong[key] = (text, f"delete the line: {key} is for linear layers")
        return wrong
    assert layer.spec.data_in is not None
    bits = layer.spec.data_in.width
    if spec.digit_bits is not None and spec.digit_bits > bits:
        text = f"digit_bits = {spec.digit_bits} is more than its inputs have: {bits}"
        wrong["digit_bits"] = (text, f"allowed: 1 to {bits}; with {bits} all is done in one cycle")
    if spec.output_groups is not None and layer.out_features % spec.output_groups:
        text = f"output_groups = {spec.output_groups} does not divide out_features = {layer.out_features}"
        wrong["output_groups"] = (text, f"allowed: {', '.join(map(str, groups(layer.out_features)))}")
    for key, what, count in (("array_in", "in", layer.in_features), ("array_out", "out", layer.out_features)):
        asked = getattr(spec, key)
        if asked is not None and asked > count:
            wrong[key] = (f"{key} = {asked} is more than {what}_features = {count}", f"allowed: 1 to {count}")
    return wrong


def _check_lanes(layer: Layer, spec: HardwareSpec, config: HardwareConfig, problems: Collector) -> None:
    features = {"data_in_parallelism": ("in_features", layer.in_features)}
    features["data_out_parallelism"] = ("out_features", layer.out_features)
    for key, (what, count) in features.items():
        asked = getattr(spec, key)
        if asked is not None and count % asked:
            below = [d for d in divisors(count) if d < asked][-1:]
            above = [d for d in divisors(count) if d > asked][:1]
            problems.add(
                f"hardware.{layer.name}: {key} = {asked} does not divide {what} = {count}",
                config.where(layer.name, layer.op, key),
                f"divisors near {asked}: {', '.join(str(d) for d in below + above)}",
                layer.note,
            )


def check_reachable(site: Site, spec: HardwareSpec, config: HardwareConfig, target: int, problems: Collector) -> None:
    """What the user fixed for a layer may be too slow for the interval that the user wants."""
    layer = site.layer
    if candidates(site, spec, False, target):
        return
    cycles = min(candidate.interval for candidate in candidates(site, spec, False, thinned=False))
    text, key, hint = _reason(site, spec, cycles, target)
    text = f"hardware.{layer.name}: {text}, target_interval is {target}"
    problems.add(text, config.where(layer.name, layer.op, key), hint, layer.note)


def _reason(site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
    """Why it takes so many cycles: the text, the key that is to blame, and a hint."""
    layer = site.layer
    lanes = (spec.data_in_parallelism or spec.data_out_parallelism or layer.in_features, spec.data_out_parallelism)
    if spec.data_in_fifo_depth == 1 and 2 * (layer.in_features // lanes[0]) > target:
        hint = "set data_in_fifo_depth = 2, which takes every cycle"
        return "a FIFO of one beat takes every second cycle", "data_in_fifo_depth", hint
    keys = [key for key in ("data_in_parallelism", "data_out_parallelism") if getattr(spec, key) is not None]
    for key, features in zip(("data_in_parallelism", "data_out_parallelism"), _features(layer), strict=True):
        asked = getattr(spec, key)
        if asked is not None and features // asked > target:
            hint = f"raise it to {next(d for d in divisors(features) if features // d <= target)} or more, or delete it"
            return f"{key} = {asked} takes {features // asked} cycles for {features} features", key, hint
    if spec.implementation == "serial" or spec.digit_bits is not None or spec.output_groups is not None:
        return _too_slow_digits(site, spec, cycles, target)
    array = [key for key in ("array_in", "array_out") if getattr(spec, key) is not None]
    p_in, p_out = spec.array_in or spec.data_in_parallelism, spec.array_out or spec.data_out_parallelism
    shape = f"{p_in or layer.in_features} x {p_out or layer.out_features}"
    if array:
        hint = "enlarge the array, or delete it and let the tool choose"
        return f"an array of {shape} takes {cycles} cycles", array[0], hint
    hint = "raise the parallelism, or delete it and let the tool choose"
    return f"a parallelism of {shape} takes {cycles} cycles", keys[0], hint


def _too_slow_digits(site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
    shared = spec.output_groups or 1
    bits = spec.digit_bits or site.bits
    text = f"digits of {bits} bits take {cycles} cycles for inputs of {site.bits}"
    if shared > 1:
        text = f"{shared} groups by {cycles // shared} digits of {bits} bits take {cycles} cycles"
    if shared > target:
        return text, "output_groups", f"set output_groups = {target} or fewer, or delete it and let the tool choose"
    need = -(-site.bits // (target // shared))
    return text, "digit_bits", f"set digit_bits = {need} or more, or delete it and let the tool choose"


def _features(layer: Layer) -> tuple[int, int]:
    return layer.in_features, layer.out_features
