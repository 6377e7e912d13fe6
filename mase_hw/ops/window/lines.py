"""The rows of a line buffer: which positions a window needs, and how many rows lose no cycle.

`plan.py` has the two facts that make the flow control of windows safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mase_hw.geometry import Frame, Geometry, Pads
from mase_hw.numerics.rounding import Integers

WORTH = 100  # one cycle of so many is worth less than a further row of the line buffer


@dataclass(frozen=True)
class Lines:
    """Windows on a frame of rows, in positions. A sequence is a frame of rows of one position."""

    frame: Frame
    kernel: Frame
    stride: Frame
    padding: Pads
    dilation: Frame

    @staticmethod
    def of(geometry: Geometry) -> Lines:
        g, more = geometry, 2 - len(geometry.frame)
        ones = (1,) * more
        pads = (*g.padding, *((0, 0),) * more)
        return Lines((*g.frame, *ones), (*g.kernel, *ones), (*g.stride, *ones), pads, (*g.dilation, *ones))

    @property
    def reach(self) -> Frame:
        return tuple(dilation * (taps - 1) + 1 for taps, dilation in zip(self.kernel, self.dilation, strict=True))

    @cached_property
    def out(self) -> Frame:
        return Geometry(self.frame, self.kernel, self.stride, self.padding, self.dilation).out_frame

    @property
    def size(self) -> int:
        return self.frame[0] * self.frame[1]

    @property
    def taps(self) -> int:
        return self.kernel[0] * self.kernel[1]

    @property
    def to_begin(self) -> int:
        """What the counter must be at a sample's first window, if that is all padding: its sample has begun then."""
        return 1 - int(self.need[0, 0])

    @cached_property
    def columns_needed(self) -> Integers:
        """For each column of windows, so many columns of the last row it reads; what exceeds the frame is cut off.

        Moved by less than a stride, so that the columns which are not cut off end exactly at the frame's edge.
        """
        width = self.frame[1]
        needed = np.arange(self.out[1]) * self.stride[1] - self.padding[1][0] + self.reach[1]
        if needed[-1] > width:
            inside = needed[needed <= width]
            needed = needed + (width - inside[-1] if len(inside) else 0)
        return np.asarray(np.minimum(needed, width), np.int64)

    @cached_property
    def last_row(self) -> int:
        """The first row of windows that reads the frame's last row; behind it is the tail."""
        needed = np.arange(self.out[0]) * self.stride[0] - self.padding[0][0] + self.reach[0]
        return int(np.argmax(needed >= self.frame[0])) if needed[-1] >= self.frame[0] else self.out[0] - 1

    @cached_property
    def rows_needed(self) -> Integers:
        """For each row of windows, so many rows; exactly the frame's for `last_row`, and on by strides in the tail."""
        rows, last = np.arange(self.out[0]), self.last_row
        needed = rows * self.stride[0] - self.padding[0][0] + self.reach[0]
        needed[last] = min(needed[last], self.frame[0])
        needed[last:] = needed[last] + (rows[last:] - last) * self.stride[0]
        return np.asarray(needed, np.int64)

    @cached_property
    def need(self) -> Integers:
        """[rows, columns] of windows."""
        return np.asarray((self.rows_needed[:, None] - 1) * self.frame[1] + self.columns_needed, np.int64)

    @cached_property
    def oldest(self) -> Integers:
        """[rows, columns] of windows: the first position that this window or a later one may read."""
        height, width = self.frame
        rows = np.minimum(np.maximum(np.arange(self.out[0]) * self.stride[0] - self.padding[0][0], 0), height)
        columns = np.maximum(np.arange(self.out[1]) * self.stride[1] - self.padding[1][0], 0)
        later = np.append(rows[1:], height) * width
        return np.asarray(np.minimum(rows[:, None] * width + columns, later[:, None]), np.int64)

    def room(self, slots: int) -> int:
        return int((self.oldest - self.need).min()) + slots * self.frame[1]

    @cached_property
    def steps(self) -> Integers:
        """[rows, columns]: by how much `need` grows from this window to the next one; the last one's leads on."""
        flat = self.need.ravel()
        return np.append(np.diff(flat), self.size + flat[0] - flat[-1]).reshape(self.out)

    @cached_property
    def least(self) -> int:
        """No lower does the counter fall."""
        counted = self.need[: self.last_row + 1].ravel()
        before = np.concatenate([[0], counted[:-1]])
        low = int((np.maximum.accumulate(before) - counted).min())
        tail = int(counted[-1] - self.need[-1, -1])
        return min(low, tail, int(counted[-1]) - self.size - int(counted[0]), -int(counted[0]), 0)

    @cached_property
    def over(self) -> int:
        """By so much the counter may exceed `room`: where the need falls from one window to a later one."""
        need = np.concatenate([self.need.ravel(), self.need.ravel() + self.size])
        return int((np.maximum.accumulate(need) - need).max())

    @property
    def has_tail(self) -> bool:
        return self.last_row < self.out[0] - 1


@lru_cache(maxsize=4096)
def fewest_slots(lines: Lines) -> int:
    """Rows of the line buffer: the fewest with which no cycle is lost, within a stride of those that there must be.

    Where that does not suffice, the fewest with which less than one cycle in `WORTH` is lost, if there are any.
    """
    wanted = max(0, lines.to_begin)  # the first position of a sample must get in
    least = max(1, -((lines.room(0) - wanted) // lines.frame[1]))
    lost = {slots: lost_cycles(lines, lines.room(slots)) for slots in range(least, least + lines.stride[0] + 1)}
    if 0 in lost.values():
        return min(slots for slots in lost if lost[slots] == 0)
    little = [slots for slots in lost if lost[slots] * WORTH < lines.out[0] * lines.out[1] * lines.taps]
    return min(little, default=min(lost, key=lambda slots: (lost[slots], slots)))


@lru_cache(maxsize=4096)
def lost_cycles(lines: Lines, room: int) -> int:
    """Cycles per sample beyond those that the beats take, where a position is one beat."""
    taps = lines.taps
    steps = lines.steps.ravel().tolist()
    tail = (lines.last_row + 1) * lines.out[1]
    level, cycles, sample = -int(lines.need[0, 0]), 0, 0
    for _ in range(2):  # the second sample starts as all later ones do
        begun = cycles
        for k, step in enumerate(steps):
            if level < 0 and k < tail:
                cycles -= level
                level = 0
            level = max(level, min(room, level + taps)) - step
            cycles += taps
        sample = cycles - begun
    return max(0, sample - max(len(steps) * taps, lines.size))
