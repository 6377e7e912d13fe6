"""What a manifest may say: a shape for every key that some command reads. Anything else in its place is a Problem.

Names of modules, components and streams go into file names and into commands of tools: they are identifiers. Numbers
that memory is taken for have limits, and no text holds what would steer a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from math import prod
from pathlib import Path
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.emit.shapes import (
    COUNT,
    Shape,
    anything,
    boolean,
    factor,
    integer,
    list_of,
    match,
    number,
    one_of,
    one_or_several,
    or_null,
    ratio,
    real,
    record,
    short,
    table,
    text,
)
from mase_hw.numerics.crossing import Mode

SCHEMA = 2
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
RTL_FILE = re.compile(r"rtl/[A-Za-z_][A-Za-z0-9_]{0,199}\.(sv|v)")
_WORD = re.compile(r"[A-Za-z0-9_.]{1,200}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TEXT = 1 << 20  # characters, of any text
_FILES = 10_000
_BITS = 64  # of a number in a stream
_FRAC = 500
_ELEMENTS = 1 << 24  # of a sample
_NUMBER = 1 << 62
_SMALL = 1 << 31  # a parameter of a component
_CODES = 1 << 16  # an integer of a port with a scale
_SHIFTS = ("shift", "shifts", "bits")  # ends of names of parameters that are numbers of bits

_NEEDED = (
    *("top", "files", "parameters", "inputs", "outputs", "nodes", "streams", "components"),
    *("clock", "reset", "interval", "latency", "cost", "config", "tools"),
)
_SAID = ("project", "model", "dataset")  # of the configuration, what is printed


def check_manifest(manifest: Mapping[str, Any], file: Path, hint: str) -> None:
    """Every key that is missing as a Problem; else the first value that is not of its shape."""
    with Collector() as problems:
        for key in _NEEDED:
            if key not in manifest:
                problems.add(f"{file} has no {key}", hint=hint)
    for complaint in _complaints(manifest):
        raise ProblemsError(Problem(f"{file} is damaged: {complaint}", hint=hint))


def expect_name(text: object) -> str:
    """A name that may go into a command of a tool. Whoever calls a tool asks here too."""
    if not isinstance(text, str) or not NAME.fullmatch(text):
        raise ProblemsError(Problem(f"{short(text)} is no name of a module: letters, digits and underscores"))
    return text


def file_names(files: Sequence[Path]) -> list[str]:
    """The last parts of RTL files' names, each another one, which may go into a command of a tool."""
    names = [file.name for file in files]
    strange = [name for name in names if not RTL_FILE.fullmatch(f"rtl/{name}")]
    if strange:
        raise ProblemsError(Problem(f"{short(strange[0])} is no name of an RTL file: module.sv or module.v"))
    assert len(set(names)) == len(names), f"two source files with one name: {sorted(names)}"
    return names


def _complaints(manifest: Mapping[str, Any]) -> Iterator[str]:
    for key, shape in _SHAPES.items():
        if key in manifest:
            yield from (f"{key}{complaint}" for complaint in shape(manifest[key]))
    config = {key: value for key, value in manifest["config"].items() if key in _SAID}
    yield from _texts({**manifest, "config": config})
    names = [entry["path"] for entry in manifest["files"]]
    if len({name.lower() for name in names}) < len(names):
        yield "files: two of one name"


def _texts(value: Any) -> Iterator[str]:
    """Keys too; the nesting was limited when it was read."""
    if isinstance(value, str):
        if len(value) > _TEXT:
            yield f"a text of {len(value):,} characters"
        elif _CONTROL.search(value):
            yield f"the text {short(value)} holds control characters"
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _texts(key)
            yield from _texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)


def _sample(value: Any) -> Iterator[str]:
    """A stream, whose sample has no more elements than memory is there for."""
    yield from _STREAM(value)
    if isinstance(value, dict) and not any(_STREAM(value)):
        elements = value["features"] * prod(value["frame"])
        if elements > _ELEMENTS:
            yield f" has samples of {elements:,} elements; {_ELEMENTS:,} are the most"


def _saturated(value: Any) -> Iterator[str]:
    """Of a node: counts of the arguments that `of` has, and the types that would hold them."""
    yield from record({"of": _ARGUMENTS, "frac_width": table(integer(-_FRAC, _FRAC))})(value)
    if isinstance(value, dict) and isinstance(value.get("of"), dict):
        yield from record(dict.fromkeys(value["of"], _COUNTED))(value)  # a count for each argument


def _values(value: Any) -> Iterator[str]:
    """The parameters of a component. Those that something is shifted by are short."""
    yield from table(_value)(value)
    if isinstance(value, dict):
        for key in (key for key in value if key.endswith(_SHIFTS)):
            for bits in value[key] if isinstance(value[key], list) else [value[key]]:
                yield from (f".{key}{complaint}" for complaint in integer(-_FRAC, _FRAC)(bits))


def _value(value: Any) -> Iterator[str]:
    """A parameter of a component: a number, a word, or numbers."""
    if isinstance(value, bool | str):
        return
    if isinstance(value, list):
        yield from list_of(_value)(value)
    elif isinstance(value, dict):
        yield from (_GEOMETRY if "kernel" in value else _FINISH)(value)
    else:
        yield from integer(-_SMALL, _SMALL)(value)


