"""WindowWide: a whole window in each beat, for a matrix that takes all taps at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.window import wide_cost
from mase_hw.geometry import Geometry
from mase_hw.ir.component import THROUGH, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Meaning, Windows
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.control import WideControl
from mase_hw.ops.window.lines import Lines
from mase_hw.ops.window.plan import BLOCK_WORDS
from mase_hw.ops.window.text import fill_word
from mase_hw.ops.window.window import window


@dataclass(frozen=True)
class Walk:
    """One dimension of the walk over a frame: `steps` of them, of which `size` take a position.

    Windows end at `first`, every `stride` steps, and at `last`.
    """

    size: int
    steps: int
    first: int
    last: int
    stride: int

    @staticmethod
    def of(lines: Lines, k: int) -> Walk:
        size, stride, before = lines.frame[k], lines.stride[k], lines.padding[k][0]
        first = lines.reach[k] - 1 - before
        assert first >= 0, "a window that is padding alone"
        last = first + (lines.out[k] - 1) * stride
        return Walk(size, max(size, last + 1), first, last, stride)

    def test(self, name: str) -> list[str]:
        """Whether a window ends here."""
        found = [f"{name}_q >= {name}_t'({self.first})"] if self.first else []
        found += [f"{name}_q <= {name}_t'({self.last})"] if self.last < self.steps - 1 else []
        return found + ([f"{name}_phase_q == {name}_phase_t'({self.first % self.stride})"] if self.stride > 1 else [])


@dataclass(frozen=True, eq=False)
class WindowWide(Component):
    """All taps of a window in one beat; the input has one position in each.

    The walk goes beyond the frame where windows do, and the next sample waits meanwhile. Were it let in, the registers
    of the right columns would be needed twice, once for padding and once for the next row's first positions.
    """

    kind = "window_wide"
    counts_positions = True
    ready_paths = THROUGH
    geometry: Geometry
    fill: int = 0
    block_ram: bool = False

    @cached_property
    def lines(self) -> Lines:
        return Lines.of(self.geometry)

    @cached_property
    def walks(self) -> tuple[Walk, Walk]:
        return Walk.of(self.lines, 0), Walk.of(self.lines, 1)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    def meaning(self) -> Meaning:
        return Windows(self.geometry, self.fill)

    def control(self) -> Control:
        rows, columns = self.walks
        return WideControl((rows.size, rows.steps, rows.first, rows.last, rows.stride),
                           (columns.size, columns.steps, columns.first, columns.last, columns.stride))  # fmt: skip

    @property
    def interval(self) -> int:
        return -(-self.walks[0].steps * self.walks[1].steps // self.output.positions)

    @property
    def latency(self) -> int:
        rows, columns = self.walks
        return rows.first * columns.steps + columns.first + 1

    def instance(self) -> Instance:
        return Instance(template="window_wide", values=self._values())

    def _values(self) -> dict[str, Any]:
        lines, (rows, columns) = self.lines, self.walks
        inside = [f"row_q < row_t'({rows.size})"] if rows.steps > rows.size else []
        inside += [f"column_q < column_t'({columns.size})"] if columns.steps > columns.size else []
        reach, read = lines.reach[0], {i * lines.dilation[0] for i in range(lines.kernel[0])}
        return {
            "lines": lines,
            "geometry": self.geometry,
            "steps": (rows.steps, columns.steps),
            "inside": " && ".join(inside) or "1'b1",
            "whole": " && ".join([*rows.test("row"), *columns.test("column")]) or "1'b1",
            "outside": [self._outside(reach - 1 - i * lines.dilation[0]) for i in range(lines.kernel[0])],
            "pads": any(map(any, self.geometry.padding)),
            "pads_left": self._pads_left,
            "unused_rows": [k for k in range(reach) if k not in read and k == 0],
            "fill": self.fill,
            "fill_word": fill_word(self.input, self.fill),
            "block_ram": self.block_ram,
        }

    @property
    def _pads_left(self) -> bool:
        """Whether padding at the left has to be set. Not so where the row above has left enough of it at its end."""
        (rows, columns), before = self.walks, self.lines.padding[1][0]
        return before > 0 and (rows.first == 0 or before > columns.steps - columns.size)

    def _outside(self, above: int) -> str:
        """Where the row so many rows above the one that enters is outside of the frame, or the column is."""
        (rows, columns), tests = self.walks, []
        if columns.last >= columns.size:
            tests.append(f"column_q >= column_t'({columns.size})")
        if above > rows.first:
            tests.append(f"row_q < row_t'({above})" if above < rows.steps else "1'b1")
        if rows.last - above >= rows.size:
            tests.append(f"row_q >= row_t'({rows.size + above})")
        return " || ".join(tests)

    def cost(self) -> Cost:
        lines, (rows, columns) = self.lines, self.walks
        stored = (lines.reach[0] - 1) * self.input.width
        held = lines.kernel[0] * lines.reach[1] * self.input.width
        beyond = sum(walk.steps > walk.size for walk in self.walks)
        counts = (rows.steps, columns.steps, *lines.stride)
        return wide_cost(stored, lines.frame[1], self.block_ram, held, counts, beyond)


def window_wide(
    name: str, x: Stream, geometry: Geometry, *, fill: int = 0, block_ram: bool | None = None
) -> WindowWide:
    """The windows of `x`, whose positions come in one beat each."""
    assert x.beats == 1, f"{name}: {x.beats} beats for a position"
    out = window(name, x, geometry, fill=fill).output
    deep = geometry.frame[-1] > BLOCK_WORDS if len(geometry.frame) == 2 else False
    block = deep if block_ram is None else block_ram
    return WindowWide(name, (x,), (replace(out, lanes=out.features),), geometry, fill, block)
