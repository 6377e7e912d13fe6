"""When beats are written and read: one counter, and what follows from it for every window of every sample.

The counter `free` is `room + need - written`, where `need` grows from window to window. Samples repeat: what is counted
in the second one, after any first one, is the same in all later ones.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np

from mase_hw.ir.control import Control, Words
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.control import WINDOW, WindowControl
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.windows.reads import Reads


class Level:
    """The counter of a window's beats, in closed form; raises where what it decides would not be safe."""

    def __init__(self, reads: Reads) -> None:
        self.reads = reads
        plan, lines = reads.plan, reads.plan.lines
        self.need = np.asarray(lines.need.ravel() * reads.blocks)  # window by window, in beats
        self.room, self.begin, self.last_row = plan.room, plan.begin, lines.last_row
        self.size = reads.frame[0] * reads.row_beats
        self.ring = reads.slots * reads.row_beats
        rows, columns = reads.out
        self.counted = np.arange(rows * columns) < (self.last_row + 1) * columns  # the others are the tail
        if not 0 <= self.last_row < rows or len(self.need) != rows * columns:
            raise NotProvedError("its windows are not all counted")
        steps = np.append(np.diff(self.need), self.size + self.need[0] - self.need[-1]).reshape(rows, columns)
        if (steps[:, :-1] != steps[:1, :-1]).any():
            raise NotProvedError("what a window needs more than the one before it differs from row to row")
        self.column_steps, self.row_steps = steps[0, :-1], steps[:, -1]  # the last row's leads to the next sample
        self._check_safe()
        self._check_progress()

    @property
    def has_tail(self) -> bool:
        return not bool(self.counted.all())

    @cached_property
    def _written(self) -> tuple[Integers, Integers]:
        """For each window of two samples: no fewer beats are written while it is current, and no more.

        A beat is written while there is room for the current window. A window ends after its last read; one that is
        counted is not read before its need is written.
        """
        need = np.concatenate([self.need, self.need + self.size])
        counted = np.concatenate([self.counted, self.counted])
        before = np.append(0, np.where(counted, need, 0)[:-1])
        return np.maximum(np.maximum.accumulate(before), 0), np.maximum(np.maximum.accumulate(need) + self.room, 0)

    @cached_property
    def free(self) -> range:
        """Every value that the counter may have."""
        need = np.concatenate([self.need, self.need + self.size])
        fewest, most = self._written
        return range(int((self.room + need - most).min()), int((self.room + need - fewest).max()) + 1)

    def begun(self, free: Integers, before: Integers) -> Integers:
        """Whether the sample has begun; `before`: whether it had in the last cycle."""
        late = free <= self.room - self.begin
        return np.asarray((before == 1) | late if self.begin else np.ones_like(free), np.int64)

    def there(self, free: Integers, begun: Integers) -> Integers:
        """Whether a window that is counted may be read."""
        return np.asarray((free <= self.room) & (begun == 1), np.int64)

    def _check_safe(self) -> None:
        """What is read has been written and not overwritten; a sample is read after its first beat has come."""
        sources = self.reads.geometry.sources
        last = (sources.max(1) + 1) * self.reads.blocks
        written = np.where(self.counted, self.need, np.maximum.accumulate(np.where(self.counted, self.need, 0)))
        if (np.maximum(written, 0) < last).any():
            raise NotProvedError("a window is read before all of it is written")
        first = np.where(sources < 0, self.size, sources * self.reads.blocks).min(1)
        oldest = np.minimum.accumulate(first[::-1])[::-1]
        if (self.need + self.room > oldest + self.ring).any():
            raise NotProvedError("a beat is overwritten before it is read")
        if self.need[0] + self.begin < 1:
            raise NotProvedError("a sample is given before its first beat has come")

    def _check_progress(self) -> None:
        """Where no beat is let in, the window that is current may be read; and so where its whole sample is written."""
        most = int(self.need[self.counted].max())
        if self.room < max(self.begin, 0):
            raise NotProvedError("it may wait for a beat for which there is no room")
        if max(most, int(self.need[0]) + self.begin) > self.size or most < 0:
            raise NotProvedError("it may wait for a beat of the next sample")

    def check_model(self) -> None:
        """The model that predicts cycles has these numbers, and moves by them.

        Its functions are tried at every row and column of windows, on both sides of each comparison.
        """
        control = self.reads.component.control()
        rows, columns = self.reads.out
        start = -int(self.need[0])
        params = (self.reads.beats, self.room, start, self.begin, rows, columns, self.last_row + 1)
        steps = (*self.column_steps.tolist(), *self.row_steps.tolist())
        if not isinstance(control, WindowControl) or control.kind is not WINDOW or control.params != (*params, *steps):
            raise NotProvedError("its model counts otherwise")
        if any(control.state()):
            raise NotProvedError("its model does not start at the first window")
        edges = sorted({e for at in (0, self.begin, self.room) for e in (at - 1, at)} & set(self._levels()))
        last = self.reads.beats - 1
        places = {(row, 0, beat) for row in range(rows) for beat in (0, max(0, last - 1), last)}
        places |= {(row, columns - 1, last) for row in range(rows)}
        places |= {(row, column, last) for column in range(columns) for row in (0, rows - 1)}
        for (row, column, beat), level, bits in product(sorted(places), edges, range(16)):
            state = [bits & 1, level, bits >> 1 & 1, beat, column, row]
            if self.begin or not state[2]:
                self._check_move(control, state, bits >> 2 & 1, bits >> 3)

    def _levels(self) -> range:
        """`written - need`."""
        return range(self.room - self.free[-1], self.room - self.free[0] + 1)

    def _check_move(self, control: Control, state: Words, offered: int, out: int) -> None:
        valid, level, begun, beat, column, row = state
        start, (rows, columns) = -int(self.need[0]), self.reads.out
        now = 1 if begun or level >= self.begin else 0
        there = row > self.last_row or (level >= 0 and (now == 1 or not self.begin))
        ready, moves = level < self.room, not valid or out == 1
        takes = ready and offered == 1
        control.words[:] = [valid, level - start, begun, beat, column, row]
        if control.valids != (valid == 1,) or control.readies((offered == 1,), (out == 1,)) != (ready,):
            raise NotProvedError("its model has another valid or ready")
        control.clock((takes,), (out == 1,))
        after = [int(there) if moves else valid, level + takes - start, now if self.begin else 0, beat, column, row]
        if moves and there:
            after[3] += 1
        if after[3] == self.reads.beats:
            inner = column < columns - 1
            after[1] -= int(self.column_steps[column] if inner else self.row_steps[row])
            after[3:] = [0, column + 1, row] if inner else [0, 0, (row + 1) % rows]
            after[2] = after[2] if any(after[4:]) else 0
        if list(control.state()) != after:
            raise NotProvedError("its model moves otherwise")
