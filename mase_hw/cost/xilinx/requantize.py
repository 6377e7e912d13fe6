"""What one `mase_requantize` takes on the chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.cost.cost import Cost

DIRECT = 5  # what a LUT of six inputs can decide on beside the bit that it changes


def requantize_cost(
    parameters: Mapping[str, Any],
    *,
    operand: int = 0,
    result: tuple[int, int] = (0, 0),
    spare: int = 0,
    unsigned: int = 0,
) -> Cost:
    """What one `mase_requantize` with these parameters takes; `ff` is what a register of its result takes.

    Adding a constant is a carry chain without LUTs, from the constant's lowest bit up. A LUT for each bit that clamping
    can change, and trees for its conditions and for the tie of half to even. Output bits that are always 0, and zeros
    that a shift appends, take nothing; where saturation sets the latter, they are one bit.

    Where the number is unsigned and its width, `operand`, is known, `result` are the bounds of what comes out. `spare`
    inputs of the LUTs are taken by the register behind them. `unsigned` are the bits of a number without a sign whose
    requantize is not made for it.
    """
    shift, bits = parameters["Shift"], parameters["OutWidth"] - parameters["OutSigned"]
    down, up = max(0, shift), max(0, -shift)
    value = max(1, parameters["SumWidth"] - down) + up
    non_negative = not parameters["OutSigned"] or parameters["Rectify"]
    clamps = parameters["ClampLo"] or parameters["ClampHi"]
    half = parameters["HalfEven"] and down > 0
    held = bits if parameters["ClampHi"] else min(bits, value - 1)
    appended = min(up, held)
    moving = held - appended + bool(appended and parameters["ClampHi"])
    lut, ff, depth = moving * clamps, moving + (not non_negative), int(clamps)
    beyond = max(0, value - bits)  # the sign is one of these
    if beyond > DIRECT - spare and clamps:
        both = parameters["ClampHi"] and parameters["ClampLo"] and not non_negative  # two trees, and what joins them
        lut, depth = lut + (1 + both) * tree_luts(beyond) + both, depth + tree_luts(beyond) + both
    if half:  # the tie changes the lowest bit, in its LUT if there is room
        room = DIRECT - spare - (min(beyond, 2) if clamps else 0)
        lut, depth = lut + (not clamps) + (tree_luts(down) if down > room else 0), max(depth, 1 + (down > room))
    constant = parameters["Offset"] + (1 << (down - 1) if half else 0)
    top = _last_carry(constant, operand, parameters["SumWidth"]) if operand else parameters["SumWidth"]
    chain = top - ((constant & -constant).bit_length() - 1) if constant else 0
    carry = -(-chain // 4) if chain > 1 else 0
    known = operand or unsigned
    driven = chain - max(0, top - known) if known else chain  # above the number there are constants
    if top < parameters["SumWidth"]:  # the sign and what is above do not change, which synthesis sees
        left = 0 if result[0] == result[1] else min(ff, max(0, top - down) + moving - (held - appended))
        lut, ff = max(0, lut - (ff - left) * clamps) if left else 0, left
    return Cost(sites=lut + max(0, driven) * (carry > 0), lut=lut, ff=ff, carry=carry, depth=depth + 2 * (carry > 0))


def _last_carry(constant: int, operand: int, width: int) -> int:
    """Bits of an unsigned operand plus a constant that depend on the operand: a carry ends at a 0 of the constant."""
    zeros = (k for k in range(operand, width) if not constant >> k & 1)
    return next(zeros, width - 1) + 1


def tree_luts(inputs: int) -> int:
    """LUTs of six inputs that AND or OR so many, as a balanced tree."""
    return max(1, -(-(inputs - 1) // 5))
