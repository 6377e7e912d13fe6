"""Does a design keep to an interval? Its inputs come sample by sample at that pace, never earlier.

Delaying an input makes no output earlier. So a design that keeps up with inputs at a pace has at most this interval
when they come as fast as it takes them. Its own schedule answers the same question, and often needs very long for it:
layers with almost the same interval drift apart until a FIFO between them is full, and only then does the design repeat
itself. At a common pace all layers have the same period, and a few samples are enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mase_hw.ir.component import Component
from mase_hw.ir.cycles import Check, Run
from mase_hw.ir.engine import ROOM, STOPPED
from mase_hw.ir.layout import Layout, Portion, separate
from mase_hw.ir.plumbing_control import MOST, UNLIMITED, FifoControl, ScatterControl
from mase_hw.ir.stream import Stream, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded_control import FoldedControl

ALIKE = 3  # samples, each later than the one before by as much, after which a design is taken not to keep up
PATIENCE = 64  # samples in which a design repeats itself, or is taken not to keep up
_REGISTERS = 2  # behind the steps of what sets the pace


@dataclass(frozen=True)
class Kept:
    """A run at a pace that the design keeps to: the beats that each FIFO held at the most, by the stream into it."""

    most: dict[str, int]


def kept(
    components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream], cycles: int
) -> Kept | None:
    """The run with a sample on every input each `cycles` cycles; None if the design is not seen to keep up."""
    most: dict[str, int] = {}
    for part in separate(components, inputs, outputs):
        found = _PacedRun(part, cycles).most_held()
        if found is None:
            return None
        most |= found
    return Kept(most)


class _PacedLayout(Layout):
    """A layout with something before each input that gives a sample each `cycles` cycles, all its beats at once."""

    def __init__(self, part: Portion, cycles: int) -> None:
        super().__init__(part.components, part.inputs, part.outputs)
        for k, source in enumerate(self.sources):
            stream = self.streams[source]
            own = [_every(cycles), FifoControl(UNLIMITED), ScatterControl(stream.sample_beats)]
            first = len(self.streams)
            self.streams += [full_range("sample", 1, 1, Fixed(2, 0))] * len(own)
            ends = [*range(first, len(self.streams)), source]
            self.controls[:0] = own
            self.ins[:0] = [[s] for s in ends[:-1]]
            self.outs[:0] = [[s] for s in ends[1:]]
            self.sources[k] = first


def _every(cycles: int) -> FoldedControl:
    """Hands a beat on each so many cycles: a folded layer of so many steps."""
    return FoldedControl(Fold(cycles, 1, 1, 1, cycles, 1), _REGISTERS)


class _PacedRun(Run):
    def __init__(self, part: Portion, cycles: int) -> None:
        super().__init__(_PacedLayout(part, cycles))
        self.cycles = cycles

    def most_held(self) -> dict[str, int] | None:
        """The beats in each FIFO at the most, once the design repeats itself with no FIFO fuller than before."""
        sample = self.ports[self.first].sample_beats
        seen: dict[bytes, Check] = {}
        late: list[tuple[int, ...]] = []  # of each sample, on each output: how much later than the pace its end comes
        while len(late) < PATIENCE:
            why = self.runner(self.first, sample, sample, PATIENCE)
            if why == ROOM and self._given <= len(late) + PATIENCE:
                self.grow()
                continue
            if why in (ROOM, STOPPED):
                return None
            key, check = self.check()
            if key in seen and seen[key].held == check.held:
                words, ins = self.runner.net.words, self.layout.ins
                return {self.layout.streams[ins[g][0]].name: int(words[g][MOST]) for g in self.fifos}
            seen[key] = check
            late.append(self._lateness(len(late)))
            if self._falls_behind(late):
                return None
        return None

    @property
    def _given(self) -> int:
        """Samples that have begun."""
        return max(int(count) for count in self.runner.run.moved[: self.first])

    def _lateness(self, number: int) -> tuple[int, ...]:
        """Of the last beat of sample `number`; of an output that has not come so far, of its last beat."""
        run, found = self.runner.run, []
        for k, port in enumerate(self.ports[self.first :], self.first):
            ended = min(int(run.moved[k]) // port.sample_beats, number + 1)
            found.append(int(run.moves[k][ended * port.sample_beats - 1]) - (ended - 1) * self.cycles if ended else 0)
        return tuple(found)

    @staticmethod
    def _falls_behind(late: Sequence[tuple[int, ...]]) -> bool:
        if len(late) <= ALIKE:
            return False
        ends = zip(*late[-ALIKE - 1 :], strict=True)
        steps = [[after - before for before, after in pairwise(end)] for end in ends]
        return any(len(set(each)) == 1 and each[0] > 0 for each in steps)
