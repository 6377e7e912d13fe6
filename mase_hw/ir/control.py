"""The handshake of each kind of component, without its data: what decides in which cycle a beat moves.

Each class mirrors the control registers of one SystemVerilog module, clock edge by clock edge. `cycles.py` runs them
together to predict the cycles of a whole design; the test benches check that the RTL takes exactly those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

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
