"""The multipliers of a folded layer: rows that are added one after another, in pipeline stages, and their constants.

LUTs have no signed numbers to extend: a row is held as an unsigned number, that is with its sign bit inverted. What
that adds, what complements lack, the rounding's half and the bias are one constant for each output, added once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from mase_hw.ir.stream import Stream
from mase_hw.numerics import signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.digits import Digit, digits_of, levels
from mase_hw.ops.linear.fold import Fold

Bits = npt.NDArray[np.uint8]
DSP_WIDE, DSP_NARROW = 27, 18  # signed operands of a DSP48E2's multiplier
BLOCK_DEPTH = 64  # a deeper ROM goes to block RAM: a LUT holds 64 bits
BUFFER_DEPTH = 128  # a deeper input buffer too
SHALLOW = 16  # words of an input buffer that no block RAM is asked for


@dataclass(frozen=True)
class Row:
    """One addition: `width` bits, for input lane `lane`, at `shift`; `bits` of the ROM say which multiple of x."""

    lane: int
    shift: int
    width: int
    bits: int
    before: int  # bits of the running sum without it and with it
    after: int
    digit: Digit | None  # None: a product from a DSP


@dataclass(frozen=True, eq=False)
class FoldedArray:
    """What the template, the control model and the cost model need to know of the array."""

    x: Stream
    fold: Fold
    matrix: Integers  # [out, in]
    constants: tuple[int, ...]  # bias and half of each output
    product_shift: int
    sum_bits: int  # of the finished sum, signed
    adders_per_stage: int
    use_dsp: bool
    block_ram: bool | None = None  # where weights and inputs are; None: by the depth of each memory

    @cached_property
    def x_unsigned(self) -> bool:
        return min(self.x.lo) >= 0

    @cached_property
    def x_bits(self) -> int:
        """Bits of an input that can be anything but copies of its sign."""
        lo, hi = min(self.x.lo), max(self.x.hi)
        bits = max(1, hi.bit_length()) if self.x_unsigned else signed_width(lo, hi)
        return min(bits, self.x.fixed.width)

    @cached_property
    def weight_range(self) -> tuple[int, int]:
        return min(0, int(self.matrix.min())), max(0, int(self.matrix.max()))

    @cached_property
    def digits(self) -> tuple[Digit, ...]:
        return levels(*self.weight_range)

    @cached_property
    def product_bits(self) -> int:
        """Bits of a product in a DSP, with room for the one that the product below may borrow; never fewer than x."""
        reach = (1 << self.x_bits) - 1 if self.x_unsigned else 1 << (self.x_bits - 1)
        most = max(1, *(abs(w) for w in self.weight_range)) * reach
        return signed_width(-most - 1, most)

    @cached_property
    def pairs(self) -> bool:
        """Whether two outputs share a DSP: (w1 << product_bits) + w0, times x."""
        lo, hi = self.weight_range
        wide = self.product_bits + signed_width(lo - 1, hi)
        narrow = self.x_bits + self.x_unsigned
        fits = (wide <= DSP_WIDE and narrow <= DSP_NARROW) or (wide <= DSP_NARROW and narrow <= DSP_WIDE)
        return self.use_dsp and fits and self.fold.p_out > 1

    @cached_property
    def kinds(self) -> list[tuple[int, int, int, Digit | None]]:
        """The rows of one lane: shift, width, bits in the ROM, digit."""
        if not self.use_dsp:
            return [(digit.shift, digit.row_bits(self.x_bits), digit.bits, digit) for digit in self.digits]
        lo, hi = self.weight_range
        return [(0, self.product_bits, signed_width(lo - self.pairs, hi), None)]

    @cached_property
    def acc_bits(self) -> int:
        """Everything is added modulo two to this power; no row reaches beyond."""
        return max(self.sum_bits, self.product_shift + max(shift + width for shift, width, _, _ in self.kinds))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """In the order of their additions: lane by lane, from the lowest digit up."""
        found: list[Row] = []
        most, before = max(max(row) for row in self.starts), self.start_bits
        for lane in range(self.fold.p_in):
            for up, width, bits, digit in self.kinds:
                shift = up + self.product_shift
                most += ((1 << width) - 1) << shift
                after = min(self.acc_bits, max(before, most.bit_length()))
                found.append(Row(lane, shift, width, bits, before, after, digit))
                before = after
        return tuple(found)

    @property
    def accumulates(self) -> bool:
        return self.fold.words > 1

    @cached_property
    def stages(self) -> tuple[tuple[Row, ...], ...]:
        """Rows by pipeline stage, evenly; the addition to the accumulator, the last of all, counts too."""
        adders = len(self.rows) + self.accumulates
        count = max(1, -(-adders // self.adders_per_stage))
        return tuple(
            tuple(row for k, row in enumerate(self.rows) if k * count // adders == stage) for stage in range(count)
        )

    @cached_property
    def tiles(self) -> Integers:
        """Weights by [step, output lane, input lane], padded with zeros."""
        fold = self.fold
        rows = padded(self.matrix, fold.out_lanes, fold.p_out, fold.blocks)
        both = padded(rows.T, fold.in_lanes, fold.p_in, fold.words)
        tiles = both.reshape(fold.words, fold.p_in, fold.blocks, fold.p_out).transpose(2, 0, 3, 1)
        return tiles.reshape(fold.steps, fold.p_out, fold.p_in)

    @cached_property
    def live(self) -> list[npt.NDArray[np.bool_]]:
        """For each row of a lane, [output lane, input lane]: whether it is ever anything but zero times x."""
        if self.use_dsp:
            return [(self.tiles != 0).any(0)]
        return [(value != 0).any(0) for value in digits_of(self.tiles, self.digits)]

    @cached_property
    def _complements(self) -> Integers:
        """For each output, what its complemented rows lack."""
        if self.use_dsp:
            return np.zeros(len(self.matrix), np.int64)
        values = digits_of(self.matrix, self.digits)
        parts = [(value < 0).sum(1) << digit.shift for value, digit in zip(values, self.digits, strict=True)]
        return np.asarray(sum(parts), np.int64)

    @cached_property
    def totals(self) -> list[int]:
        """What must be added to the rows of each output to give its sum."""
        signed = self.use_dsp or not self.x_unsigned
        offset = (
            0 if signed else 1 << (self.x_bits - 1)
        )  # taken as signed, with its top bit inverted, x is less by this
        inverted = self.fold.words * self.fold.p_in * sum(1 << (shift + width - 1) for shift, width, _, _ in self.kinds)
        sums = zip(self.constants, self._complements.tolist(), self.matrix.sum(1).tolist(), strict=True)
        return [
            constant + ((lacking + offset * weights - inverted) << self.product_shift)
            for constant, lacking, weights in sums
        ]

    @property
    def base(self) -> int:
        """What every accumulator starts from; the rest is in `starts`."""
        return min(self.totals) % (1 << self.acc_bits) if self.accumulates else 0

    @cached_property
    def starts(self) -> list[list[int]]:
        """Of each block and lane: what its first running sum starts from."""
        low = min(self.totals) if self.accumulates else 0
        mask = (1 << self.acc_bits) - 1
        values = np.array([(total - low) & mask for total in self.totals], dtype=np.int64)
        rows = padded(values[:, None], self.fold.out_lanes, self.fold.p_out, self.fold.blocks)
        return [list(map(int, row)) for row in rows.reshape(self.fold.blocks, self.fold.p_out)]

    @cached_property
    def start_bits(self) -> int:
        most = max(max(row) for row in self.starts)
        return min(self.acc_bits, max(most.bit_length(), self.product_shift + 1))

    @property
    def block_rom(self) -> bool:
        return self.fold.steps > BLOCK_DEPTH if self.block_ram is None else self.block_ram

    @property
    def counters(self) -> list[tuple[str, int]]:
        """What a step's place is counted by, innermost first; a counter that would not move is left out."""
        fold = self.fold
        found = [("slice", fold.slices), ("word", fold.words // fold.slices), ("block", fold.blocks)]
        return [(name, count) for name, count in found if count > 1]

    @property
    def dense(self) -> bool:
        """Whether a ROM's address is counted by itself: side by side, the counters would leave gaps in block RAM."""
        return self.block_rom and any(count & (count - 1) for _, count in self.counters[:-1])

    @property
    def block_starts(self) -> bool:
        return self.fold.blocks > BLOCK_DEPTH and self.block_ram is not False

    @property
    def buffer_depth(self) -> int:
        """Words of both halves of the input buffer, or beats where these are wider."""
        return 2 << (self.fold.words // self.fold.slices - 1).bit_length()

    @property
    def block_buffer(self) -> bool:
        deep = self.buffer_depth > (BUFFER_DEPTH if self.block_ram is None else SHALLOW)
        return deep and self.block_ram is not False and self.fold.slices == 1  # what is selected from is not registered

    @property
    def part_bits(self) -> list[int]:
        """Bits of the ROM for one output that each stage reads."""
        return [sum(row.bits for row in stage) for stage in self.stages]

    def rom_bits(self) -> list[Bits]:
        """For each stage the bits of its rows, [step, output lane x bit], lowest first."""
        tiles = self.tiles
        codes = [tiles] if self.use_dsp else digits_of(tiles, self.digits)
        if self.pairs:
            paired = tiles.copy()
            last = self.fold.p_out // 2 * 2
            paired[:, 1:last:2] -= tiles[:, 0:last:2] < 0  # what the product below borrows
            codes = [paired]
        found = []
        for stage in self.stages:
            columns = [
                (codes[0 if row.digit is None else row.digit.shift // 2][:, :, row.lane] >> bit & 1).astype(np.uint8)
                for row in stage
                for bit in range(row.bits)
            ]
            found.append(
                np.stack(columns, -1).reshape(len(tiles), -1) if columns else np.zeros((len(tiles), 0), np.uint8)
            )
        return found


def padded(rows: Integers, lanes: int, p: int, count: int) -> Integers:
    """Rows in the order in which the array meets them: `count` groups of `p`, zeros where a group is not whole."""
    width = -(-lanes // p) * p if lanes > p else lanes
    beats = rows.reshape(-1, lanes, rows.shape[1])
    wide = np.pad(beats, ((0, 0), (0, width - lanes), (0, 0))).reshape(-1, rows.shape[1])
    return np.pad(wide, ((0, count * p - len(wide)), (0, 0)))
