"""A design as plain values and arrays, and back: so that a build can be simulated and checked without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from mase_hw.ir import BuiltNode, Component, Design, Stream
from mase_hw.ir import branches as _branches  # noqa: F401  (its components register themselves)
from mase_hw.ir import plumbing as _plumbing  # noqa: F401
from mase_hw.ir.finish import Finish
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.operator import load_operators

_BASE = ("name", "inputs", "outputs")
_KEYS = {"finish": "step"}  # what other programs read in a manifest keeps its name


def save_design(design: Design) -> tuple[dict[str, Any], dict[str, Integers]]:
    """What the manifest says of the design, and the arrays that go beside it."""
    arrays: dict[str, Integers] = {}
    streams = []
    for stream in design.streams:
        streams.append(
            {
                "name": stream.name,
                "frame": list(stream.frame),
                "features": stream.features,
                "lanes": stream.lanes,
                **asdict(stream.fixed),
            }
        )
        arrays[f"stream.{stream.name}"] = np.array([stream.lo, stream.hi, stream.step], np.int64)
    components = []
    for component in design.components:
        entry: dict[str, Any] = {
            "name": component.name,
            "kind": component.kind,
            "inputs": [stream.name for stream in component.inputs],
            "outputs": [stream.name for stream in component.outputs],
            "interval": component.interval,
            "latency": component.latency,
            "cost": asdict(component.cost()),
            "values": {},
        }
        for name, value in _own(component).items():
            if value is None:
                continue
            if isinstance(value, np.ndarray):
                arrays[f"component.{component.name}.{name}"] = value
            else:
                entry["values"][_KEYS.get(name, name)] = asdict(value) if isinstance(value, Finish) else value
        components.append(entry)
    return {"streams": streams, "components": components}, arrays


def load_design(manifest: Mapping[str, Any], arrays: Mapping[str, Integers]) -> Design:
    """The design that `save_design` saved."""
    load_operators()  # their components register themselves
    streams = {}
    for entry in manifest["streams"]:
        lo, hi, step = (tuple(row) for row in arrays[f"stream.{entry['name']}"].tolist())
        fixed = Fixed(entry["width"], entry["frac"], entry["signed"])
        frame = tuple(entry["frame"])
        sizes = entry["features"], entry["lanes"]
        streams[entry["name"]] = Stream(entry["name"], *sizes, fixed, lo, hi, frame, step)
    components = []
    for entry in manifest["components"]:
        kind: Callable[..., Component] = Component.kinds[entry["kind"]]
        values = dict(entry["values"])
        if _KEYS["finish"] in values:
            values["finish"] = _finish(values.pop(_KEYS["finish"]))
        prefix = f"component.{entry['name']}."
        values |= {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
        ends = [tuple(streams[name] for name in entry[side]) for side in ("inputs", "outputs")]
        components.append(kind(entry["name"], *ends, **values))
    nodes = tuple(_node(entry) for entry in manifest["nodes"])
    design = Design(manifest["top"], tuple(components), nodes)
    design.verify()
    return design


def _own(component: Component) -> dict[str, Any]:
    return {field.name: getattr(component, field.name) for field in fields(component) if field.name not in _BASE}


def _finish(value: Mapping[str, Any]) -> Finish:
    fixed, rounding = Fixed(**value["fixed"]), Rounding(value["rounding"])
    return Finish(**{**value, "fixed": fixed, "rounding": rounding})


def _node(entry: Mapping[str, Any]) -> BuiltNode:
    values = {field.name: entry[field.name] for field in fields(BuiltNode)}
    for name in ("data_in", "weight", "bias", "data_out"):
        values[name] = Fixed(**values[name]) if values[name] else None
    return BuiltNode(**{**values, "components": tuple(values["components"])})
