"""The reads of a window in closed form: which position each of them reads, and by how much its counters move to it.

A read is a row and a column of windows, and a place within the window: so many rows and columns (in beats) from the
window's first tap. Both are sums of what each index gives, so at one kind of move they always change by the same: that
is compared for every place within a window, and follows for every window.
"""

from __future__ import annotations

from functools import cached_property
from math import prod

import numpy as np

from mase_hw.ir.meaning import Windows
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window import Window
from mase_hw.prove.claims.claim import NotProvedError


class Reads:
    """Taken from the geometry of what the component means; the plan says no more than how its counters are nested."""

    def __init__(self, component: Window) -> None:
        meaning, x, y = component.meaning(), component.input, component.output
        if not isinstance(meaning, Windows) or meaning.group not in (None, x.lanes):
            raise NotProvedError("it does not mean windows of whole beats")
        self.component, self.plan, self.geometry, self.fill = component, component.plan, meaning.geometry, meaning.fill
        lines = self.plan.lines
        self.frame, self.out, self.kernel = lines.frame, lines.out, lines.kernel
        self.stride, self.dilation = lines.stride, lines.dilation
        self.pad = tuple(before for before, _ in lines.padding)
        self.blocks, self.slots = x.beats, self.plan.slots
        self.beats = prod(self.kernel) * self.blocks  # of one window
        shape = (x.frame, y.lanes, y.fixed, y.sample_beats, self.plan.blocks)
        wanted = (self.geometry.frame, x.lanes, x.fixed, prod(self.out) * self.beats, self.blocks)
        if shape != wanted or min(self.out) < 1 or not x.fixed.holds(self.fill, self.fill):
            raise NotProvedError("its streams are not those of its windows")
        taps = [np.arange(count) for count in self.kernel]
        block = np.arange(self.blocks)
        if meaning.group is None:
            row, column, part = np.meshgrid(*taps, block, indexing="ij")
        else:
            part, row, column = np.meshgrid(block, *taps, indexing="ij")
        self.tap_row, self.tap_column, self.block = row.ravel(), column.ravel(), part.ravel()
        self._check_nest()
        self._check_positions()

    @property
    def row_beats(self) -> int:
        return self.frame[1] * self.blocks

    @property
    def down(self) -> Integers:
        """For each read of a window, so many rows from that of its first tap."""
        return np.asarray(self.tap_row * self.dilation[0])

    @property
    def across(self) -> Integers:
        """For each read of a window, so many columns of beats from the first of its first tap."""
        return np.asarray(self.tap_column * self.dilation[1] * self.blocks + self.block)

    @property
    def columns(self) -> Integers:
        """[columns of windows, reads of a window], in beats."""
        first = (np.arange(self.out[1]) * self.stride[1] - self.pad[1]) * self.blocks
        return np.asarray(first[:, None] + self.across)

    @property
    def rows(self) -> Integers:
        """[rows of windows, rows of taps]."""
        first = np.arange(self.out[0]) * self.stride[0] - self.pad[0]
        return np.asarray(first[:, None] + np.arange(self.kernel[0]) * self.dilation[0])

    @property
    def moves(self) -> list[str]:
        """What moves from one read to the next: the first of these whose `_last` is low, or the last of them."""
        more = [name for name, count in (("column", self.out[1]), ("row", self.out[0])) if count > 1]
        return [*(name for name, _ in self.plan.nest), *more, "sample"]

    @cached_property
    def steps(self) -> dict[str, tuple[int, int]]:
        """Columns of beats and rows from one read to the next, for each kind of move.

        The next sample lies below this one.
        """
        across, down = np.diff(self.across), np.diff(self.down)
        kinds = self._kinds()
        found: dict[str, tuple[int, int]] = {}
        for k, (name, _) in enumerate(self.plan.nest):
            moved = {(int(a), int(d)) for a, d in zip(across[kinds == k], down[kinds == k], strict=True)}
            if len(moved) != 1:
                raise NotProvedError(f"the counter {name} does not always move by the same")
            (found[name],) = moved
        back, up = int(self.across[0] - self.across[-1]), int(self.down[0] - self.down[-1])
        row = back - (self.out[1] - 1) * self.stride[1] * self.blocks
        found["column"] = (back + self.stride[1] * self.blocks, up)
        found["row"] = (row, up + self.stride[0])
        found["sample"] = (row, up + self.frame[0] - (self.out[0] - 1) * self.stride[0])
        return found

    def kinds(self, lasts: Integers) -> Integers:
        """Which of the moves it is, for `[samples, moves - 1]` bits that say what is at its last."""
        return np.asarray(np.argmin(np.append(lasts, np.zeros((len(lasts), 1), np.int64), axis=1), axis=1))

    def _digits(self) -> Integers:
        """[reads of a window, counters], innermost first."""
        counts = [count for _, count in self.plan.nest]
        below = np.cumprod([1, *counts])[:-1]
        return np.asarray((np.arange(self.beats)[:, None] // below) % np.array(counts, np.int64))

    def _kinds(self) -> Integers:
        """For each read of a window but the last: the innermost counter that is not at its last."""
        at_last = self._digits() == np.array([count - 1 for _, count in self.plan.nest])
        return np.asarray(np.argmin(at_last, axis=1)[:-1]) if self.plan.nest else np.zeros(0, np.int64)

    def _check_nest(self) -> None:
        """The counters go through the reads of a window in order, and the row of taps is its counter."""
        names = [name for name, _ in self.plan.nest]
        if prod(count for _, count in self.plan.nest) != self.beats or len(set(names)) != len(names):
            raise NotProvedError("its counters do not count the beats of a window")
        rows = self._digits()[:, names.index("tap_row")] if "tap_row" in names else np.zeros(self.beats, np.int64)
        if not np.array_equal(rows, self.tap_row):
            raise NotProvedError("its counters do not go through a window in order")

    def _check_positions(self) -> None:
        """The closed form is the geometry's own list of positions."""
        height, width = self.frame
        rows, columns = self.rows, self.columns[:, (self.block == 0)]
        taps = prod(self.kernel)
        columns = columns.reshape(self.out[1], *self.kernel) // self.blocks
        rows = np.broadcast_to(rows[:, None, :, None], (*self.out, *self.kernel))
        columns = np.broadcast_to(columns[None], (*self.out, *self.kernel))
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        found = np.where(inside, rows * width + columns, -1).reshape(prod(self.out), taps)
        if not np.array_equal(found, self.geometry.sources):
            raise NotProvedError("its windows are not those of the geometry")
