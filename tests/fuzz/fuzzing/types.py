"""Random types for the layers of a random network: by type, by name or by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from fuzzing.nets import JOINS, QUANTIZED, REMOVED, Draw, Layer, Net

Table = dict[str, Any]
ROUNDINGS = ("integer", "integer_floor")
HAND_ON = (
    "relu",
    "cat",
    "max_pool1d",
    "max_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "upsample",
    "zero_pad",
    *REMOVED,
)  # left unquantized, they hand the type that their readers want to what they read


def draw_types(draw: Draw, net: Net, names: tuple[str, ...], wild: bool) -> Table:
    """[passes.quantize]. A ReLU, a join or a product is left out where another layer tells the type."""
    by = draw(st.sampled_from(("type", "name", "regex_name")))
    rounding = draw(st.sampled_from(ROUNDINGS))
    mixed = by != "type" and draw(st.booleans())  # each layer by a rule of its own
    keys = keys_of(net, names, by)
    wanted = {key for layer, key in zip(net.layers, keys, strict=True) if _chosen(draw, layer)}
    if not wild:
        wanted |= _needed(net, keys, wanted)
    table: Table = {"by": by}
    for layer, key in zip(net.layers, keys, strict=True):
        if key in wanted and key not in table and layer.op not in REMOVED:
            rule = draw(st.sampled_from(ROUNDINGS)) if mixed else rounding
            table[key] = _spec(draw, layer.op, rule, wild)
    if not wild:
        _agree(net, keys, table)
    return table


def keys_of(net: Net, names: tuple[str, ...], by: str) -> list[str]:
    """The key of each layer's entry."""
    return [layer.op if by == "type" else name for layer, name in zip(net.layers, names, strict=True)]


def _chosen(draw: Draw, layer: Layer) -> bool:
    if layer.op in QUANTIZED:
        return True
    return layer.op not in REMOVED and draw(st.integers(0, 3)) >= (2 if layer.op in (*JOINS, "mul") else 3)


def _needed(net: Net, keys: list[str], wanted: set[str]) -> set[str]:
    """What has to have a type for an input to have one, beside what is wanted."""
    needed: set[str] = set()

    def visit(result: int) -> None:
        for k in net.readers(result):
            layer = net.layers[k]
            if keys[k] in wanted | needed:
                continue
            if layer.op in REMOVED or (layer.op in HAND_ON and net.result(k) not in net.outputs):
                visit(net.result(k))
            else:
                needed.add(keys[k])

    for _ in range(2):  # a key of a type that was needed in one place holds in others
        for x in range(len(net.shapes)):
            visit(x)
    return needed


def _agree(net: Net, keys: list[str], table: Table) -> None:
    """All that quantize one input have its binary point and rounding, so that the input has one type."""
    groups: list[set[str]] = []
    for x in range(len(net.shapes)):
        group = quantizers(net, keys, table, x)
        for other in [other for other in groups if other & group]:
            groups.remove(other)
            group |= other
        groups.append(group)
    for group in filter(None, groups):  # an input without a type is refused
        first, *others = (table[key]["config"] for key in sorted(group))
        for config in others:
            config["name"], config["data_in_frac_width"] = first["name"], first["data_in_frac_width"]


def quantizers(net: Net, keys: Sequence[str], table: Table, result: int) -> set[str]:
    """The entries that quantize a result: those of its readers, and of theirs where they hand a type on."""
    found: set[str] = set()
    for k in net.readers(result):
        found |= {keys[k]} if keys[k] in table else quantizers(net, keys, table, net.result(k))
    return found


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
    arguments += ["weight"] if op == "mul" and draw(st.booleans()) else []
    arguments += ["data_out"] if op != "cat" and draw(st.integers(0, 5)) == 5 else []
    for argument in arguments:
        width, frac, signed = _type(draw, wild)
        config |= {f"{argument}_width": width, f"{argument}_frac_width": frac}
        config |= {} if signed else {f"{argument}_signed": False}
    return {"config": config}
