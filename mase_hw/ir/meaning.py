"""What a component computes, stated so that it can be compared: with its own integers, and by `prove` with its RTL.

A meaning is about one vector of each input, or about one sample where the component looks at several positions. Inputs
are numbered as the component's ports are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.geometry import Geometry, windows
from mase_hw.ir.finish import Finish
from mase_hw.numerics.product import product
from mase_hw.numerics.rounding import Integers


class Meaning(ABC):
    """What every meaning can do: compute. There is no default; a component without one has its values left open."""

    @abstractmethod
    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        """Integers [vectors, features] of each input to those of each output."""


@dataclass(frozen=True, eq=False)
class Affine(Meaning):
    """One output: `finish(sum over inputs p of factors[p] @ x[p] + constants)`."""

    factors: tuple[Integers, ...]  # [out, in], for each input
    constants: Integers  # [out]
    finish: Finish | None = None

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        exact = self.constants + sum(product(each, rows.T) for each, rows in zip(x, self.factors, strict=True))
        return (exact if self.finish is None else self.finish.execute(exact),)


@dataclass(frozen=True)
class Move(Meaning):
    """Every element of every output is an element of an input, unchanged: `(input, element)` for each."""

    sources: tuple[tuple[tuple[int, int], ...], ...]

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        return tuple(np.stack([x[port][:, element] for port, element in elements], axis=1) for elements in self.sources)

    @staticmethod
    def copies(features: int, outputs: int = 1) -> Move:
        """Each output is the one input."""
        return Move((tuple((0, k) for k in range(features)),) * outputs)

    @staticmethod
    def joined(features: Sequence[int]) -> Move:
        """One output: the inputs' vectors one after the other."""
        return Move((tuple((port, k) for port, count in enumerate(features) for k in range(count)),))


@dataclass(frozen=True, eq=False)
class Table(Meaning):
    """One output, one input: element `j` is `values[j][x[index[j]] - lo[j]]`, any function of one element."""

    index: tuple[int, ...]
    lo: tuple[int, ...]  # the least number that the element `index[j]` takes
    values: tuple[Integers, ...]  # for every number from there to the greatest

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        rows = zip(self.index, self.lo, self.values, strict=True)
        return (np.stack([values[x[0][:, i] - lo] for i, lo, values in rows], axis=1),)


@dataclass(frozen=True, eq=False)
class Steps(Meaning):
    """One output, one input of as many elements: element `j` is `levels[how many of limits[j] are <= x[j]]`.

    The element lies within `lo[j]..hi[j]`.
    """

    limits: Integers  # [features, count], in order
    levels: Integers  # [count + 1]
    lo: tuple[int, ...]
    hi: tuple[int, ...]

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        return (np.stack([self.of(j, x[0][:, j]) for j in range(len(self.limits))], axis=1),)

    def of(self, element: int, x: Integers) -> Integers:
        """What becomes of numbers in this place."""
        return np.asarray(self.levels[np.searchsorted(self.limits[element], x, side="right")], np.int64)

    def ends(self, element: int) -> tuple[int, int]:
        """The least and the greatest level that are reached."""
        first, last = (int((self.limits[element] <= end).sum()) for end in (self.lo[element], self.hi[element]))
        reached = self.levels[first : last + 1]
        return int(reached.min()), int(reached.max())


@dataclass(frozen=True)
class Windows(Meaning):
    """One output, one input: for each window of the frame the vectors under its taps, tap by tap.

    A padded position holds `fill`. With `group`, the features of the input are taken `group` at a time: for each window
    one vector for each group, and in it the taps one after the other.
    """

    geometry: Geometry
    fill: int = 0
    group: int | None = None

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        found = windows(x[0] - self.fill, self.geometry) + self.fill if self.fill else windows(x[0], self.geometry)
        if self.group is not None:
            taps, features = self.geometry.taps, x[0].shape[1]
            parts = found.reshape(-1, taps, features // self.group, self.group)
            found = np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(-1, taps * self.group)
        return (found,)


@dataclass(frozen=True)
class Most(Meaning):
    """One output, one input: the largest of each lane over `taps` elements, which follow one another `lanes` apart.

    Results of `blocks` vectors of the input are one vector of the output.
    """

    taps: int
    lanes: int
    blocks: int

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        return (x[0].reshape(-1, self.taps, self.lanes).max(1).reshape(-1, self.blocks * self.lanes),)


@dataclass(frozen=True, eq=False)
class Weighted(Meaning):
    """One output, one input: `finish(sum over taps of factors * x + constants)` for each lane, as `Most` takes them.

    Vector `k` of the input has factors `[k % blocks]`.
    """

    factors: Integers  # [blocks, taps, lanes]
    constants: Integers  # [blocks * lanes]
    finish: Finish

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        blocks, taps, lanes = self.factors.shape
        exact = (x[0].reshape(-1, blocks, taps, lanes) * self.factors).sum(2).reshape(-1, blocks * lanes)
        return (self.finish.execute(exact + self.constants),)


@dataclass(frozen=True)
class Repeated(Meaning):
    """One output, one input: every position of the frame, so many times in each dimension."""

    frame: tuple[int, ...]
    factors: tuple[int, ...]

    def evaluate(self, *x: Integers) -> tuple[Integers, ...]:
        found = x[0].reshape(-1, *self.frame, x[0].shape[1])
        for axis, factor in enumerate(self.factors, start=1):
            found = found.repeat(factor, axis=axis)
        return (np.ascontiguousarray(found.reshape(-1, x[0].shape[1])),)
