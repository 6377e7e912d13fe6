"""What line buffers take on the chip: cells of a Xilinx UltraScale+ as Yosys maps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.array import Array
from mase_hw.cost.xilinx.batch_norm import batch_norm_cost
from mase_hw.cost.xilinx.plumbing import block_rams


class Plan(Protocol):
    """What the formulas read of a window's plan."""

    @property
    def width(self) -> int: ...
    @property
    def slots(self) -> int: ...
    @property
    def pitch(self) -> int: ...
    @property
    def block_ram(self) -> bool: ...


DIVIDED = 0.6  # LUTs for each bit of an addition within a division
DIVIDED_SITES = 1.0
SLOT, FREE, LINE = 4.1, 3.56, 2.15  # LUTs for each bit of these counters of a window, with what they step by
UNEVEN_SLOTS = 11.1  # LUTs where the slots are no power of two
CHAINED, CHAINED_SLOT, CHAINED_LESS = 0.84, 4.1, 4.9  # further sites: carry chains that registers drive
CHAINED_PITCH, CHAINED_UNEVEN = 6.5, 2.3  # where slots begin at no power of two, and where they are none
SHORT = 2  # bits of a counter that has no carry chain
WIDE, WIDE_BEYOND, WIDE_STORED = 8.75, 4.75, 7.55  # LUTs of a window in one beat: dimensions beyond the frame, a memory
WIDE_CHAINED, WIDE_STORED_CHAINED = 2.7, 6.2
REPEATED, REPEATED_BIT, REPEATED_CHAINED = 5.2, 6.4, 4.9  # of an upsampling: for each bit of an address, of a column
NARROW_DEPTH, NARROW_BITS = 32, 14  # of a RAM32M16
DEEP_DEPTH, DEEP_BITS = 64, 7  # of a RAM64M8


def line_memory(width: int, depth: int, block: bool) -> Cost:
    """A memory with one write and one read port: block RAM, or LUT RAM and what selects from several of them."""
    if block:
        return Cost(bram=block_rams(depth, width))
    narrow, deep = -(-depth // NARROW_DEPTH), -(-depth // DEEP_DEPTH)
    cells = min(narrow * -(-width // NARROW_BITS), deep * -(-width // DEEP_BITS))
    banks = deep if cells == deep * -(-width // DEEP_BITS) else narrow
    return Cost(lut=width * -(-(banks - 1) // 3), lutram=cells)


def window_cost(plan: Plan, counters: Mapping[str, int], *, uneven_slots: bool, uneven_pitch: bool) -> Cost:
    """`counters` are the bits of its counters, by name. Slots or their pitch are uneven if no power of two."""
    memory = line_memory(plan.width, plan.slots * plan.pitch, plan.block_ram)
    bits, slot = sum(counters.values()), counters["slot"]
    lut = SLOT * slot + FREE * counters["free"] + LINE * counters["line"] + UNEVEN_SLOTS * uneven_slots
    bare = CHAINED * bits - CHAINED_SLOT * slot - CHAINED_LESS
    bare += CHAINED_UNEVEN * uneven_slots + CHAINED_PITCH * uneven_pitch
    carry = sum(-(-each // 4) for each in counters.values() if each > SHORT)
    control = Cost(sites=round(lut) + max(0, round(bare)), lut=round(lut), carry=carry, depth=5)
    return memory + control + Cost(ff=bits + 1 + (0 if plan.block_ram else plan.width))


def reduce_cost(lanes: int, bits: int, out_bits: int, counts: Sequence[int], *, most: bool, selects: bool) -> Cost:
    """Results so far of `bits` bits; of the largest also the output register. `counts` are those of its counters.

    The largest is compared in pairs of bits and loaded; where several are kept, what is loaded is selected.
    """
    control = Cost(lut=6, ff=2, depth=4) + sum((_counter(count) for count in counts if count > 1), Cost())
    if not most:
        lane = Cost(lut=bits, ff=bits, carry=-(-bits // 4))
    else:
        compared = -(-3 * bits // 4)
        lane = Cost(lut=compared + selects * bits, ff=bits + out_bits, carry=-(-bits // 8))
    return lane.times(lanes) + control


def kept_cost(lanes: int, bits: int, blocks: int, positions: int) -> Cost:
    """What a reduction over all positions has beside: a memory of results, or none, and a stage behind it."""
    memory = line_memory(lanes * bits, blocks, block=False) if blocks > 1 else Cost(ff=lanes * bits)
    return memory + Cost(sites=(positions - 1).bit_length(), lut=4, carry=-(-(positions - 1).bit_length() // 4))


def division_cost(sum_bits: int, factor: int, ties: int) -> Cost:
    """A multiplication by a constant: an addition for each of its digits but one, in base 2 with signs."""
    digits = ((3 * factor) ^ factor).bit_count()
    each = sum_bits + 2
    lut = round(DIVIDED * (digits - 1) * each) + ties // 5
    sites = round(DIVIDED_SITES * (digits - 1) * each) + each
    return Cost(sites=sites, lut=lut, carry=-(-each // 4) * digits, depth=2 * digits)


def _counter(count: int) -> Cost:
    bits = (count - 1).bit_length()
    chained = bits > SHORT
    return Cost(sites=bits + chained * (bits // 2), lut=bits, ff=bits, carry=-(-bits // 4) * chained)


def depthwise_cost(array: Array, requantize: Mapping[str, Any]) -> Cost:
    """As a batch norm whose sums go on over the taps."""
    lanes = array.fold.p_out
    steps, latency = array.fold.steps, len(array.stages) + 4
    sums = Cost(lut=array.acc_bits, carry=-(-array.acc_bits // 4)).times(lanes)
    return batch_norm_cost(array, steps, latency, requantize) + sums


def wide_cost(stored: int, depth: int, block: bool, held: int, counts: Sequence[int], beyond: int) -> Cost:
    """A memory of `stored` bits for each column, `held` bits of registers, and counters of the walk.

    The walk goes beyond the frame in `beyond` dimensions.
    """
    memory = line_memory(stored, depth, block) if stored else Cost()
    counters = sum((_counter(count) for count in counts if count > 1), Cost())
    lut = round(WIDE + WIDE_BEYOND * beyond + WIDE_STORED * (stored > 0))
    sites = lut + round(WIDE_CHAINED + WIDE_STORED_CHAINED * (stored > 0))
    return memory + Cost(sites=sites, lut=lut, ff=counters.ff + held + 1, carry=counters.carry, depth=3 + (stored > 0))


def upsample_cost(width: int, words: int, block: bool, columns: int, counts: Sequence[int]) -> Cost:
    """A buffer of `columns` positions with its counters, and the output register."""
    memory = line_memory(width, words, block)
    counters = sum((_counter(count) for count in (*counts, words, words, words + 1) if count > 1), Cost())
    index = (words - 1).bit_length()
    lut = round(REPEATED + REPEATED_BIT * index)
    sites = lut + round(REPEATED_CHAINED * (columns - 1).bit_length())
    ff = counters.ff + 1 + (0 if block else width)
    return memory + Cost(sites=sites, lut=lut, ff=ff, carry=counters.carry, depth=max(1, index - 1))
