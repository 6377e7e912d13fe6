"""The samples of a simulation: the data set's own, and those that reach where data seldom goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Design
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics.rounding import Integers

RANDOM = 256  # samples that are drawn, unless somebody says how many
CYCLES = 1 << 18  # that a group of samples takes, where these are frames
FEWEST = 2  # samples of a group that are simulated, however long they take


@dataclass(frozen=True)
class Stimulus:
    """Vectors [samples * positions, features] of each input, and which samples are what."""

    inputs: tuple[Integers, ...]
    groups: tuple[tuple[str, int], ...]  # label and number of samples, in order

    @property
    def samples(self) -> int:
        return sum(count for _, count in self.groups)

    @property
    def x(self) -> Integers:
        """The vectors of a design with one input."""
        (x,) = self.inputs
        return x


def bounds(design: Design) -> tuple[Integers, Integers]:
    """The least and the greatest of every element of a sample: all positions of all inputs side by side."""
    sides = zip(*((np.tile(lo, x.positions), np.tile(hi, x.positions)) for x in design.inputs
                  for lo, hi in [x.bounds]), strict=True)  # fmt: skip
    lo, hi = (np.concatenate(side) for side in sides)
    return lo, hi


def apart(design: Design, samples: Integers) -> tuple[Integers, ...]:
    """Samples as rows, all inputs side by side, as the vectors of each input."""
    ends = np.cumsum([x.positions * x.features for x in design.inputs])[:-1]
    parts = zip(design.inputs, np.split(samples, ends, axis=1), strict=True)
    return tuple(np.ascontiguousarray(part.reshape(-1, x.features), dtype=np.int64) for x, part in parts)


def joined(design: Design, inputs: Sequence[Integers]) -> Integers:
    """The vectors of each input as samples, one row each, all inputs side by side."""
    rows = [part.reshape(-1, x.positions * x.features) for x, part in zip(design.inputs, inputs, strict=True)]
    return np.concatenate(rows, axis=1)


def most_samples(design: Design, cycles: int = CYCLES) -> int | None:
    """How many samples of a group are simulated where samples are frames, which take long; None: all of them."""
    if not any(stream.frame for stream in design.streams):
        return None
    return max(FEWEST, int(cycles / design.schedule.interval))


def stimulus(
    design: Design,
    random: int | None,
    seed: int,
    samples: Sequence[Integers] | None = None,
    cycles: int = CYCLES,
    first: int | None = None,
) -> Stimulus:
    """Samples first, then corners, one-hot, extremes of the first component's accumulators, `random` drawn ones.

    Where samples are frames there are fewer of each kind: as many as fit in about `cycles` cycles. `first` says how
    many of the data set's are taken.
    """
    lo, hi = bounds(design)
    rng = np.random.default_rng(seed)
    most = most_samples(design, cycles)
    if random is None:
        random = RANDOM if most is None else min(RANDOM, most)
    groups = {
        "data set": None if samples is None else joined(design, samples)[: most if first is None else first],
        "all smallest": lo[None],
        "all largest": hi[None],
        "one hot": _one_hot(lo, hi, most),
        "accumulator extremes": _extremes(design),
        "random": rng.integers(lo, hi, (random, len(lo)), endpoint=True),
    }
    present = {label: rows for label, rows in groups.items() if rows is not None and len(rows)}
    rows = np.concatenate(list(present.values()))
    return Stimulus(apart(design, rows), tuple((label, len(rows)) for label, rows in present.items()))


def _one_hot(lo: Integers, hi: Integers, most: int | None) -> Integers:
    """Samples of zeros but for one element, the greatest or the least, spread evenly; of frames an eighth of `most`."""
    count = len(lo) if most is None else min(len(lo), max(1, most // 16))
    places = np.arange(count) * len(lo) // count
    rows = np.tile(np.clip(0, lo, hi), (2 * count, 1))
    rows[np.arange(count), places], rows[np.arange(count, 2 * count), places] = hi[places], lo[places]
    return rows


def _extremes(design: Design) -> Integers | None:
    """Vectors that reach the bounds of the component to which the one input leads."""
    if len(design.inputs) > 1 or design.inputs[0].frame:
        return None
    first = next((component for component in design.components if not isinstance(component, Plumbing)), None)
    found = first.extremes() if first is not None and len(first.inputs) == 1 else None
    return None if found is None else found[0]
