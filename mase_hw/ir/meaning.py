"""What a component computes, stated so that it can be compared: with its own integers, and by `prove` with its RTL.

A meaning is about one vector of each input. Inputs are numbered as the component's ports are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
