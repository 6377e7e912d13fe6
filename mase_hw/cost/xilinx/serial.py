"""What a serial layer takes: digits on their way, tables and additions, accumulators, and the requantizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.cost.cost import Cost

CONTROL_LUTS = 10


@dataclass(frozen=True)
class SerialShape:
    """A serial layer as its formula sees it."""

    digits: int  # of a vector
    groups: int  # of outputs
    stages: int
    adders_per_stage: int
    late_levels: int  # additions in a row in the last stage
    hold: bool  # finished sums have a register of their own
    group_held: bool  # and which group they are of has one too
    inputs: tuple[tuple[int, int], ...]  # bits of each input that takes part, and of its digits
    luts: int  # of tables and of additions
    sums: tuple[tuple[int, int], ...]  # carry chains: bits, and bits that one operand drives without a LUT cell
    accumulators: tuple[tuple[int, int], ...]  # bits of each, and of its finished sum
    registers: int  # bits between the stages


def serial_cost(shape: SerialShape, ends: Sequence[Cost]) -> Cost:
    """`ends` is what each row's requantize takes. Digits that are loaded behind another take a multiplexer a bit."""
    finish = sum(ends, Cost())
    lut = CONTROL_LUTS + shape.luts
    lut += sum(whole - (digit if shape.groups == 1 else 0) for whole, digit in shape.inputs)
    ff = 2 + shape.digits.bit_length() + shape.stages + (shape.groups - 1).bit_length() * (1 + shape.group_held)
    ff += sum(digit * shape.digits for _, digit in shape.inputs)
    ff += sum(acc + total * shape.hold for acc, total in shape.accumulators) + shape.registers
    carry = sum(-(-bits // 4) for bits, _ in shape.sums)
    late, early = 2 * shape.late_levels, 1 + 2 * shape.adders_per_stage if shape.stages > 1 else 0
    depth = max(early, late, finish.depth) if shape.hold else max(early, late + finish.depth)
    sites = lut + sum(bare for _, bare in shape.sums)
    return Cost(sites=sites, lut=lut, ff=ff, carry=carry, depth=depth) + finish


def grouped_constant(bits: int, varying: int, driven: int, *, rest: int) -> Cost:
    """A constant that depends on the group, added to a sum of `driven` bits; `varying` of its bits depend on it.

    `rest` is the depth of what follows.
    """
    if not driven:
        return Cost(lut=varying, depth=rest)
    bare = max(0, driven - varying)
    return Cost(sites=varying + bare, lut=varying, carry=-(-bits // 4), depth=rest + 2)
