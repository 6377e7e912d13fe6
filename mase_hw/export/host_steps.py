"""The steps of a host program: each reads named values and writes one. The templates have a form for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mase_hw.geometry import Geometry
from mase_hw.ir.finish import Finish
from mase_hw.numerics import Rounding
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Term:
    """One input of a sum. The weights are flat; None where all are the same power of two.

    | form | sizes | what it adds |
    |---|---|---|
    | linear | outputs, inputs | a matrix times the vector |
    | scaled | features | each element times its weight |
    | plain | | the vector |
    | taps | blocks, taps, lanes | of `Weighted`, sums over elements that lie `lanes` apart |
    """

    value: str
    features: int  # of the vectors that it reads
    form: str
    sizes: tuple[int, ...]
    weights: Integers | None
    shift: int  # of the products, to the left


@dataclass(frozen=True)
class Step:
    """What every step has: the value that it makes, so many vectors of so many features for each sample."""

    value: str
    name: str  # of the component
    op: str
    vectors: int
    features: int
    form: ClassVar[str]


@dataclass(frozen=True)
class Sum(Step):
    """`finish(sum of terms + constants)`."""

    terms: tuple[Term, ...]
    constants: Integers | None
    finish: Finish | None
    form = "sum"

    @property
    def changes(self) -> bool:
        return self.finish is not None and self.finish.changes

    @property
    def shift(self) -> int:
        """Fractional bits that are dropped; negative: that are added."""
        return 0 if self.finish is None else self.finish.frac - self.finish.fixed.frac

    @property
    def half_even(self) -> bool:
        return self.finish is not None and self.finish.rounding is Rounding.HALF_EVEN


@dataclass(frozen=True)
class Pick(Step):
    """Runs of elements of other values, one after the other: `(value, features of its vectors, start, stop)`."""

    runs: tuple[tuple[str, int, int, int], ...]
    form = "pick"


@dataclass(frozen=True)
class LookUp(Step):
    """Element `j` is `table[start[j] + x[index[j]]]`; tables that are the same are there once."""

    source: str
    reads: int  # features of the vectors of the source
    index: Integers
    start: Integers
    table: Integers
    form = "table"


@dataclass(frozen=True)
class Window(Step):
    """The windows of a frame, as `Windows` has them."""

    source: str
    reads: int
    geometry: Geometry
    group: int
    fill: int
    form = "windows"


@dataclass(frozen=True)
class Largest(Step):
    """As `Most` has it."""

    source: str
    taps: int
    lanes: int
    form = "largest"


@dataclass(frozen=True)
class Repeat(Step):
    """Every row of a frame `down` times, every position in it `across` times."""

    source: str
    columns: int
    down: int
    across: int
    form = "repeat"
