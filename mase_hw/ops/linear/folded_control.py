"""The handshake of a folded layer: a double buffer, steps through words and blocks, an output register."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, SingleControl
from mase_hw.ops.linear.fold import Fold


class FoldedControl(SingleControl):
    """A double-buffered array: word by word through the input, once for each block of outputs.

    `stages` registers lie between the issue of a step and the finished sums, which then wait for the output register.
    """

    def __init__(self, fold: Fold, stages: int) -> None:
        self.fold = fold
        self.beat = 0  # of the vector that is being written
        self.full = [False, False]
        self.write = self.read = 0
        self.word = self.block = 0  # of the next step
        self.finishing = [0] * stages  # beats that leave after the step in this stage; -1 where a block joins a beat
        self.joined = 0
        self.left = 0  # beats in the output register

    def ready(self, out_ready: bool) -> bool:
        return not self.full[self.write]

    def tick(self, take: bool, out_ready: bool) -> None:
        fold = self.fold
        free = self.left == 0 or (out_ready and self.left == 1)
        enable = free or not self.finishing[-1]
        if self.valid and out_ready:
            self.left -= 1
        issue = enable and self._ahead() > 0
        if enable:
            if self.finishing[-1]:
                self._deliver(self.finishing[-1])
            last = issue and self.word == fold.words - 1
            ends = fold.last_parts if self.block == fold.blocks - 1 else fold.parts
            self.finishing = [(ends if fold.joined == 1 else -1) if last else 0, *self.finishing[:-1]]
        self.valid = self.left > 0
        if take:
            self.beat += 1
            if self.beat == fold.in_beats:
                self.beat = 0
                self.full[self.write] = True
                self.write ^= 1
        if issue:
            self._advance()

    def _deliver(self, beats: int) -> None:
        """A finished block moves to the output register."""
        if beats > 0:
            self.left = beats
        else:
            self.joined = (self.joined + 1) % self.fold.joined
            self.left = int(self.joined == 0)

    def _advance(self) -> None:
        self.word += 1
        if self.word == self.fold.words:
            self.word = 0
            self.block += 1
            if self.block == self.fold.blocks:
                self.block = 0
                self.full[self.read] = False
                self.read ^= 1

    def _ahead(self) -> int:
        """Words of this pass that are there and not yet issued."""
        written = self.beat // self.fold.banks * self.fold.slices
        return (self.fold.words if self.full[self.read] else written) - self.word

    def state(self) -> tuple[int, ...]:
        positions = (self.beat, self.write, self.read, self.word, self.block, self.joined, self.left)
        return (*self.full, *positions, *self.finishing)

    def quiet(self, out_ready: bool) -> int:
        if self.finishing[-1] and self.valid and not out_ready:
            return FOREVER
        if any(self.finishing):
            return 0
        ahead = self._ahead()
        # The last step of a block is seen outside.
        return min(ahead, self.fold.words - 1 - self.word) if ahead > 0 else FOREVER

    def skip(self, cycles: int, out_ready: bool) -> None:
        if not self.finishing[-1]:
            self.word += min(cycles, max(self._ahead(), 0))
