"""What a user fixed for a layer, checked against the layer: what does not suit it is a problem, or left out."""

from __future__ import annotations

from dataclasses import replace
from math import gcd, prod
from typing import Any

from mase_hw.config.hardware import HardwareConfig, HardwareSpec
from mase_hw.diagnostics import Collector
from mase_hw.layers import Layer, LayerGraph
from mase_hw.lowering.space import candidates
from mase_hw.ops.operator import Site, Wish, divisors, operator_of


def suited(layer: Layer, graph: LayerGraph, config: HardwareConfig, problems: Collector) -> HardwareSpec:
    """The spec of a layer without what cannot be meant for it: a default is for those that it suits."""
    spec = config.for_node(layer.name, layer.op)
    _check_lanes(layer, graph, spec, config, problems)
    meant = config.key_for(layer.name, layer.op) != "default"
    dropped: dict[str, Any] = {}
    for key, (text, hint) in operator_of(layer.op).unsuited(layer, spec).items():
        dropped[key] = HardwareSpec.__dataclass_fields__[key].default
        if meant:
            where = config.where(layer.name, layer.op, key)
            problems.add(f"hardware.{layer.name}: {text}", where, hint, layer.note)
    return replace(spec, **dropped)


def _check_lanes(
    layer: Layer, graph: LayerGraph, spec: HardwareSpec, config: HardwareConfig, problems: Collector
) -> None:
    parts = graph.features_read(layer)
    if len(parts) > 1 and spec.data_in_parallelism == sum(parts):
        parts = []  # a concatenation of whole vectors
    unfit = [count for count in parts if spec.data_in_parallelism and count % spec.data_in_parallelism]
    sizes = [("data_in_parallelism", "in_features", count) for count in unfit[:1]]
    for key, what, count in (*sizes, ("data_out_parallelism", "out_features", layer.out_features)):
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
    if candidates(site, spec, Wish(target)):
        return
    cycles = min(candidate.interval for candidate in candidates(site, spec, Wish(thinned=False)))
    text, key, hint = _reason(site, spec, cycles, target)
    text = f"hardware.{layer.name}: {text}, target_interval is {target}"
    problems.add(text, config.where(layer.name, layer.op, key), hint, layer.note)


def _reason(site: Site, spec: HardwareSpec, cycles: int, target: int) -> tuple[str, str, str]:
    """Why it takes so many cycles: the text, the key that is to blame, and a hint."""
    layer = site.layer
    features = max(site.features)
    positions = max(prod(layer.frame), prod(layer.out_frame))
    if positions > target:
        hint = f"raise target_interval to {positions} or more"
        return f"its {positions} positions take a cycle each", "target_interval", hint
    lanes = spec.data_in_parallelism or spec.data_out_parallelism or features
    alone = len(site.features) == 1  # in front of a join, the depth is a limit and may be computed to be less
    if alone and spec.data_in_fifo_depth == 1 and 2 * (features // lanes) * prod(layer.frame) > target:
        hint = "set data_in_fifo_depth = 2, which takes every cycle"
        return "a FIFO of one beat takes every second cycle", "data_in_fifo_depth", hint
    into = features if alone else layer.out_features  # the parts of a concatenation come in turn
    fitting = {*divisors(gcd(*site.features)), into}  # all of a concatenation in one beat is another way
    sizes = {
        "data_in_parallelism": (into, sorted(fitting), prod(layer.frame)),
        "data_out_parallelism": (layer.out_features, divisors(layer.out_features), prod(layer.out_frame)),
    }
    for key, (count, allowed, vectors) in sizes.items():
        asked = getattr(spec, key)
        if asked is not None and count // asked * vectors > target:
            fast = [d for d in allowed if count // d * vectors <= target]
            hint = f"raise it to {fast[0]} or more, or delete it" if fast else f"raise target_interval to {vectors}"
            what = f"{count} features" if vectors == 1 else f"{vectors} x {count} features"
            return f"{key} = {asked} takes {count // asked * vectors} cycles for {what}", key, hint
    return operator_of(layer.op).too_slow(site, spec, cycles, target)
