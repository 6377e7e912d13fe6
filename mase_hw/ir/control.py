"""The handshake of a component without its data: what decides in which cycle a beat moves.

Each class mirrors the control registers of one SystemVerilog module, clock edge by clock edge. `cycles.py` runs them
together to predict the cycles of a whole design; the test benches check that the RTL takes exactly those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

FOREVER = 1 << 62
Ports = tuple[bool, ...]  # a bit for each port of one side


class Control(ABC):
    """Control of a component with any number of input and output streams."""

    inputs: int = 1  # how many it takes

    @property
    @abstractmethod
    def valids(self) -> Ports:
        """The outputs' valids, a register each."""

    @abstractmethod
    def readies(self, offered: Ports, outs: Ports) -> Ports:
        """The inputs' readies in this cycle, given the inputs' valids and the outputs' readies."""

    @abstractmethod
    def clock(self, takes: Ports, outs: Ports) -> None:
        """The clock edge; `takes` says on which inputs a beat moved, `outs` are the outputs' readies."""

    @abstractmethod
    def state(self) -> tuple[int, ...]:
        """All registers: two equal states have the same future."""

    def resting(self, outs: Ports) -> int:
        """Cycles, from this one on, that change nothing outside as long as no beat moves: see `rest`."""
        return FOREVER

    def rest(self, cycles: int, outs: Ports) -> None:
        """Lets so many resting cycles pass at once; most controls stand still in them."""
        return


class SingleControl(Control):
    """Control of a component with one input and one output, in single bits."""

    valid = False

    @abstractmethod
    def ready(self, out_ready: bool) -> bool:
        """The input's ready in this cycle, given the output's."""

    @abstractmethod
    def tick(self, take: bool, out_ready: bool) -> None:
        """The clock edge; `take` says whether an input beat moved."""

    def quiet(self, out_ready: bool) -> int:
        return FOREVER

    def skip(self, cycles: int, out_ready: bool) -> None:
        return

    @property
    def valids(self) -> Ports:
        return (self.valid,)

    def readies(self, offered: Ports, outs: Ports) -> Ports:
        return (self.ready(outs[0]),)

    def clock(self, takes: Ports, outs: Ports) -> None:
        self.tick(takes[0], outs[0])

    def resting(self, outs: Ports) -> int:
        return self.quiet(outs[0])

    def rest(self, cycles: int, outs: Ports) -> None:
        self.skip(cycles, outs[0])


class PipeControl(Control):
    """`stages` registers with one common enable: they move unless a finished beat waits at the end.

    With several inputs it is a join: a beat of each is taken at once, or none.
    """

    def __init__(self, stages: int, inputs: int = 1) -> None:
        self.inputs = inputs
        self._last = 1 << (stages - 1)
        self._mask = (1 << stages) - 1
        self.occupied = 0  # a bit for each stage, the first the lowest

    @property
    def valids(self) -> Ports:
        return (self.occupied & self._last != 0,)

    def readies(self, offered: Ports, outs: Ports) -> Ports:
        enable = outs[0] or not self.occupied & self._last
        if self.inputs == 1:
            return (enable,)
        missing = offered.count(False)
        return tuple(enable and missing == (not mine) for mine in offered)

    def clock(self, takes: Ports, outs: Ports) -> None:
        if outs[0] or not self.occupied & self._last:
            self.occupied = (self.occupied << 1 | takes[0]) & self._mask

    def state(self) -> tuple[int, ...]:
        return (self.occupied,)

    def resting(self, outs: Ports) -> int:
        blocked = self.occupied & self._last and not outs[0]
        return FOREVER if blocked or not self.occupied else 0


class SkidControl(SingleControl):
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


class FifoControl(SingleControl):
    """A FIFO of `depth` beats; it does not take a beat in the cycle in which it is full, even if one leaves."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.count = 0
        self.most = 0  # beats that it has held; not a register

    def ready(self, out_ready: bool) -> bool:
        return self.count < self.depth

    def tick(self, take: bool, out_ready: bool) -> None:
        self.count += take - (self.valid and out_ready)
        self.most = max(self.most, self.count)
        self.valid = self.count > 0

    def state(self) -> tuple[int, ...]:
        return (self.count,)


class GatherControl(SingleControl):
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


class ScatterControl(SingleControl):
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


class ForkControl(Control):
    """One beat, and for each branch whether it still has to take it; buffered, a second beat waits behind it.

    Without the buffer a new beat is taken in the cycle in which the last branch takes the old one.
    """

    def __init__(self, branches: int, *, buffered: bool) -> None:
        self.buffered = buffered
        self.pending = [False] * branches
        self.skid = False

    @property
    def valids(self) -> Ports:
        return tuple(self.pending)

    def _frees(self, outs: Ports) -> bool:
        """Whether every branch has taken the beat, or takes it in this cycle."""
        return all(out or not waits for waits, out in zip(self.pending, outs, strict=True))

    def readies(self, offered: Ports, outs: Ports) -> Ports:
        return (not self.skid if self.buffered else self._frees(outs),)

    def clock(self, takes: Ports, outs: Ports) -> None:
        if self._frees(outs):
            self.pending = [self.skid or takes[0]] * len(self.pending)
            self.skid = False
        else:
            self.pending = [waits and not out for waits, out in zip(self.pending, outs, strict=True)]
            self.skid = self.skid or takes[0]

    def state(self) -> tuple[int, ...]:
        return (*self.pending, self.skid)


class ConcatControl(Control):
    """Takes so many beats of each input in turn and hands them on through one register."""

    def __init__(self, beats: tuple[int, ...]) -> None:
        self.inputs = len(beats)
        self.beats = beats
        self.port = self.beat = 0  # what is taken next
        self.valid = False

    @property
    def valids(self) -> Ports:
        return (self.valid,)

    def readies(self, offered: Ports, outs: Ports) -> Ports:
        free = outs[0] or not self.valid
        return tuple(free and port == self.port for port in range(len(self.beats)))

    def clock(self, takes: Ports, outs: Ports) -> None:
        took = any(takes)
        if outs[0] or not self.valid:
            self.valid = took
        if took:
            self.beat += 1
            if self.beat == self.beats[self.port]:
                self.beat, self.port = 0, (self.port + 1) % len(self.beats)

    def state(self) -> tuple[int, ...]:
        return (self.valid, self.port, self.beat)
