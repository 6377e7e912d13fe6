"""What the integer reference shows of each layer: where values are clamped, and how far they are from the floats'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mase_hw.emit import Build, Samples
from mase_hw.emit.reading import FLOATS
from mase_hw.ir import Component, Design, Stream
from mase_hw.numerics import Fixed, Rounding, to_integers
from mase_hw.numerics.rounding import Integers
from mase_hw.report.layers import type_text
from mase_hw.simulate.stimulus import stimulus

MOST = 2048  # samples
AT_ONCE = 1 << 22  # integers of all streams together: of images there are fewer
RANDOM = 256  # random vectors where there is no data set
BINS = 33  # odd: the middle one holds the errors around 0
_WIDE = 60  # bits: wide enough that nothing is clamped
_TAIL = 0.998  # of the errors lie within the histogram's range; those beyond are in its outer bins


def values(build: Build) -> dict[str, Any]:
    """Every layer on the test split or, where a build has none, on the vectors that a simulation would take."""
    design, samples = build.design, build.samples
    count, inputs = _taken(design, samples)
    streams = design.run(*inputs)
    floats = _floats(build) if samples is not None else {}
    rows = []
    for k, (stream, x) in enumerate(zip(design.inputs, inputs, strict=True)):
        name = f"input {k}" if len(inputs) > 1 else "input"
        real = floats.get(f"input_{k}" if k else "input")
        codes = build.reals.codes[k]
        if codes is not None and real is not None:
            real = codes.steps(real)  # in units of the integers
        rows.append(_input_row(name, build.reals.roundings[k], stream, x, real))
    for name, components, last in _groups(build):
        out = components[-1].output if components else design.inputs[0]
        row = {"name": name, "stream": out.name, **_spread(out, streams[out.name])}
        clamped = [
            _clamped(component, [streams[stream.name] for stream in component.inputs]) for component in components
        ]
        row["clamped"] = _sum([entry for entry in clamped if entry is not None])
        row["error"] = _error(out, streams[out.name], floats.get(f"node.{last}"))
        rows.append(row)
    origin = "stimulus" if samples is None else "data set"
    compared = min(count, len(floats.get("input", ())))
    return {"origin": origin, "vectors": count, "compared_with_floats": compared, "layers": rows}


def _taken(design: Design, samples: Samples | None) -> tuple[int, tuple[Integers, ...]]:
    """How many samples are looked at, and their vectors at each input."""
    if samples is None:
        found = stimulus(design, RANDOM, 0)
        return found.samples, found.inputs
    together = sum(stream.positions * stream.features for stream in design.streams)
    count = max(1, min(MOST, AT_ONCE // together))
    inputs = [rows[: count * x.positions] for x, rows in zip(design.inputs, samples.inputs, strict=True)]
    return len(inputs[0]) // design.inputs[0].positions, tuple(inputs)


def _floats(build: Build) -> dict[str, np.ndarray]:
    """Rows of numbers, as many behind each layer as at the input."""
    found = build.floats
    if any(rows.ndim != 2 for rows in found.values()) or len({len(rows) for rows in found.values()}) > 1:
        raise build.refuse(f"{build.path / FLOATS} is damaged")
    return found


def _groups(build: Build) -> list[tuple[str, list[Component], str]]:
    """Nodes with the components that do their work; a merged node joins the one before it and has the last word."""
    design = build.design
    groups: list[tuple[str, list[Component], str]] = []
    for node in design.nodes:
        made = [design.component(name) for name in node.components]
        if made or not groups:
            groups.append((node.name, made, node.name))
        else:
            name, before, _ = groups[-1]
            groups[-1] = (f"{name} + {node.name}", before, node.name)
    return groups


def _input_row(name: str, rounding: Rounding, stream: Stream, x: Integers, floats: np.ndarray | None) -> dict[str, Any]:
    """The input is clamped by whoever makes its integers; of these, only the floats tell how many were."""
    clamped = None
    real = _beside(stream, x, floats)
    if real is not None:
        wide = to_integers(real, Fixed(_WIDE, stream.fixed.frac), rounding)
        clamped = _counts(wide, x[: len(real)])
    row = {"name": name, "stream": stream.name, **_spread(stream, x)}
    return {**row, "clamped": clamped, "error": _error(stream, x, floats)}


def _beside(stream: Stream, found: Integers, floats: np.ndarray | None) -> np.ndarray | None:
    """The float model's values, rows of whole samples, as the vectors of a stream; no more than there are integers."""
    if floats is None or floats.shape[1] != stream.positions * stream.features:
        return None
    real = floats.astype(np.float64).reshape(-1, stream.features)[: found.size // stream.features]
    return real if np.isfinite(real).all() else None  # a float model that overflows has no difference to speak of


def _clamped(component: Component, x: Sequence[Integers]) -> dict[str, int] | None:
    """How many results the component's clamp changes: those that differ from what a wide type would have held.

    None where it has no clamp, because no input can reach beyond its type.
    """
    step = component.finish
    if step is None or not any(step.parameters()[key] for key in ("ClampLo", "ClampHi")):
        return None
    wide = replace(step, fixed=Fixed(_WIDE, step.fixed.frac))
    return _counts(replace(component, finish=wide).execute(*x)[0], component.execute(*x)[0])


def _counts(wide: Integers, narrow: Integers) -> dict[str, int]:
    return {
        "low": int((wide < narrow).sum()),
        "high": int((wide > narrow).sum()),
        "values": int(narrow.size),
    }


def _sum(counts: list[dict[str, int]]) -> dict[str, int] | None:
    """Of a layer's cast and its own result; the values are those of the latter."""
    if not counts:
        return None
    return {**{key: sum(entry[key] for entry in counts) for key in ("low", "high")}, "values": counts[-1]["values"]}


def _spread(stream: Stream, found: Integers) -> dict[str, Any]:
    """Where in its type's range a stream's values lie."""
    fixed, unit = stream.fixed, 2.0**-stream.fixed.frac
    lo, hi = (min(stream.lo), max(stream.hi)) if fixed.width > 16 else (fixed.lo, fixed.hi)
    bins = int(min(32, hi - lo + 1))
    counts, _ = np.histogram(found, bins=bins, range=(lo, hi + 1))
    return {
        "type": type_text(vars(fixed)),
        "smallest": float(found.min() * unit),
        "largest": float(found.max() * unit),
        "range": [fixed.lo * unit, fixed.hi * unit],
        "proven": [min(stream.lo) * unit, max(stream.hi) * unit],
        "histogram": {"from": lo * unit, "to": (hi + 1) * unit, "counts": counts.tolist()},
    }


def _error(stream: Stream, found: Integers, floats: np.ndarray | None) -> dict[str, Any] | None:
    """The difference to the float model at the same place, errors of all layers before included."""
    real = _beside(stream, found, floats)
    if real is None:
        return None
    unit = 2.0**-stream.fixed.frac
    error = found[: len(real)] * unit - real
    bound = float(np.quantile(np.abs(error), _TAIL)) or unit
    inner = np.linspace(-bound, bound, BINS + 1)[1:-1]
    counts, _ = np.histogram(error, bins=[-np.inf, *inner, np.inf])
    power, noise = float((real**2).mean()), float((error**2).mean())
    return {
        "mean": float(error.mean()),
        "rms": float(np.sqrt(noise)),
        "largest": float(np.abs(error).max()),
        "step": unit,
        "sqnr_db": float(10 * np.log10(power / noise)) if noise and power else None,
        "histogram": {"from": -bound, "to": bound, "counts": counts.tolist()},
        "values": int(error.size),
    }
