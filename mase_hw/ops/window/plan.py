"""How windows are read from a line buffer: its rows, the counters that walk through it, and its flow control.

The line buffer holds `slots` rows of the frame in turn: position `i` of the stream, counted over all samples, lies at
`i % (slots * columns)`. One signed counter decides when positions are written and read. It is the number of positions
written, less `need`, which every window has. A window may be read while the counter is not negative, and a position may
be written while it is below `room`. Both are safe because of two facts, which `WindowPlan.check` compares with the
geometry:

- `need` of a window is no less than the positions up to its last tap, unless the window belongs to the tail;
- `need + room` is no more than the first position that this window or a later one reads, plus the buffer's size.

The tail are the rows of windows below the one that reads the last row of the frame: all that they read is there. Their
`need` goes on beyond the frame, as if padding were stored, and so the next sample is let in at an even pace.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from mase_hw.cost.xilinx.window import line_memory
from mase_hw.geometry import Frame, Geometry, Pads
from mase_hw.numerics.rounding import Integers

BLOCK_WORDS = 128  # a deeper line buffer goes to block RAM
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
    lost = {slots: _lost(lines, lines.room(slots)) for slots in range(least, least + lines.stride[0] + 1)}
    if 0 in lost.values():
        return min(slots for slots in lost if lost[slots] == 0)
    little = [slots for slots in lost if lost[slots] * WORTH < lines.out[0] * lines.out[1] * lines.taps]
    return min(little, default=min(lost, key=lambda slots: (lost[slots], slots)))


@lru_cache(maxsize=4096)
def _lost(lines: Lines, room: int) -> int:
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


@dataclass(frozen=True)
class WindowPlan:
    """The line buffer and its counters, in beats: a position has `blocks` of them, of `width` bits.

    By taps, a window is read tap by tap, all beats of a position in turn. By blocks (`grouped`) the window is read once
    for each beat of a position, as pools and depthwise convolutions want it.
    """

    lines: Lines
    blocks: int
    width: int
    grouped: bool
    slots: int
    block_ram: bool

    @staticmethod
    def of(geometry: Geometry, blocks: int, width: int, grouped: bool, block_ram: bool | None = None) -> WindowPlan:
        lines = Lines.of(geometry)
        slots = fewest_slots(lines)
        deep = slots * lines.frame[1] * blocks > BLOCK_WORDS
        return WindowPlan(lines, blocks, width, grouped, slots, deep if block_ram is None else block_ram)

    @property
    def taps(self) -> int:
        return self.lines.taps

    @property
    def row_beats(self) -> int:
        return self.lines.frame[1] * self.blocks

    @cached_property
    def pitch(self) -> int:
        """Words from one slot to the next: a power of two, where that takes no more memory."""
        power = 1 << (self.row_beats - 1).bit_length()
        cells = [line_memory(self.width, self.slots * pitch, self.block_ram) for pitch in (power, self.row_beats)]
        return power if cells[0].logic + 100 * cells[0].bram <= cells[1].logic + 100 * cells[1].bram else self.row_beats

    @cached_property
    def room(self) -> int:
        """What the line buffer has room for, or less: one below a power of two is cheap to compare with."""
        most = self.lines.room(self.slots)
        if self.begin:
            return most * self.blocks
        cheap = (1 << (most * self.blocks + 1).bit_length() - 1) - 1
        kept = _lost(self.lines, cheap // self.blocks) == _lost(self.lines, most)
        return cheap if kept else most * self.blocks

    @property
    def begin(self) -> int:
        """What the counter must be for a sample to begin, where that is not said by the first window's need; else 0."""
        return max(0, 1 + self.start) if self.start >= 0 else 0

    @property
    def free(self) -> tuple[int, int]:
        """The range of the free places that the RTL counts: `room` less the counter."""
        over = max(self.lines.over * self.blocks, self.start - self.room, 0)
        return -over, self.room - self.lines.least * self.blocks

    @property
    def start(self) -> int:
        """What the counter is before anything has been written."""
        return -int(self.lines.need[0, 0]) * self.blocks

    @cached_property
    def nest(self) -> tuple[tuple[str, int], ...]:
        """The counters within a window, innermost first. Columns and blocks that follow one another are one run."""
        kh, kw = self.lines.kernel
        if self.grouped:
            found = [("tap_column", kw), ("tap_row", kh), ("block", self.blocks)]
        elif self.lines.dilation[1] == 1 or kw == 1 or self.blocks == 1:
            found = [("run", kw * self.blocks), ("tap_row", kh)]
        else:
            found = [("block", self.blocks), ("tap_column", kw), ("tap_row", kh)]
        return tuple((name, count) for name, count in found if count > 1)

    def advance(self, name: str) -> tuple[int, int]:
        """Columns (in beats) and rows from one read to the next, where the counter `name` is the one that moves.

        The counters within it start again. "column", "row" and "sample" move to the next window.
        """
        lines = self.lines
        width, height = ((lines.kernel[k] - 1) * lines.dilation[k] for k in (1, 0))
        tap, across = lines.dilation[1] * self.blocks, width * self.blocks
        every = -across - (self.blocks - 1)  # from the last beat of a window's row to the first
        inner = {
            "run": (1 if lines.dilation[1] == 1 or lines.kernel[1] == 1 else tap, 0),
            "tap_column": (tap if self.grouped else tap - self.blocks + 1, 0),
            "tap_row": (-across if self.grouped else every, lines.dilation[0]),
            "block": (1 - across, -height) if self.grouped else (1, 0),
            "column": (every + lines.stride[1] * self.blocks, -height),
        }
        if name in inner:
            return inner[name]
        back = every - (lines.out[1] - 1) * lines.stride[1] * self.blocks
        below = (lines.out[0] - 1) * lines.stride[0]
        return (back, lines.stride[0] - height) if name == "row" else (back, -height - below)

    def slot_step(self, name: str) -> int:
        """The same for the slot; the first row of the next sample lies in the slot behind the last of this one."""
        rows = self.advance(name)[1] + (self.lines.frame[0] if name == "sample" else 0)
        return rows % self.slots

    def check(self, geometry: Geometry) -> None:
        """The two facts above, compared with every window: for tests."""
        lines, windows = self.lines, geometry.sources
        last = np.maximum.accumulate(windows.max(1)) + 1
        counted = (lines.last_row + 1) * lines.out[1]
        assert (np.maximum(lines.need.ravel(), 0)[:counted] >= last[:counted]).all()
        assert max(lines.need.ravel()[counted - 1], 0) >= last.max()
        first = np.where(windows < 0, lines.size, windows).min(1)
        oldest = np.minimum.accumulate(first[::-1])[::-1]
        size = self.slots * lines.frame[1]
        assert (lines.need.ravel() + lines.room(self.slots) <= oldest + size).all()
        assert 0 <= self.room <= lines.room(self.slots) * self.blocks
