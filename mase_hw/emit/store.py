"""A design as plain values and arrays, and back: so that a build can be simulated and checked without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from mase_hw.geometry import Geometry
from mase_hw.ir import BuiltNode, Component, Design, Stream
from mase_hw.ir import branches as _branches  # noqa: F401  (its components register themselves)
from mase_hw.ir import plumbing as _plumbing  # noqa: F401
from mase_hw.ir.finish import Finish
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import window as _window  # noqa: F401
from mase_hw.ops.operator import load_operators

_LARGEST = 1 << MAX_ACCUMULATOR_BITS  # what software and hardware can agree on
_INTEGERS = tuple(np.dtype(kind) for kind in (np.int8, np.int16, np.int32, np.int64))  # as they are stored
_BASE = ("name", "inputs", "outputs")
_KEYS = {"finish": "step"}  # what other programs read in a manifest keeps its name


def save_design(design: Design) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
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
    written = {stream.name: stream.frame for stream in design.streams}
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
        if any(x.frame != written[x.name] for x in component.inputs):  # beats read as vectors of another frame
            entry["input_frames"] = [list(x.frame) for x in component.inputs]
        for name, value in _own(component).items():
            if value is None:
                continue
            if isinstance(value, np.ndarray):
                arrays[f"component.{component.name}.{name}"] = value
            else:
                entry["values"][_KEYS.get(name, name)] = _plain(value)
        components.append(entry)
    return {"streams": streams, "components": components}, {name: _narrow(array) for name, array in arrays.items()}


def load_design(manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Design:
    """The design that `save_design` saved."""
    load_operators()  # their components register themselves
    for name, array in arrays.items():
        if array.dtype not in _INTEGERS:
            raise ValueError(f"{name} has numbers of {array.dtype}, not signed integers")
        if array.size and not -_LARGEST <= int(array.min()) <= int(array.max()) <= _LARGEST:
            raise ValueError(f"{name} has numbers beyond {MAX_ACCUMULATOR_BITS} bits")
    arrays = {name: array.astype(np.int64) for name, array in arrays.items()}
    streams = {}
    for entry in manifest["streams"]:
        bounds = arrays[f"stream.{entry['name']}"]
        if bounds.shape != (3, entry["features"]) or not _steps(bounds[2]):
            raise ValueError(f"the bounds of {entry['name']} are none of its features")
        lo, hi, step = (tuple(row) for row in bounds.tolist())
        fixed = Fixed(entry["width"], entry["frac"], entry["signed"])
        frame = tuple(entry["frame"])
        sizes = entry["features"], entry["lanes"]
        streams[entry["name"]] = Stream(entry["name"], *sizes, fixed, lo, hi, frame, step)
    components = tuple(_component(entry, streams, arrays) for entry in manifest["components"])
    nodes = tuple(_node(entry) for entry in manifest["nodes"])
    design = Design(manifest["top"], components, nodes)
    design.verify()
    return design


def _component(entry: Mapping[str, Any], streams: Mapping[str, Stream], arrays: Mapping[str, Integers]) -> Component:
    kind: Callable[..., Component] = Component.kinds[entry["kind"]]
    values = dict(entry["values"])
    prefix = f"component.{entry['name']}."
    ends = [tuple(streams[name] for name in entry[side]) for side in ("inputs", "outputs")]
    try:
        if _KEYS["finish"] in values:
            values["finish"] = _finish(values.pop(_KEYS["finish"]))
        if "geometry" in values:
            values["geometry"] = _geometry(values["geometry"])
        values |= {key.removeprefix(prefix): value for key, value in arrays.items() if key.startswith(prefix)}
        if "input_frames" in entry:
            ends[0] = tuple(x.viewed(tuple(frame)) for x, frame in zip(ends[0], entry["input_frames"], strict=True))
        return kind(entry["name"], *ends, **values)
    except (TypeError, KeyError) as error:
        raise ValueError(f"the values of {entry['name']} are not those of a component {entry['kind']}") from error


def _narrow(array: Integers) -> np.ndarray:
    """The same numbers in the narrowest type that holds them all: weights are millions, and have few bits."""
    ends = (int(array.min()), int(array.max())) if array.size else (0, 0)
    reaches = ((kind, 1 << (8 * kind.itemsize - 1)) for kind in _INTEGERS)
    return array.astype(next(kind for kind, reach in reaches if -reach <= ends[0] and ends[1] < reach))


def _steps(steps: Integers) -> bool:
    return bool((steps >= 0).all() and (steps < 64).all())


def _own(component: Component) -> dict[str, Any]:
    return {field.name: getattr(component, field.name) for field in fields(component) if field.name not in _BASE}


def _plain(value: Any) -> Any:
    if isinstance(value, Finish):
        return {key: each for key, each in asdict(value).items() if key != "divisor" or each > 1}
    return asdict(value) if isinstance(value, Geometry) else value


def _geometry(value: Mapping[str, Any]) -> Geometry:
    frame, kernel, stride, dilation = (tuple(value[key]) for key in ("frame", "kernel", "stride", "dilation"))
    return Geometry(frame, kernel, stride, tuple((before, after) for before, after in value["padding"]), dilation)


def _finish(value: Mapping[str, Any]) -> Finish:
    fixed, rounding = Fixed(**value["fixed"]), Rounding(value["rounding"])
    return Finish(**{**value, "fixed": fixed, "rounding": rounding})


def _node(entry: Mapping[str, Any]) -> BuiltNode:
    values = {field.name: entry[field.name] for field in fields(BuiltNode)}
    for name in ("data_in", "weight", "bias", "data_out"):
        values[name] = Fixed(**values[name]) if values[name] else None
    return BuiltNode(**{**values, "components": tuple(values["components"])})
