"""What components take that only move beats, and the small things that every control has: counters, memories."""

from __future__ import annotations

from mase_hw.cost.cost import Cost

RAM_DEPTH = 64  # words that one cell of a LUT memory holds
BLOCK_RAMS = (
    (1, 512, 36),
    (1, 1024, 18),
    (1, 2048, 9),
    (1, 4096, 4),
    (1, 8192, 2),
    (1, 16384, 1),
)  # units, words, bits
CELL_COST = 16  # registers that cost Yosys as much as a cell of a LUT memory
SHORT = 3  # bits of a FIFO's index that are counted without carry chains
BLOCK_WIDTH = 28  # bits of a beat from which on Yosys puts a FIFO of several such cells into block RAM


def skid_buffer(width: int) -> Cost:
    return Cost(lut=width + 3, ff=2 * width + 2, depth=1)


def fifo(width: int, depth: int) -> Cost:
    if depth == 1:
        return Cost(lut=2, ff=width + 1, depth=1)
    index, deep = max(1, (depth - 1).bit_length()), -(-depth // RAM_DEPTH)
    lut = 3 * index + 5 + 2 * wraps(depth)
    if deep > 1:  # a multiplexer over several RAMs, and which of them is written
        lut += width * -(-(deep - 1) // 3) + 2 * deep
    ff = 3 * index + depth.bit_length()  # one index more than the RTL names, as measured
    if width * depth <= CELL_COST * memory_cells(width, depth):  # few bits: registers, their enables, a multiplexer
        lut += depth - 1 + width * -(-(depth - 1) // 3)
        return Cost(lut=lut, ff=ff + width * depth, depth=min(index, 2))
    held = Cost(lut=lut, lutram=memory_cells(width, depth), ff=ff)
    if index <= SHORT:
        return held + Cost(carry=int(index > 1), depth=min(index, 2))
    chains = chain(index, driven=0).times(3) + Cost(sites=2 * index + 2)  # the third is driven by LUTs
    if deep > 1 and width > BLOCK_WIDTH:  # what is written is read a cycle later, so it passes by in registers
        held = Cost(lut=lut, ff=ff + width - index, bram=block_rams(depth, width))
    return held + chains + Cost(depth=4 + (deep > 1))


def gather(width: int, ratio: int) -> Cost:
    """`width` are the bits of a narrow beat."""
    index = max(1, (ratio - 1).bit_length())
    lut = ratio + 3 + index * wraps(ratio)
    return Cost(lut=lut, ff=ratio * width + index + 1, depth=3) + counter(index)


def scatter(width: int, ratio: int) -> Cost:
    """`width` are the bits of a narrow beat."""
    index = max(1, (ratio - 1).bit_length())
    lut = (ratio - 1) * width + 5 + index * wraps(ratio)
    return Cost(lut=lut, ff=ratio * width + index + 1, depth=3) + counter(index)


def wraps(count: int) -> bool:
    """Whether a counter of so many steps has to be set back to 0: it does not overflow to it."""
    return count & (count - 1) != 0


def counter(bits: int) -> Cost:
    """The carry chain of a counter, driven by its registers; one bit toggles without."""
    return chain(bits) if bits > 1 else Cost()


def chain(bits: int, driven: int | None = None) -> Cost:
    """A carry chain without LUT cells: something else drives all of its bits, or `driven` of them."""
    return Cost(sites=bits if driven is None else driven, carry=-(-bits // 4))


def memory_cells(width: int, depth: int) -> int:
    """RAM cells of a small memory with one write and one read port: 14 bits by 32 or 7 bits by 64 in a cell."""
    return -(-width // 14) if depth <= 32 else -(-width // 7) * -(-depth // RAM_DEPTH)


def block_rams(depth: int, width: int) -> int:
    """Block RAMs of 18 Kbit that hold so many words of so many bits."""
    return min(units * -(-depth // words) * -(-width // bits) for units, words, bits in BLOCK_RAMS)
