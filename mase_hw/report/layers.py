"""The table of layers and the drawing's parts: what a build's manifest says, with what was measured beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.numerics import Fixed
from mase_hw.numerics.saturation import saturation_notes
from mase_hw.report.measured import figures

Manifest = Mapping[str, Any]


def type_text(fixed: Mapping[str, Any] | None) -> str:
    """`8.5`: 8 bits of which 5 are fractional; `u` where it is unsigned."""
    return f"{'' if fixed['signed'] else 'u'}{fixed['width']}.{fixed['frac']}" if fixed else ""


def layers(manifest: Manifest, synthesis: list[dict[str, Any]]) -> dict[str, Any]:
    """A row per node, what stands between nodes, and the total; `measured` by target, where it speaks of this RTL."""
    fresh = {entry["target"]: entry for entry in synthesis if entry["status"] == "measured"}
    components = {entry["name"]: entry for entry in manifest["components"]}
    owned = {name for node in manifest["nodes"] for name in node["components"]}
    between = [entry["cost"] for name, entry in components.items() if name not in owned]
    return {
        "rows": [_row(node, manifest, fresh) for node in manifest["nodes"]],
        "between": {
            "components": [name for name in components if name not in owned],
            "predicted": figures(between),
            "measured": _measured(fresh, [name for name in components if name not in owned]),
        }
        if between
        else None,
        "total": {
            "interval": manifest["interval"],
            "latency": manifest["latency"],
            "predicted": figures([manifest["cost"]]),
            "measured": {target: entry["total"] for target, entry in fresh.items()},
        },
    }


def _row(node: Mapping[str, Any], manifest: Manifest, fresh: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": node["name"],
        "op": node["op"],
        "built": built(node, manifest),
        "lanes": [node["data_in_parallelism"], node["data_out_parallelism"]],
        "types": {key: type_text(node[key]) for key in ("data_in", "weight", "bias", "data_out")},
        "saturated": node.get("saturated"),
        "interval": node["interval"],
        "latency": node["latency"],
        "components": node["components"],
        "source": node["source"],
        "predicted": figures([node["cost"]]),
        "measured": _measured(fresh, node["components"]),
    }


def _measured(fresh: Mapping[str, Any], names: list[str]) -> dict[str, dict[str, int] | None]:
    """By target; None where the components were not kept apart when they were counted."""
    found: dict[str, dict[str, int] | None] = {}
    for target, entry in fresh.items():
        rows = [entry["components"][name] for name in names if name in entry["components"]]
        found[target] = figures([{**row, "lutram": 0} for row in rows]) if len(rows) == len(names) else None
    return found


def built(node: Mapping[str, Any], manifest: Manifest) -> str:
    """The implementation with what belongs to it: `folded 4x8`."""
    name = str(node["implementation"])
    component = next((entry for entry in manifest["components"] if entry["name"] == node["name"]), None)
    if component is None:
        return name
    values = component["values"]
    if name == "folded":
        return f"folded {values['p_in']}x{values['p_out']}{' DSP' if values['use_dsp'] else ''}"
    if name == "serial":
        stream = next(entry for entry in manifest["streams"] if entry["name"] == component["outputs"][0])
        groups = stream["features"] // stream["lanes"]
        return f"serial {values['digit_bits']}" + (f" x{groups}" if groups > 1 else "")
    return name


def saturated(manifest: Manifest) -> list[str]:
    """A line for each layer's parameters that saturate in their type, in the words of `emit`."""
    lines: list[str] = []
    for node in manifest["nodes"]:
        if "saturated" in node:
            types = {key: Fixed(**node[key]) for key in ("weight", "bias") if node[key]}
            lines += saturation_notes(node["name"], node["op"], types, node["saturated"])
    return lines


def flow(manifest: Manifest) -> dict[str, Any]:
    """Components and the streams that they read and write, in order, as the drawing shows them."""
    nodes = {name: node for node in manifest["nodes"] for name in node["components"]}
    merged = _merged(manifest)
    components = []
    for entry in manifest["components"]:
        node = nodes.get(entry["name"])
        main = node is not None and node["name"] == entry["name"]
        components.append(
            {
                "name": entry["name"],
                "kind": entry["kind"],
                "inputs": list(entry["inputs"]),
                "outputs": list(entry["outputs"]),
                "node": node["name"] if node else None,
                "label": " + ".join([node["op"], *merged.get(node["name"], [])]) if node and main else entry["kind"],
                "built": built(node, manifest) if node and main else "",
                "implementation": _style(node, entry, main=main),
                "interval": entry["interval"],
                "latency": entry["latency"],
                "predicted": figures([entry["cost"]]),
            }
        )
    streams = [
        {
            "name": entry["name"],
            "type": type_text(entry),
            "lanes": entry["lanes"],
            "features": entry["features"],
            "beats": entry["features"] // entry["lanes"],
            "bits": entry["lanes"] * entry["width"],
        }
        for entry in manifest["streams"]
    ]
    return {"components": components, "streams": streams}


def _style(node: Mapping[str, Any] | None, component: Mapping[str, Any], *, main: bool) -> str:
    """How a component is drawn. A cast computes, element by element; what else is no layer's own moves beats."""
    if node and main:
        return str(node["implementation"])
    return "stream" if component["kind"] == "cast" else "plumbing"


def _merged(manifest: Manifest) -> dict[str, list[str]]:
    """The operators of merged nodes, by the node whose component does their work."""
    found: dict[str, list[str]] = {}
    last = None
    for node in manifest["nodes"]:
        if node["components"]:
            last = node["name"]
        elif last is not None and node["implementation"] == "merged":
            found.setdefault(last, []).append(node["op"])
    return found
