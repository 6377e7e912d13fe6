"""Window: for each window of a frame the positions that it reads, tap by tap, from a line buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.window import window_cost
from mase_hw.geometry import Geometry
from mase_hw.ir.component import REGISTERED, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Meaning, Windows
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.control import WindowControl
from mase_hw.ops.window.plan import WindowPlan
from mase_hw.ops.window.text import fill_word, stepped

MOVES = ("column", "row", "sample")  # to the next window, behind the counters within one


@dataclass(frozen=True, eq=False)
class Window(Component):
    """A beat of the line buffer in each cycle; `grouped`, the taps of each beat of a position one after the other."""

    kind = "window"
    counts_positions = True
    ready_paths = REGISTERED
    geometry: Geometry
    grouped: bool = False
    fill: int = 0  # what a padded position holds
    block_ram: bool = False

    @cached_property
    def plan(self) -> WindowPlan:
        x = self.input
        return WindowPlan.of(self.geometry, x.beats, x.width, self.grouped, self.block_ram)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    def meaning(self) -> Meaning:
        return Windows(self.geometry, self.fill, self.input.lanes if self.grouped else None)

    def control(self) -> Control:
        return WindowControl(self.plan)

    @property
    def interval(self) -> int:
        """Of a vector: its beats, or those of the positions that come for each, if these are more."""
        beats, vectors = self.output.beats, self.output.positions
        return max(beats, -(-self.input.sample_beats // vectors))

    @property
    def latency(self) -> int:
        """The first window's positions are written, then its first beat is read."""
        return max(1, -self.plan.start) + 1

    def instance(self) -> Instance:
        return Instance(template="window", values=self._values())

    def _values(self) -> dict[str, Any]:
        plan, lines = self.plan, self.plan.lines
        width = lines.frame[1]
        low = [lines.padding[k][0] for k in (0, 1)]
        high = [(lines.out[k] - 1) * lines.stride[k] - low[k] + lines.reach[k] for k in (0, 1)]
        moves = [name for name, _ in plan.nest]
        moves += [name for name, moved in zip(MOVES, (lines.out[1] > 1, lines.out[0] > 1, True), strict=True) if moved]
        lo, hi = plan.free
        need = {name: int(step) * plan.blocks for name, step in self._needs().items()}
        clipped = int(np.argmax(lines.columns_needed == width)) if lines.columns_needed[-1] == width else lines.out[1]
        return {
            "plan": plan,
            "lines": lines,
            "geometry": self.geometry,
            "moves": moves,
            "column_bits": _bits(max(high[1], width) * plan.blocks + low[1] * plan.blocks),
            "free_signed": lo < 0,
            "free_bits": max(2, _signed(lo, hi)) if lo < 0 else max(1, hi.bit_length()),
            "column_step": stepped(moves, {name: plan.advance(name)[0] for name in moves}, "column_t"),
            "slot_step": stepped(moves, {name: plan.slot_step(name) for name in moves}, "slot_t"),
            "slot_sum_step": stepped(moves, {name: plan.slot_step(name) for name in moves}, "slot_sum_t"),
            "needs": need,
            "column_end": high[1] * plan.blocks - 1,
            "slot_start": -low[0] % plan.slots,
            "column_start": -low[1] * plan.blocks,
            "clipped_text": self._clipped(clipped),
            "pads_columns": lines.padding[1][0] > 0 or high[1] > width,
            "padded_rows": self._padded_rows(),
            "fill": self.fill,
            "fill_word": fill_word(self.input, self.fill),
            "power": plan.pitch & (plan.pitch - 1) == 0,
            "slots_power": plan.slots & (plan.slots - 1) == 0,
        }

    def _clipped(self, first: int) -> str:
        """Whether the window is one of the columns from `first` on, seen from its last read."""
        lines, blocks = self.plan.lines, self.plan.blocks
        at = [(k * lines.stride[1] - lines.padding[1][0] + lines.reach[1]) * blocks - 1 for k in range(lines.out[1])]
        if first >= len(at) - 2:
            return f"column_q == column_t'({at[-2] if len(at) > 1 else 0})"
        tests = [f"column_q >= column_t'({at[first]})"] if at[first] else []  # no column is below 0
        tests += [f"column_q <= column_t'({at[-1]})"] if at[0] < 0 else []
        return " && ".join(tests) or "1'b1"

    def _padded_rows(self) -> list[str]:
        """For each row of taps that may lie outside of the frame, in which rows of windows it does."""
        lines, found = self.plan.lines, []
        rows = np.arange(lines.out[0]) * lines.stride[0] - lines.padding[0][0]
        for tap in range(lines.kernel[0]):
            at = rows + tap * lines.dilation[0]
            above, below = int((at < 0).sum()), int((at >= lines.frame[0]).sum())
            tests = [f"line_q < line_t'({above})"] if above else []
            tests += [f"line_q >= line_t'({lines.out[0] - below})"] if below else []
            if above + below >= lines.out[0]:
                tests = ["1'b1"]
            if tests:
                here = f"tap_row_q == tap_row_t'({tap})" if lines.kernel[0] > 1 else ""
                outside = tests[0] if len(tests) == 1 else f"({' || '.join(tests)})"
                found.append(" && ".join(filter(None, [here, outside if outside != "1'b1" or not here else ""])))
        return found

    def _needs(self) -> dict[str, int]:
        """By how much the need grows at each kind of move; those that do not occur are left out."""
        lines = self.plan.lines
        steps, rows, columns = lines.steps, *lines.out
        found = {"sample": int(steps[-1, -1])}
        if rows > 1:
            found["row"] = int(steps[-2 if lines.has_tail else 0, -1])
            if lines.last_row > 0 and int(steps[lines.last_row - 1, -1]) != found["row"]:
                found["last_row"] = int(steps[lines.last_row - 1, -1])
        if columns > 1:
            found["column"] = lines.stride[1]
            if int(steps[0, -2]) == 0:
                found["clipped"] = 0
        return found

    def cost(self) -> Cost:
        values, plan = self._values(), self.plan
        lines = plan.lines
        counts = {**dict(plan.nest), "line": lines.out[0], "slot": plan.slots, "write": plan.slots * plan.pitch}
        bits = {name: (count - 1).bit_length() for name, count in counts.items()}
        if not values["padded_rows"] and self._rows_alike:
            bits["line"] = 0  # synthesis sees that nothing depends on it
        bits |= {"column": values["column_bits"], "free": values["free_bits"], "begun": int(plan.begin > 0)}
        several = plan.slots > 1
        uneven = {
            "uneven_slots": several and not values["slots_power"],
            "uneven_pitch": several and not values["power"],
        }
        return window_cost(plan, bits, **uneven)

    @property
    def _rows_alike(self) -> bool:
        """Whether the last row of windows leads on as every other one does."""
        plan, needs = self.plan, self._needs()
        if plan.lines.has_tail or "last_row" in needs or needs.get("row", needs["sample"]) != needs["sample"]:
            return False
        return plan.slot_step("row") == plan.slot_step("sample")


