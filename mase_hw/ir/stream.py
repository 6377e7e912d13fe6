"""What flows between two components: typed elements, so many lanes per beat, with proven bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Stream:
    """A stream of vectors. Beat `k` carries elements `k*lanes .. k*lanes + lanes-1`, the first in the lowest bits.

    `lo` and `hi` are proven bounds of each element, in integers of `fixed`; they may be tighter than the type.
    """

    name: str
    features: int
    lanes: int
    fixed: Fixed
    lo: tuple[int, ...]
    hi: tuple[int, ...]

    @property
    def beats(self) -> int:
        """Beats per vector."""
        return self.features // self.lanes

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


def full_range(name: str, features: int, lanes: int, fixed: Fixed) -> Stream:
    """A stream of which nothing is known but its type."""
    return Stream(name, features, lanes, fixed, (fixed.lo,) * features, (fixed.hi,) * features)
