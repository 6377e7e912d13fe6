"""The handshake of each kind of component, without its data: what decides in which cycle a beat moves.

Each class mirrors the control registers of one SystemVerilog module, clock edge by clock edge. `cycles.py` runs them
together to predict the cycles of a whole design; the test benches check that the RTL takes exactly those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from mase_hw.hardware.folding import Fold

FOREVER = 1 << 62


class Control(ABC):
    """Control of a component with one input and one output stream."""

    valid = False  # the output's valid, a register in every component

    @abstractmethod
    def ready(self, out_ready: bool) -> bool:
        """The input's ready in this cycle, given the output's."""

    @abstractmethod
    def tick(self, take: bool, out_ready: bool) -> None:
        """The clock edge; `take` says whether an input beat moved."""

    @abstractmethod
    def state(self) -> tuple[int, ...]:
        """All registers: two equal states have the same future."""

    def quiet(self, out_ready: bool) -> int:
        """Cycles, from this one on, that change nothing outside as long as no beat moves: see `skip`."""
        return FOREVER

    def skip(self, cycles: int, out_ready: bool) -> None:
        """Lets so many quiet cycles pass at once; most controls stand still in them."""
        return


class PipeControl(Control):
    """`stages` registers with one common enable: they move unless a finished beat waits at the end."""

    def __init__(self, stages: int) -> None:
        self.occupied = [False] * stages

    def ready(self, out_ready: bool) -> bool:
        return out_ready or not self.valid

    def tick(self, take: bool, out_ready: bool) -> None:
        if out_ready or not self.valid:
            self.occupied = [take, *self.occupied[:-1]]
            self.valid = self.occupied[-1]

    def state(self) -> tuple[int, ...]:
        return tuple(self.occupied)

    def quiet(self, out_ready: bool) -> int:
        blocked = self.valid and not out_ready
        return FOREVER if blocked or not any(self.occupied) else 0


class SkidControl(Control):
    """Two registers; the input's ready is one of them, so no combinational path runs from output to input."""

    def __init__(self) -> None:
        self.skid = False

    def ready(self, out_ready: bool) -> bool:
        return not self.skid

    def tick(self, take: bool, out_ready: bool) -> None:
        if out_ready or not self.valid:
            self.valid, self.skid = self.skid or take, False
        elif take:
            self.skid = True

    def state(self) -> tuple[int, ...]:
        return (self.valid, self.skid)


class FifoControl(Control):
    """A FIFO of `depth` beats; it does not take a beat in the cycle in which it is full, even if one leaves."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.count = 0

    def ready(self, out_ready: bool) -> bool:
        return self.count < self.depth

    def tick(self, take: bool, out_ready: bool) -> None:
        self.count += take - (self.valid and out_ready)
        self.valid = self.count > 0

    def state(self) -> tuple[int, ...]:
        return (self.count,)


class GatherControl(Control):
    """Collects `ratio` narrow beats into one wide beat."""

    def __init__(self, ratio: int) -> None:
        self.ratio = ratio
        self.count = 0

    def ready(self, out_ready: bool) -> bool:
        return out_ready or not self.valid

    def tick(self, take: bool, out_ready: bool) -> None:
        if self.valid and out_ready:
            self.valid = False
        if take:
            self.valid = self.count == self.ratio - 1
            self.count = 0 if self.valid else self.count + 1

    def state(self) -> tuple[int, ...]:
        return (self.valid, self.count)


class ScatterControl(Control):
    """Hands out one wide beat as `ratio` narrow ones."""

    def __init__(self, ratio: int) -> None:
        self.ratio = ratio
        self.count = 0

    def ready(self, out_ready: bool) -> bool:
        return not self.valid or (out_ready and self.count == self.ratio - 1)

    def tick(self, take: bool, out_ready: bool) -> None:
        if self.valid and out_ready:
            self.count = (self.count + 1) % self.ratio
            self.valid = self.count != 0
        if take:
            self.valid = True

    def state(self) -> tuple[int, ...]:
        return (self.valid, self.count)


class FoldedControl(Control):
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
