"""What one simulation of an AXI4-Stream top is to do: `job.json` and `values.npz`, as the host wrote them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.beats import Integers


@dataclass(frozen=True)
class Side:
    """One end of the design, with the integers that it carries as [vectors, features]."""

    name: str
    lanes: int
    width: int
    signed: bool
    values: Integers

    @property
    def beats(self) -> int:
        """Beats per vector."""
        return int(self.values.shape[1]) // self.lanes


@dataclass(frozen=True)
class AxisJob:
    """Both ends, and how to run them. `last_cycles` has the cycle of each vector's last output beat, predicted."""

    x: Side
    y: Side
    last_cycles: Integers
    patterns: tuple[str, ...]
    seed: int
    watchdog: int
    drain: int
    fill: int

    @property
    def vectors(self) -> int:
        return int(self.x.values.shape[0])


def load(folder: Path) -> AxisJob:
    document = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    with np.load(folder / "values.npz", allow_pickle=False) as arrays:
        values = {name: np.ascontiguousarray(arrays[name], dtype=np.int64) for name in ("x", "y", "last_cycles")}
    x, y = (Side(**document[name], values=values[name]) for name in ("x", "y"))
    settings = {key: document[key] for key in ("seed", "watchdog", "drain", "fill")}
    return AxisJob(x, y, values["last_cycles"], tuple(document["patterns"]), **settings)
