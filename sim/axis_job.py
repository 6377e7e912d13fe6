"""What one simulation of an AXI4-Stream top is to do: `job.json` and `values.npz`, as the host wrote them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.beats import Integers


@dataclass(frozen=True)
class Side:
    """One port of the design, with the integers that it carries as [samples, elements of a sample].

    Of an output, `last_cycles` has the predicted cycle of each sample's last beat.
    """

    name: str
    lanes: int
    width: int
    signed: bool
    values: Integers
    last_cycles: Integers | None = None

    @property
    def beats(self) -> int:
        """Beats per sample."""
        return int(self.values.shape[1]) // self.lanes


@dataclass(frozen=True)
class AxisJob:
    """All ports, and how to run them."""

    inputs: tuple[Side, ...]
    outputs: tuple[Side, ...]
    patterns: tuple[str, ...]
    seed: int
    watchdog: int
    drain: int
    fill: int

    @property
    def samples(self) -> int:
        return int(self.inputs[0].values.shape[0])


def load(folder: Path) -> AxisJob:
    document = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    with np.load(folder / "values.npz", allow_pickle=False) as arrays:
        values = {name: np.ascontiguousarray(array, dtype=np.int64) for name, array in arrays.items()}
    inputs = tuple(Side(**port, values=values[f"x_{k}"]) for k, port in enumerate(document["inputs"]))
    outputs = tuple(
        Side(**port, values=values[f"y_{k}"], last_cycles=values[f"last_cycles_{k}"])
        for k, port in enumerate(document["outputs"])
    )
    settings = {key: document[key] for key in ("seed", "watchdog", "drain", "fill")}
    return AxisJob(inputs, outputs, tuple(document["patterns"]), **settings)
