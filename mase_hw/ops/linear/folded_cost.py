"""What a folded layer takes on the chip, from its structure: cells of a Xilinx UltraScale+ as Yosys maps them.

Few numbers are fitted (the names in capitals); the rest is counted: a LUT for each bit of a row and of an
accumulator, for each different column of a small ROM, and for what the control needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mase_hw.ir.cost import Cost
from mase_hw.ir.plumbing import memory_cells
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.folded_array import Bits, FoldedArray, Row
from mase_hw.ops.requantize_cost import requantize_cost

CONTROL = 14  # LUTs of the handshakes and of the double buffer
COUNTER = 1.4  # LUTs for each bit of a counter, its comparison with the last count included
BLOCK_RAMS = (
    (1, 512, 36),
    (1, 1024, 18),
    (1, 2048, 9),
    (1, 4096, 4),
    (1, 8192, 2),
    (1, 16384, 1),
)  # units, words, bits
SHIFT_REGISTER = 3  # from so many registers in a row on, Yosys makes one cell of them


def folded_cost(array: FoldedArray, requantize: Mapping[str, Any], out_bits: int) -> Cost:
    fold = array.fold
    q, acc = fold.p_out, array.acc_bits
    live = np.stack(array.live)  # [row of a lane, output lane, input lane]; what is always zero is left out
    counts = live.sum(1).T.ravel().tolist()
    rows = sum(count * row_luts(row, array.use_dsp) for row, count in zip(array.rows, counts, strict=True))
    chains = sum(count * -(-(row.after - row.shift) // 4) for row, count in zip(array.rows, counts, strict=True))
    entries = [stage[0].before if stage else array.rows[-1].after for stage in array.stages[1:]]
    sums = Cost(rows, 0, sum(entries) * q, chains)
    if array.accumulates:
        sums += Cost(acc * q, carry=-(-acc // 4) * q)
    sums += Cost(ff=acc * q)
    deepest = max(len(stage) for stage in array.stages[:-1] or ((),))
    depth = 2 * max(deepest, len(array.stages[-1]) + array.accumulates)
    ends = requantize_cost({**requantize, "Offset": 0}, spare=2 * (fold.parts > 1))  # the register behind it shifts
    finish = Cost(ends.lut * q, depth=ends.depth + 1)
    starts = starts_cost(array)
    products = Cost()
    if array.use_dsp:
        used = live[0]
        shared = np.logical_or.reduceat(used, range(0, q, 2)) if array.pairs else used
        dsp = int(shared.sum())
        # What the sums start from is delayed with the products; beside the first of them it is all there is to add.
        started = moving(_start_bits(array)).shape[1] - counts[0] * row_luts(array.rows[0], True)
        products = Cost(started, dsp=dsp, ff=array.product_bits * int(used.sum()) + starts.ff)
    parts = [sums, finish, products, weights_cost(array), starts, _inputs(array), _control(array)]
    return sum([*parts, _outputs(array, requantize, out_bits), Cost(depth=depth)], Cost())


def row_luts(row: Row, product: bool) -> int:
    """A LUT for each bit: a digit times x, and the sum so far. A product needs none where there is no sum yet."""
    return min(row.width, row.before - row.shift + 1) if product else row.width


def weights_cost(array: FoldedArray) -> Cost:
    fold = array.fold
    parts = [bits * fold.p_out for bits in array.part_bits]
    if array.block_rom:
        late = [(k, bits) for k, bits in enumerate(parts) if k]  # parts that move along before they are needed
        shifted = sum(bits for k, bits in late if k >= SHIFT_REGISTER)
        held = sum(k * bits for k, bits in late if k < SHIFT_REGISTER)
        return Cost(lutram=shifted, ff=held, bram=block_rams(fold.steps, sum(parts)))
    columns = sum(different(bits) for bits in array.rom_bits())
    address = (fold.steps - 1).bit_length() * (len([bits for bits in parts if bits]) - 1)
    return Cost(columns if fold.steps > 2 else 0, 0, columns + address)


def starts_cost(array: FoldedArray) -> Cost:
    if array.block_starts:
        return Cost(bram=block_rams(array.fold.blocks, array.fold.p_out * array.start_bits))
    columns = different(_start_bits(array))
    return Cost(columns if array.fold.blocks > 2 else 0, 0, columns)


def _start_bits(array: FoldedArray) -> Bits:
    """What the sums start from, [block, bit of a lane]; steps that do not start a sum have zeros."""
    values: Integers = np.array(array.starts, np.int64)
    bits = ((values[:, :, None] >> np.arange(array.start_bits)) & 1).astype(np.uint8).reshape(len(values), -1)
    return np.pad(bits, ((0, array.accumulates), (0, 0)))


def _inputs(array: FoldedArray) -> Cost:
    """The buffer, what is selected from it, and inputs on their way to later stages."""
    fold, bits = array.fold, array.x_bits
    width = fold.in_lanes * bits
    cells, deep = memory_cells(width, array.buffer_depth) * fold.banks, array.buffer_depth > 64
    buffer = Cost(lut=width * fold.banks * deep, lutram=cells)
    first = int(np.any(array.live, axis=(0, 1)).sum()) * bits
    if array.block_buffer:
        buffer, first = Cost(bram=block_rams(array.buffer_depth, width) * fold.banks), 0
    select = fold.p_in * bits * -(-(fold.slices - 1) // 3)  # a LUT of six inputs selects one of four
    uses: dict[int, list[int]] = {}
    lanes = np.any(array.live, axis=(0, 1))
    for s, stage in enumerate(array.stages):
        for row in stage:
            if lanes[row.lane]:
                uses.setdefault(row.lane, []).append(s)
    shifts = sum(found[0] + 1 >= SHIFT_REGISTER for found in uses.values())
    held = sum(found[-1] - (found[0] + 1 if found[0] + 1 >= SHIFT_REGISTER else 0) for found in uses.values())
    return buffer + Cost(select, shifts * bits, max(0, first + held * bits))


def _control(array: FoldedArray) -> Cost:
    fold = array.fold
    counts = (fold.slices, fold.words // fold.slices, fold.words // fold.slices, fold.blocks)
    bits = sum((count - 1).bit_length() for count in counts) + array.dense * (fold.steps - 1).bit_length()
    banks = 2 * fold.banks if fold.banks > 1 else 0
    flags = 2 * len(array.stages) + 2 * array.use_dsp + 7
    return Cost(lut=CONTROL + round(COUNTER * bits) + banks, ff=bits + fold.banks * (fold.banks > 1) + flags)


def _outputs(array: FoldedArray, requantize: Mapping[str, Any], out_bits: int) -> Cost:
    fold = array.fold
    if fold.parts > 1:
        clamps = requantize["ClampLo"] or requantize["ClampHi"]  # the LUTs that clamp also shift
        shifted = 0 if clamps else (fold.p_out - fold.out_lanes) * out_bits
        ends = 0 if fold.last_parts == fold.parts else len(array.stages) + array.use_dsp + 1  # flags on their way
        shifts = ends >= SHIFT_REGISTER
        return Cost(shifted + fold.parts, int(shifts), fold.p_out * out_bits + fold.parts + (0 if shifts else ends))
    return Cost(fold.joined if fold.joined > 1 else 0, ff=fold.out_lanes * out_bits + fold.joined)


def different(columns: Bits) -> int:
    """How many columns of a ROM are neither constant nor equal to another: what Yosys makes LUTs of."""
    return len({column.tobytes() for column in np.packbits(moving(columns), axis=0).T})


def moving(columns: Bits) -> Bits:
    """The columns that are not constant."""
    return columns[:, columns.min(0) != columns.max(0)] if columns.size else columns


def block_rams(depth: int, width: int) -> int:
    return min(units * -(-depth // words) * -(-width // bits) for units, words, bits in BLOCK_RAMS)
