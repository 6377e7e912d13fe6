"""The vectors of `stimulus`, the same ones, made in blocks: a million of them need not be in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Design
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.stimulus import Stimulus, stimulus


@dataclass(frozen=True)
class Blocks:
    """`fixed` holds all that is not random; then come `random` vectors drawn from `seed`."""

    design: Design
    fixed: Stimulus
    random: int
    seed: int

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        return (*self.fixed.groups, ("random", self.random)) if self.random else self.fixed.groups

    @property
    def vectors(self) -> int:
        return len(self.fixed.x) + self.random

    def __call__(self, size: int) -> Iterator[Integers]:
        """The vectors in order, `size` at a time. Drawing in blocks gives the numbers of drawing them all at once."""
        lo, hi = self.design.input.bounds
        rng = np.random.default_rng(self.seed)
        for start in range(0, self.vectors, size):
            stop = min(start + size, self.vectors)
            known = self.fixed.x[start:stop]
            drawn = rng.integers(lo, hi, (stop - start - len(known), len(lo)), endpoint=True)
            yield np.ascontiguousarray(np.concatenate([known, drawn]), dtype=np.int64)

    def window(self, start: int, stop: int, size: int) -> Integers:
        """Some of the vectors again."""
        found, base = [], 0
        for block in self(size):
            found.append(block[max(0, start - base) : max(0, stop - base)])
            base += len(block)
            if base >= stop:
                break
        return np.concatenate(found)


def blocks(design: Design, vectors: int, seed: int, samples: Integers | None = None) -> Blocks:
    return Blocks(design, stimulus(design, 0, seed, samples), vectors, seed)
