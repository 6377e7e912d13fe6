"""The handshake of a folded layer: a double buffer, steps through words and blocks, an output register."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER
from mase_hw.ir.staged import Head, StagedControl, Tail
from mase_hw.ops.linear.fold import Fold


class FoldedHead(Head):
    """The double buffer and the counters of steps. A mark is how many beats leave after the step: -1 joins a beat."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.beat = 0  # of the vector that is being written
        self.full = [False, False]
        self.write = self.read = 0
        self.word = self.block = 0  # of the next step

    def ready(self, enable: bool) -> bool:
        return not self.full[self.write]

    def issue(self) -> int | None:
        fold = self.fold
        if self.ahead() <= 0:
            return None
        if self.word < fold.words - 1:
            return 0
        ends = fold.last_parts if self.block == fold.blocks - 1 else fold.parts
        return ends if fold.joined == 1 else -1

    def tick(self, take: bool, enable: bool) -> None:
        issue = enable and self.ahead() > 0
        if take:
            self.beat += 1
            if self.beat == self.fold.in_beats:
                self.beat = 0
                self.full[self.write] = True
                self.write ^= 1
        if issue:
            self._advance()

    def _advance(self) -> None:
        self.word += 1
        if self.word == self.fold.words:
            self.word = 0
            self.block += 1
            if self.block == self.fold.blocks:
                self.block = 0
                self.full[self.read] = False
                self.read ^= 1

    def ahead(self) -> int:
        """Words of this pass that are there and not yet issued."""
        written = self.beat // self.fold.banks * self.fold.slices
        return (self.fold.words if self.full[self.read] else written) - self.word

    def state(self) -> tuple[int, ...]:
        return (*self.full, self.beat, self.write, self.read, self.word, self.block)


class FoldedTail(Tail):
    """The finished sums, which wait in the accumulators for the output register, and that register."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.finished = 0  # beats that leave with the sums; -1 where a block joins a beat
        self.joined = 0
        self.left = 0  # beats in the output register

    def enable(self, mark: int, out_ready: bool) -> bool:
        return not self.finished or self.left == 0 or (out_ready and self.left == 1)

    def tick(self, mark: int, out_ready: bool) -> None:
        enable = self.enable(mark, out_ready)
        if self.valid and out_ready:
            self.left -= 1
        if enable:
            if self.finished:
                self._deliver(self.finished)
            self.finished = mark
        self.valid = self.left > 0

    def _deliver(self, beats: int) -> None:
        """A finished block moves to the output register."""
        if beats > 0:
            self.left = beats
        else:
            self.joined = (self.joined + 1) % self.fold.joined
            self.left = int(self.joined == 0)

    def state(self) -> tuple[int, ...]:
        return self.finished, self.joined, self.left


class FoldedControl(StagedControl):
    """A double-buffered array: word by word through the input, once for each block of outputs.

    `stages` registers lie between the issue of a step and the finished sums, which then wait for the output register.
    """

    head: FoldedHead
    tail: FoldedTail

    def __init__(self, fold: Fold, stages: int) -> None:
        super().__init__(FoldedHead(fold), FoldedTail(fold), stages - 1, fold.steps)

    def quiet(self, out_ready: bool) -> int:
        head, tail = self.head, self.tail
        if tail.finished and self.valid and not out_ready:
            return FOREVER
        if tail.finished:
            return 0
        ahead = head.ahead()
        # The last step of a block is seen outside, and so is a mark that comes to the end of the line.
        steps = min(ahead, head.fold.words - 1 - head.word) if ahead > 0 else FOREVER
        return min(steps, self._before_mark())

    def _before_mark(self) -> int:
        """Cycles until a mark is at the end of the line."""
        for cycles, mark in enumerate(reversed(self.line)):
            if mark:
                return cycles
        return FOREVER

    def skip(self, cycles: int, out_ready: bool) -> None:
        if self.tail.finished:
            return
        self.head.word += min(cycles, max(self.head.ahead(), 0))
        moved = min(cycles, len(self.line))
        self.line = [0] * moved + self.line[: len(self.line) - moved]
