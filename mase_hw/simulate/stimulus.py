"""The vectors of a simulation: the data set's own, and those that reach where data seldom goes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Design
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Stimulus:
    """Input vectors [vectors, features], and which rows are what."""

    x: Integers
    groups: tuple[tuple[str, int], ...]  # label and number of rows, in order


def stimulus(design: Design, vectors: int, seed: int, samples: Integers | None = None) -> Stimulus:
    """Samples first, then corners, one-hot, extremes of the first component's accumulators, `vectors` random ones."""
    lo, hi = design.input.bounds
    rng = np.random.default_rng(seed)
    zero = np.clip(0, lo, hi)
    first = next((component for component in design.components if not isinstance(component, Plumbing)), None)
    eye = np.eye(len(lo), dtype=bool)
    groups = {
        "data set": samples,
        "all smallest": lo[None],
        "all largest": hi[None],
        "one hot": np.concatenate([np.where(eye, hi, zero), np.where(eye, lo, zero)]),
        "accumulator extremes": first.extremes() if first is not None else None,
        "random": rng.integers(lo, hi, (vectors, len(lo)), endpoint=True),
    }
    present = {label: rows for label, rows in groups.items() if rows is not None and len(rows)}
    return Stimulus(
        np.concatenate(list(present.values())), tuple((label, len(rows)) for label, rows in present.items())
    )
