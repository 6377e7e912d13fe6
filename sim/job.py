"""What one simulation is to do, as the host wrote it into the working folder: `job.json` and `values.npz`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sim.beats import Integers


@dataclass(frozen=True)
class Stream:
    """One stream of the design, with the integers it is to carry as [vectors, features]."""

    name: str
    id: str
    label: str
    role: str
    lanes: int
    width: int
    signed: bool
    frac: int
    frame: list[int]
    axes: list[str]  # names of the frame's dimensions and of what a vector holds
    values: Integers
    predicted: Integers | None

    @property
    def beats_per_vector(self) -> int:
        return int(self.values.shape[1]) // self.lanes

    @property
    def beats(self) -> int:
        return int(self.values.shape[0]) * self.beats_per_vector

    @property
    def title(self) -> str:
        return self.name if self.label == self.name else f"{self.name} ({self.label})"

    def place(self, vector: int, element: int) -> str:
        """Of an element: its vector, or its sample and where in the frame it lies."""
        if not self.frame:
            return f"vector {vector} element {element}"
        at = [int(i) for i in np.unravel_index(vector, (vector + 1, *self.frame))]
        return " ".join(f"{name} {i}" for name, i in zip(("sample", *self.axes), (*at, element), strict=True))


@dataclass(frozen=True)
class Job:
    """The streams in design order, each with the vectors of so many samples, and how to run them."""

    streams: tuple[Stream, ...]
    patterns: tuple[str, ...]
    samples: int
    seed: int
    watchdog: int
    drain: int
    fill: int


def load(folder: Path) -> Job:
    document = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    with np.load(folder / "values.npz", allow_pickle=False) as arrays:
        streams = tuple(
            Stream(
                **spec,
                values=np.ascontiguousarray(arrays[f"values.{index}"], dtype=np.int64),
                predicted=arrays.get(f"cycles.{index}"),
            )
            for index, spec in enumerate(document["streams"])
        )
    settings = {key: document[key] for key in ("samples", "seed", "watchdog", "drain", "fill")}
    return Job(streams, tuple(document["patterns"]), **settings)
