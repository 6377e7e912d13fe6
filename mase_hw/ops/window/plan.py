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
from functools import cached_property

import numpy as np

from mase_hw.cost.xilinx.window import line_memory
from mase_hw.geometry import Geometry
from mase_hw.ops.window.lines import Lines, fewest_slots, lost_cycles

BLOCK_WORDS = 128  # a deeper line buffer goes to block RAM


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
        kept = lost_cycles(self.lines, cheap // self.blocks) == lost_cycles(self.lines, most)
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
