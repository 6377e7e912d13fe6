"""The handshake of a component with a pipeline inside: a head that issues steps, a line of marks, a tail that waits.

All registers of the line move with one enable, which the tail gives. The head knows nothing of line and tail but this
enable, and the tail nothing of the head but the mark that comes out of the line: so the prover goes through head and
tail one after the other (`prove/control/staged.py`), and the depth of the line does not multiply their states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from mase_hw.ir.control import SingleControl


class Head(ABC):
    """From the input's handshake to the steps that are issued, one in an enabled cycle at the most."""

    @abstractmethod
    def ready(self, enable: bool) -> bool:
        """The input's ready in this cycle."""

    @abstractmethod
    def issue(self) -> int | None:
        """The mark of the step that is issued if this cycle is enabled; None where there is none."""

    @abstractmethod
    def tick(self, take: bool, enable: bool) -> None:
        """The clock edge; `take` says whether an input beat moved."""

    @abstractmethod
    def state(self) -> tuple[int, ...]:
        """All registers."""


class Tail(ABC):
    """From the mark at the end of the line to the output's handshake."""

    valid = False

    @abstractmethod
    def enable(self, mark: int, out_ready: bool) -> bool:
        """Whether the line moves in this cycle."""

    @abstractmethod
    def tick(self, mark: int, out_ready: bool) -> None:
        """The clock edge; `mark` is what is at the end of the line before it."""

    @abstractmethod
    def state(self) -> tuple[int, ...]:
        """All registers."""


class StagedControl(SingleControl):
    """Head, line and tail; `steps` of them make a vector. A stage without a step has the mark 0."""

    def __init__(self, head: Head, tail: Tail, depth: int, steps: int) -> None:
        assert depth >= 1
        self.head, self.tail, self.steps = head, tail, steps
        self.line = [0] * depth

    def ready(self, out_ready: bool) -> bool:
        return self.head.ready(self.tail.enable(self.line[-1], out_ready))

    def tick(self, take: bool, out_ready: bool) -> None:
        mark = self.line[-1]
        enable = self.tail.enable(mark, out_ready)
        self.tail.tick(mark, out_ready)
        if enable:
            self.line = [self.head.issue() or 0, *self.line[:-1]]
        self.head.tick(take, enable)
        self.valid = self.tail.valid

    def state(self) -> tuple[int, ...]:
        return (*self.head.state(), *self.tail.state(), *self.line)
