"""What flows between two components: samples of typed vectors, so many lanes per beat, with proven bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm, prod

import numpy as np

from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Stream:
    """A stream of samples; a sample is a frame of vectors, sent position by position, row by row.

    Beat `k` of a vector carries features `k*lanes .. k*lanes + lanes-1`, the first in the lowest bits. `lo`, `hi` and
    `step` are proven for each feature, the same at every position, in integers of `fixed`: feature `i` lies within
    `lo[i]..hi[i]` and is a multiple of `2**step[i]`. They may be tighter than the type.
    """

    name: str
    features: int
    lanes: int
    fixed: Fixed
    lo: tuple[int, ...]
    hi: tuple[int, ...]
    frame: tuple[int, ...] = ()  # () is one vector per sample; (28, 28) are 784, row by row
    step: tuple[int, ...] = ()  # left out, nothing is known: zeros

    def __post_init__(self) -> None:
        if not self.step:
            object.__setattr__(self, "step", (0,) * self.features)

    @property
    def beats(self) -> int:
        """Beats per vector."""
        return self.features // self.lanes

    @property
    def positions(self) -> int:
        """Vectors per sample."""
        return prod(self.frame)

    @property
    def sample_beats(self) -> int:
        """Beats per sample."""
        return self.positions * self.beats

    @property
    def width(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.fixed.width

    @property
    def bounds(self) -> tuple[Integers, Integers]:
        """`lo` and `hi` as arrays."""
        return np.array(self.lo, dtype=np.int64), np.array(self.hi, dtype=np.int64)

    def with_lanes(self, name: str, lanes: int) -> Stream:
        """The same values, moved in beats of another size."""
        return replace(self, name=name, lanes=lanes)

    def renamed(self, name: str) -> Stream:
        return replace(self, name=name)

    def can_be_viewed(self, frame: tuple[int, ...]) -> bool:
        """Whether the same beats can be read as vectors of another frame."""
        elements = self.positions * self.features
        return not elements % prod(frame) and not (elements // prod(frame)) % self.lanes

    def viewed(self, frame: tuple[int, ...]) -> Stream:
        """The same beats read as vectors of another frame; () is one long vector. No hardware is needed for it."""
        if frame == self.frame:
            return self
        assert self.can_be_viewed(frame), f"{self.name}: {self.frame} x {self.features} as {frame}"
        features = self.positions * self.features // prod(frame)
        # An element of the new vector is one of these of the old; what holds for every one of them holds for it.
        size = lcm(features, self.features)
        rows = np.tile(np.array([self.lo, self.hi, self.step]), size // self.features).reshape(3, -1, features)
        lo, hi, step = (tuple(side.tolist()) for side in (rows[0].min(0), rows[1].max(0), rows[2].min(0)))
        return replace(self, features=features, lo=lo, hi=hi, frame=frame, step=step)


def full_range(name: str, features: int, lanes: int, fixed: Fixed, frame: tuple[int, ...] = ()) -> Stream:
    """A stream of which nothing is known but its type."""
    return Stream(name, features, lanes, fixed, (fixed.lo,) * features, (fixed.hi,) * features, frame)
