"""Which elements of the streams a step works on: said once more, from the fold's numbers alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.fold import Fold
from mase_hw.prove.claims.claim import NotProvedError


@dataclass(frozen=True)
class Places:
    """A row of the input buffer is `banks` beats, or one beat of `slices` words. -1 stands for padding."""

    fold: Fold

    def __post_init__(self) -> None:
        fold, rows = self.fold, self.rows
        whole = fold.in_beats == fold.words // fold.slices if fold.slices > 1 else 0 <= self.last_bank < fold.banks
        parts = (fold.blocks - 1) * fold.parts + fold.last_parts
        beats = parts if fold.parts > 1 else fold.blocks // fold.joined
        if not whole or rows * fold.slices != fold.words or fold.blocks % fold.joined or beats != fold.out_beats:
            raise NotProvedError("its steps and its beats do not fit together")

    @property
    def rows(self) -> int:
        """Rows of one half of the input buffer."""
        return self.fold.words // self.fold.slices

    @property
    def last_bank(self) -> int:
        """The bank that the last beat of a vector is written to."""
        return self.fold.in_beats - (self.rows - 1) * self.fold.banks - 1

    @property
    def counters(self) -> list[tuple[str, int]]:
        """What a step's place is counted by, innermost first; a counter that would not move is not there."""
        found = [("slice", self.fold.slices), ("word", self.rows), ("block", self.fold.blocks)]
        return [(name, count) for name, count in found if count > 1]

    @cached_property
    def inputs(self) -> Integers:
        """The input element of each [step of a pass, lane]."""
        fold, step = self.fold, np.arange(self.fold.words)[:, None]
        row, lane = step // fold.slices, step % fold.slices * fold.p_in + np.arange(fold.p_in)
        beat = row * fold.banks + lane // fold.in_lanes if fold.banks > 1 else np.broadcast_to(row, lane.shape)
        within = (beat < fold.in_beats) & (lane < fold.in_lanes * fold.banks)
        return np.where(within, beat * fold.in_lanes + lane % fold.in_lanes, -1)

    @cached_property
    def outputs(self) -> Integers:
        """The output element of each [block, lane]."""
        fold, block = self.fold, np.arange(self.fold.blocks)[:, None]
        lane = block % fold.joined * fold.p_out + np.arange(fold.p_out)
        beat = block // fold.joined * fold.parts + lane // fold.out_lanes * (fold.parts > 1)
        within = (beat < fold.out_beats) & (lane < fold.out_lanes * fold.parts)
        return np.where(within, beat * fold.out_lanes + lane % fold.out_lanes, -1)