def _bits(count: int) -> int:
    """Of a counter of so many values."""
    return max(1, (count - 1).bit_length())


def _signed(lo: int, hi: int) -> int:
    return max((~lo if lo < 0 else lo).bit_length(), hi.bit_length()) + 1


def window(
    name: str,
    x: Stream,
    geometry: Geometry,
    *,
    grouped: bool = False,
    fill: int = 0,
    block_ram: bool | None = None,
) -> Window:
    """The windows of `x`. By taps, `x`'s lanes stay; grouped, the frame has a third dimension of `x`'s beats."""
    assert x.frame == geometry.frame, f"{name}: windows on {geometry.frame}, not {x.frame}"
    assert min(geometry.out_frame) >= 1, f"{name}: no window of {geometry.kernel} fits"
    padded = np.array(geometry.padded_taps)[:, None]
    lo, hi, step = (np.array(side).reshape(x.beats, x.lanes) for side in (x.lo, x.hi, x.step))
    frame, features = geometry.out_frame, x.features
    if grouped:
        frame, features = (*frame, x.beats), x.lanes
        lo, hi, step = lo.min(0), hi.max(0), step.min(0)
    low = np.where(padded, np.minimum(lo.ravel(), fill), lo.ravel())
    high = np.where(padded, np.maximum(hi.ravel(), fill), hi.ravel())
    known = np.where(padded & (fill % (1 << step.ravel()) != 0), 0, step.ravel())
    sides = [tuple(int(n) for n in side.ravel()) for side in (low, high, known)]
    features *= geometry.taps
    out = replace(
        x, name=f"{name}_out", features=features, frame=frame, lo=sides[0], hi=sides[1], step=sides[2], lanes=x.lanes
    )
    plan = WindowPlan.of(geometry, x.beats, x.width, grouped, block_ram)
    return Window(name, (x,), (out,), geometry, grouped, fill, plan.block_ram)
