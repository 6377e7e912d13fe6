"""How many parameters of a layer saturate in their types, and in which words that is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.numerics.fixed import MAX_FRAC, Fixed, Rounding

MANY = 0.05  # a larger share is a warning
_NAMES = {
    **{key: {"weight": "weights", "bias": "biases"} for key in ("linear", "conv1d", "conv2d")},
    **{key: {"weight": "scales", "bias": "shifts"} for key in ("batch_norm1d", "batch_norm2d")},
}


@dataclass(frozen=True)
class Saturation:
    """Of one argument of a layer: `count` of its `total` values become another integer than they round to."""

    count: int
    total: int
    holds: int | None  # the largest fractional width with which none would; None where it is the type's own, or none is


def saturation(values: npt.ArrayLike, to: Fixed, rounding: Rounding) -> Saturation:
    """Counts the real `values` that round to an integer beyond the range of `to`."""
    x = np.asarray(values, dtype=np.float64)
    count = _beyond(x, to, to.frac, rounding)
    if not count or (not to.signed and _beyond(np.minimum(x, 0), to, to.frac, rounding)):
        return Saturation(count, x.size, None)
    fracs = range(to.frac - 1, -MAX_FRAC - 1, -1)
    return Saturation(count, x.size, next((frac for frac in fracs if not _beyond(x, to, frac, rounding)), None))


def _beyond(x: npt.NDArray[np.float64], to: Fixed, frac: int, rounding: Rounding) -> int:
    with np.errstate(over="ignore"):
        scaled = x * 2.0**frac
    whole = np.floor(scaled) if rounding is Rounding.FLOOR else np.rint(scaled)
    return int(np.count_nonzero((whole < to.lo) | (whole > to.hi)))


def entry(found: Mapping[str, Saturation]) -> dict[str, Any]:
    """Of one layer, as its manifest has it: counts by argument, how many values there are, and what would hold them."""
    return {
        **{argument: each.count for argument, each in found.items()},
        "of": {argument: each.total for argument, each in found.items()},
        "frac_width": {argument: each.holds for argument, each in found.items() if each.holds is not None},
    }


def totals(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of all layers together."""
    counts = {argument: sum(each.get(argument, 0) for each in entries.values()) for argument in ("weight", "bias")}
    sizes = {argument: sum(each["of"].get(argument, 0) for each in entries.values()) for argument in ("weight", "bias")}
    return {**counts, "of": sizes}


def saturation_notes(name: str, op: str, types: Mapping[str, object], found: Mapping[str, Any]) -> Iterator[str]:
    """A line for each argument of a layer with values that saturate; in capitals where they are many."""
    for argument, total in found["of"].items():
        count, holds = found[argument], found["frac_width"].get(argument)
        if not count:
            continue
        what = _NAMES.get(op, {}).get(argument, f"values of its {argument}")
        if count <= MANY * total:
            yield f"{name}: {count} of {total} {what} saturate in {types[argument]}"
            continue
        hint = (
            f"{argument}_frac_width = {holds} would hold them" if holds is not None else "a signed type would hold them"
        )
        yield f"WARNING: {name}: {100 * count / total:.0f} % of the {what} SATURATE in {types[argument]}; {hint}"
