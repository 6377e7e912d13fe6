"""Upsample: every position of a frame repeated, as nearest upsampling by whole factors does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.window import upsample_cost
from mase_hw.ir.component import REGISTERED, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Meaning, Repeated
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.plan import BLOCK_WORDS
from mase_hw.ops.window.upsample_control import UpsampleControl


@dataclass(frozen=True, eq=False)
class Upsample(Component):
    """A buffer of one row, or of one position where rows are not repeated."""

    kind = "upsample"
    counts_positions = True
    ready_paths = REGISTERED
    latency = 2
    factors: tuple[int, ...]  # one for each dimension of the frame
    block_ram: bool | None = None  # where the row is; None: by its length

    @property
    def in_block_ram(self) -> bool:
        return self.input.beats * self.width > BLOCK_WORDS if self.block_ram is None else self.block_ram

    @property
    def width(self) -> int:
        """Positions in the buffer."""
        return self.input.frame[1] if len(self.input.frame) == 2 and self.factors[0] > 1 else 1

    @property
    def repeats(self) -> tuple[int, int]:
        """How often a buffer is read, and a position one time after the other within."""
        if len(self.factors) == 1 or self.factors[0] == 1:
            return self.factors[-1], 1
        return self.factors[0], self.factors[1]

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    def meaning(self) -> Meaning:
        return Repeated(self.input.frame, tuple(self.factors))

    def control(self) -> Control:
        return UpsampleControl(self.input.beats, self.width, *self.repeats)

    @property
    def interval(self) -> int:
        return self.output.beats

    def instance(self) -> Instance:
        return Instance(template="upsample", values=self._values())

    def _values(self) -> dict[str, Any]:
        blocks, (rows, columns) = self.input.beats, self.repeats
        words = blocks * self.width
        found = [("block", blocks), ("repeat", columns), ("column", self.width), ("row", rows)]
        counters = [(name, count) for name, count in found if count > 1]
        names = [name for name, _ in counters]
        last = [f"{name}_last" for name in ("repeat", "row") if name in names]
        forward = "read_q + address_t'(1)"
        if words & (words - 1) or words == 1:
            forward = f"(read_q == address_t'({words - 1})) ? '0 : {forward}" if words > 1 else "'0"
        if columns > 1:
            whole = "block_last && " if blocks > 1 else ""
            back = f"read_q - address_t'({blocks - 1})" if blocks > 1 else "read_q"
            forward = f"({whole}!repeat_last) ? {back} : {forward}"
        block = "count_t'(block_q)" if blocks > 1 else "'0"
        ahead = f"repeat_last ? '0 : {block}" if columns > 1 else "'0"
        if rows > 1:
            ahead = f"!row_last ? count_t'(read_q) : {ahead}"
        return {
            "words": words,
            "width": self.width,
            "rows": rows,
            "factors": self.factors,
            "counters": counters,
            "read_next": forward,
            "ahead": ahead,
            "release": " && ".join(["issue", *last]),
            "block_ram": self.in_block_ram,
        }

    def cost(self) -> Cost:
        words, counts = self.input.beats * self.width, (self.input.beats, self.width, *self.repeats)
        return upsample_cost(self.input.width, words, self.in_block_ram, self.width, counts)


def upsample(name: str, x: Stream, factors: tuple[int, ...], block_ram: bool | None = None) -> Upsample:
    """`x` with every position repeated so many times in each dimension."""
    assert len(factors) == len(x.frame), f"{name}: {factors} of {x.frame}"
    frame = tuple(size * factor for size, factor in zip(x.frame, factors, strict=True))
    return Upsample(name, (x,), (replace(x, name=f"{name}_out", frame=frame),), factors, block_ram)
