"""The handshake of a component with a pipeline inside: a head that issues steps, a line of marks, a tail that waits.

All registers of the line move with one enable, which the tail gives. The head knows nothing of line and tail but this
enable, and the tail nothing of the head but the mark that comes out of the line: so the prover goes through head and
tail one after the other (`prove/control/staged.py`), and the depth of the line does not multiply their states.

The words of the whole are those of the head, those of the tail, and the line's marks, the first stage first. The first
parameter is the depth of the line. Functions of head and tail get all words and use their own alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mase_hw.ir.control import Kind, Params, SingleControl, Words


@dataclass(frozen=True)
class Stages:
    """The functions of head and tail. A stage of the line without a step has the mark 0."""

    head_words: int
    tail_words: int
    head_ready: Callable[[Words, Params, int], int]  # the input's, from `enable`
    there: Callable[[Words, Params], int]  # whether a step is issued if this cycle is enabled
    mark: Callable[[Words, Params], int]  # that of this step
    head_tick: Callable[[Words, Params, int, int], None]  # from `take`, `enable`
    tail_valid: Callable[[Words, Params], int]  # the output's
    enable: Callable[[Words, Params, int, int], int]  # from the mark at the end of the line, and the output's ready
    tail_tick: Callable[[Words, Params, int, int], None]  # from the same

    @property
    def line(self) -> int:
        """Where the line begins."""
        return self.head_words + self.tail_words


def staged_kind(
    name: str,
    stages: Stages,
    resting: Callable[[Words, Params, int], int],
    rest: Callable[[Words, Params, int, int], None],
) -> Kind:
    """Head, line and tail together."""
    line = stages.line
    head_ready, there, mark, head_tick = stages.head_ready, stages.there, stages.mark, stages.head_tick
    tail_enable, tail_tick = stages.enable, stages.tail_tick

    def readies(s: Words, p: Params, offered: int, outs: int) -> int:
        return head_ready(s, p, tail_enable(s, p, s[line + p[0] - 1], outs))

    def clock(s: Words, p: Params, takes: int, outs: int) -> None:
        end = s[line + p[0] - 1]
        enable = tail_enable(s, p, end, outs)
        tail_tick(s, p, end, outs)
        if enable:
            for k in range(line + p[0] - 1, line, -1):
                s[k] = s[k - 1]
            s[line] = mark(s, p) if there(s, p) else 0
        head_tick(s, p, takes, enable)

    return Kind(name, stages.tail_valid, readies, clock, resting, rest)


class _Part:
    """Head or tail by itself, from reset."""

    def __init__(self, stages: Stages, params: Sequence[int]) -> None:
        self.stages, self.params = stages, tuple(params)
        self.words = [0] * stages.line


class Head(_Part):
    """From the input's handshake to the steps that are issued, one in an enabled cycle at the most."""

    def ready(self, enable: bool) -> bool:
        """The input's ready in this cycle."""
        return bool(self.stages.head_ready(self.words, self.params, int(enable)))

    def issue(self) -> int | None:
        """The mark of the step that is issued if this cycle is enabled; None where there is none."""
        return self.stages.mark(self.words, self.params) if self.stages.there(self.words, self.params) else None

    def tick(self, take: bool, enable: bool) -> None:
        """The clock edge; `take` says whether an input beat moved."""
        self.stages.head_tick(self.words, self.params, int(take), int(enable))

    def state(self) -> tuple[int, ...]:
        """All registers."""
        return tuple(self.words[: self.stages.head_words])


class Tail(_Part):
    """From the mark at the end of the line to the output's handshake."""

    @property
    def valid(self) -> bool:
        return bool(self.stages.tail_valid(self.words, self.params))

    def enable(self, mark: int, out_ready: bool) -> bool:
        """Whether the line moves in this cycle."""
        return bool(self.stages.enable(self.words, self.params, mark, int(out_ready)))

    def tick(self, mark: int, out_ready: bool) -> None:
        """The clock edge; `mark` is what is at the end of the line before it."""
        self.stages.tail_tick(self.words, self.params, mark, int(out_ready))

    def state(self) -> tuple[int, ...]:
        """All registers."""
        return tuple(self.words[self.stages.head_words :])


class StagedControl(SingleControl):
    """Head, line and tail; `steps` of them make a vector."""

    def __init__(self, kind: Kind, stages: Stages, depth: int, steps: int, params: Sequence[int]) -> None:
        """`params` are those behind the first one, the depth."""
        assert depth >= 1
        super().__init__(kind, (depth, *params), stages.line + depth)
        self.stages, self.depth, self.steps = stages, depth, steps

    @property
    def head(self) -> Head:
        return Head(self.stages, self.params)

    @property
    def tail(self) -> Tail:
        return Tail(self.stages, self.params)

    def with_depth(self, depth: int) -> StagedControl:
        """The same with a longer or shorter line, from reset."""
        return StagedControl(self.kind, self.stages, depth, self.steps, self.params[1:])