_COUNTED = integer(0, COUNT)
_SIZE = integer(1, _ELEMENTS)
_COST = record({key.name: number for key in fields(Cost)}, closed=True)
_FIXED_SHAPES: dict[str, Shape] = {"width": integer(1, _BITS), "frac": integer(-_FRAC, _FRAC), "signed": boolean}
_FIXED = record(_FIXED_SHAPES)
_ROUNDING = one_of("integer", "integer_floor")
_FINISH = record(
    {
        "frac": integer(-_FRAC, _FRAC),
        "lo": integer(-_NUMBER, _NUMBER),
        "hi": integer(-_NUMBER, _NUMBER),
        "fixed": _FIXED,
        "rounding": _ROUNDING,
        "rectify": boolean,
    },
    {"divisor": integer(1, _ELEMENTS)},
)
_GEOMETRY = record(
    {
        **dict.fromkeys(("frame", "kernel", "stride", "dilation"), list_of(_SIZE, 1, 2)),
        "padding": list_of(list_of(integer(0, _ELEMENTS), 2, 2), 1, 2),
    }
)
_IDENTIFIER = match(NAME, "identifier")
_STREAM_SHAPES: dict[str, Shape] = {
    "name": _IDENTIFIER,
    "frame": list_of(_SIZE, 0, 8),
    "features": _SIZE,
    "lanes": _SIZE,
}
_STREAM = record({**_STREAM_SHAPES, **_FIXED_SHAPES})
_REAL_OR_SEVERAL = one_or_several(real, _ELEMENTS)
_PORT = record(
    {**_STREAM_SHAPES, **_FIXED_SHAPES, "beats": _COUNTED},
    {"scale": _REAL_OR_SEVERAL, "zero_point": _REAL_OR_SEVERAL},
)
_CODE = integer(-_CODES, _CODES)
_SCALES = record(
    {
        "scale": ratio(positive=True),
        "shift": ratio(positive=False),
        "zero_point": _CODE,
        "lo": _CODE,
        "hi": _CODE,
        "mode": one_of(*(mode.value for mode in Mode)),
    },
    closed=True,
)
_AFFINE = record({"scale": list_of(factor, 1, _ELEMENTS), "offset": list_of(real, 1, _ELEMENTS)}, closed=True)
_NAMES = list_of(_IDENTIFIER)
_HASHED = record({"name": text, "sha256": match(_SHA256, "SHA-256")})
_ORDER = list_of(or_null(list_of(integer(0, _ELEMENTS), 0, _ELEMENTS)), 1)
_ARGUMENTS = table(_COUNTED)
_TOTALS: dict[str, Shape] = {"weight": _COUNTED, "bias": _COUNTED, "of": _ARGUMENTS}
_NODE = record(
    {
        "name": match(_WORD, "name of a node"),
        "op": match(_WORD, "operator"),
        "implementation": match(_WORD, "implementation"),
        "data_in_parallelism": _COUNTED,
        "data_out_parallelism": _COUNTED,
        "data_in": _FIXED,
        "weight": or_null(_FIXED),
        "bias": or_null(_FIXED),
        "data_out": _FIXED,
        "components": _NAMES,
        "source": or_null(text),
        "interval": _COUNTED,
        "latency": _COUNTED,
        "cost": _COST,
    },
    {"saturated": _saturated},
)
_COMPONENT = record(
    {
        "name": _IDENTIFIER,
        "kind": _IDENTIFIER,
        "inputs": list_of(_IDENTIFIER, 1),
        "outputs": list_of(_IDENTIFIER, 1),
        "interval": _COUNTED,
        "latency": _COUNTED,
        "cost": _COST,
        "values": _values,
    },
    {"input_frames": list_of(list_of(_SIZE, 0, 8), 1)},
)
_SHAPES: dict[str, Shape] = {
    "top": _IDENTIFIER,
    "clock": one_of("clk"),
    "reset": one_of("rst"),
    "files": list_of(record({"path": match(RTL_FILE, "RTL file"), "sha256": match(_SHA256, "SHA-256")}), 1, _FILES),
    "toml": text,
    "sources": table(_HASHED),
    "parameters": record({"path": one_of("parameters.npz"), "sha256": match(_SHA256, "SHA-256")}),
    "inputs": list_of(_PORT, 1),
    "outputs": list_of(_PORT, 1),
    "axis": record({"top": _IDENTIFIER}),
    "reals": record(
        {"roundings": list_of(_ROUNDING, 1), "input_orders": _ORDER, "output_orders": _ORDER},
        {"codes": list_of(or_null(_SCALES), 1), "values": list_of(or_null(_AFFINE), 1)},
    ),
    "interval": number,
    "latency": _COUNTED,
    "cost": _COST,
    "saturated": record(_TOTALS),
    "nodes": list_of(_NODE),
    "streams": list_of(_sample, 1),
    "components": list_of(_COMPONENT, 1),
    "config": table(anything),
    "tools": table(text),
}
