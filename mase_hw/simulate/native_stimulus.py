"""The vectors of `stimulus`, the same ones, made in blocks: a million of them need not be in memory at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Design
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.stimulus import RANDOM, Stimulus, apart, bounds, joined, most_samples, stimulus

NATIVE_CYCLES = 1 << 22  # that a group of samples takes, where these are frames


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
        """Samples; of a plain network, a sample is a vector."""
        return self.fixed.samples + self.random

    def __call__(self, size: int) -> Iterator[tuple[Integers, ...]]:
        """The samples in order, `size` at a time. Drawing in blocks gives the numbers of drawing them all at once."""
        lo, hi = bounds(self.design)
        rng = np.random.default_rng(self.seed)
        fixed = joined(self.design, self.fixed.inputs)
        for start in range(0, self.vectors, size):
            stop = min(start + size, self.vectors)
            known = fixed[start:stop]
            drawn = rng.integers(lo, hi, (stop - start - len(known), len(lo)), endpoint=True)
            yield apart(self.design, np.concatenate([known, drawn]))

    def window(self, start: int, stop: int, size: int) -> tuple[Integers, ...]:
        """Some of the samples again."""
        found, base = [], 0
        for block in self(size):
            rows = joined(self.design, block)
            found.append(rows[max(0, start - base) : max(0, stop - base)])
            base += len(rows)
            if base >= stop:
                break
        return apart(self.design, np.concatenate(found))


def blocks(
    design: Design,
    vectors: int | None,
    seed: int,
    samples: Sequence[Integers] | None = None,
    first: int | None = None,
) -> Blocks:
    most = most_samples(design, NATIVE_CYCLES)
    if vectors is None:
        vectors = RANDOM if most is None else min(RANDOM, most)
    return Blocks(design, stimulus(design, 0, seed, samples, NATIVE_CYCLES, first), vectors, seed)
