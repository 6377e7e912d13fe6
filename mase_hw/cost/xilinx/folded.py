"""What a folded layer takes on the chip, from its structure: cells of a Xilinx UltraScale+ as Yosys maps them.

Few numbers are fitted (the names in capitals); the rest is counted: a LUT for each bit of a row and of an
accumulator, for each different column of a small ROM, and for what the control needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.array import Array, ArrayRow, Bits
from mase_hw.cost.xilinx.plumbing import block_rams, chain, memory_cells
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.numerics.rounding import Integers

CONTROL = 14  # LUTs of the handshakes and of the double buffer
COUNTER = 1.4  # LUTs for each bit of a counter, its comparison with the last count included
CHAINED = 3  # bits from which on a counter is a carry chain
CHAINED_COUNTER = 1.0  # LUTs for each of its bits then
SELECT = 0.42  # LUTs for each further word to select from, where there are many: not all of them have six inputs in use
DEEP = 6  # address bits of a ROM behind counters from which on Yosys shares parts between columns, to no gain
DEEP_COLUMN = 3.9  # LUTs of a column then, up to 64 words
FURTHER_COLUMN = 5.0  # and for each further 64 words
SHIFT_REGISTER = 3  # from so many registers in a row on, Yosys makes one cell of them


def folded_cost(array: Array, requantize: Mapping[str, Any], out_bits: int) -> Cost:
    fold = array.fold
    q, acc = fold.p_out, array.acc_bits
    live = np.stack(array.live)  # [row of a lane, output lane, input lane]; what is always zero is left out
    counts = live.sum(1).T.ravel().tolist()
    sums = rows_cost(array, counts)
    entries = [stage[0].before if stage else array.rows[-1].after for stage in array.stages[1:]]
    sums += Cost(ff=(sum(entries) + acc) * q)
    if array.accumulates:
        sums += Cost(lut=acc * q, carry=-(-acc // 4) * q)
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
        products = Cost(sites=0, lut=started, dsp=dsp, ff=array.product_bits * int(used.sum()) + starts.ff)
    parts = [sums, finish, products, weights_cost(array), starts, _inputs(array), _control(array)]
    return sum([*parts, _outputs(array, requantize, out_bits), Cost(depth=depth)], Cost())


def rows_cost(array: Array, counts: Sequence[int]) -> Cost:
    """Additions of rows to running sums; `counts` says how many lanes have each of them.

    Above a row the carry chain goes on, and the running sum drives it without a LUT cell.
    """
    found = Cost()
    for row, count in zip(array.rows, counts, strict=True):
        lut, chain = row_luts(row, array.use_dsp), row.after - row.shift
        driven = min(chain, max(row.width, row.before - row.shift))
        found += Cost(sites=driven, lut=lut, carry=-(-chain // 4)).times(count)
    return found


def row_luts(row: ArrayRow, product: bool) -> int:
    """A LUT for each bit: a digit times x, and the sum so far. A product needs none where there is no sum yet."""
    return min(row.width, row.before - row.shift + 1) if product else row.width


def weights_cost(array: Array) -> Cost:
    fold = array.fold
    parts = [bits * fold.p_out for bits in array.part_bits]
    if array.block_rom:
        late = [(k, bits) for k, bits in enumerate(parts) if k]  # parts that move along before they are needed
        shifted = sum(bits for k, bits in late if k >= SHIFT_REGISTER)
        held = sum(k * bits for k, bits in late if k < SHIFT_REGISTER)
        return Cost(lutram=shifted, ff=held, bram=block_rams(fold.steps, sum(parts)))
    found = [different(bits) for bits in array.rom_bits()]
    columns = sum(found)
    address = (fold.steps - 1).bit_length() * (len([bits for bits in parts if bits]) - 1)
    shared = round((DEEP_COLUMN - 1) * found[0]) if _shares(array) else 0
    shared += round(FURTHER_COLUMN * max(0, fold.steps / 64 - 1) * columns)
    return Cost(lut=columns + shared if fold.steps > 2 else 0, ff=columns + address)


def _shares(array: Array) -> bool:
    """Whether the first stage's ROM, which the counters address directly, is larger than its columns are many."""
    bits = [(count - 1).bit_length() for _, count in array.counters]
    return sum(bits) >= DEEP and bits[0] >= CHAINED


def starts_cost(array: Array) -> Cost:
    if array.block_starts:
        return Cost(bram=block_rams(array.fold.blocks, array.fold.p_out * array.start_bits))
    columns, blocks = different(_start_bits(array)), array.fold.blocks
    each = DEEP_COLUMN + FURTHER_COLUMN * max(0, blocks / 64 - 1) if (blocks - 1).bit_length() >= DEEP else 1
    return Cost(lut=round(columns * each) if blocks > 2 else 0, ff=columns)


def _start_bits(array: Array) -> Bits:
    """What the sums start from, [block, bit of a lane]; steps that do not start a sum have zeros."""
    values: Integers = np.array(array.starts, np.int64)
    bits = ((values[:, :, None] >> np.arange(array.start_bits)) & 1).astype(np.uint8).reshape(len(values), -1)
    return np.pad(bits, ((0, array.accumulates), (0, 0)))


def _inputs(array: Array) -> Cost:
    """The buffer, what is selected from it, and inputs on their way to later stages."""
    fold, bits = array.fold, array.x_bits
    width = fold.in_lanes * bits
    cells, deep = memory_cells(width, array.buffer_depth) * fold.banks, array.buffer_depth > 64
    buffer = Cost(lut=width * fold.banks * deep, lutram=cells)
    first = int(np.any(array.live, axis=(0, 1)).sum()) * bits
    if array.block_buffer:
        buffer, first = Cost(bram=block_rams(array.buffer_depth, width) * fold.banks), 0
    each = max(-(-(fold.slices - 1) // 3), SELECT * (fold.slices - 1))  # a LUT of six inputs selects one of four
    select = round(fold.p_in * bits * each)
    uses: dict[int, list[int]] = {}
    lanes = np.any(array.live, axis=(0, 1))
    for s, stage in enumerate(array.stages):
        for row in stage:
            if lanes[row.lane]:
                uses.setdefault(row.lane, []).append(s)
    shifts = sum(found[0] + 1 >= SHIFT_REGISTER for found in uses.values())
    held = sum(found[-1] - (found[0] + 1 if found[0] + 1 >= SHIFT_REGISTER else 0) for found in uses.values())
    return buffer + Cost(select, shifts * bits, max(0, first + held * bits))


def _control(array: Array) -> Cost:
    fold = array.fold
    words = fold.words // fold.slices
    counters = [(count - 1).bit_length() for count in (fold.slices, words, words, fold.blocks)]
    counters += [(fold.steps - 1).bit_length()] * array.dense
    chains = sum((chain(bits) for bits in counters if bits >= CHAINED), Cost())
    banks = 2 * fold.banks if fold.banks > 1 else 0
    flags = 2 * len(array.stages) + 2 * array.use_dsp + 7
    counting = sum(bits * (CHAINED_COUNTER if bits >= CHAINED else COUNTER) for bits in counters)
    lut = CONTROL + round(counting) + banks
    return Cost(lut=lut, ff=sum(counters) + fold.banks * (fold.banks > 1) + flags) + chains


def _outputs(array: Array, requantize: Mapping[str, Any], out_bits: int) -> Cost:
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
