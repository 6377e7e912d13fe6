"""Sums as text for comments: what a signal, an output or a row of a ROM stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mase_hw.numerics.rounding import Integers

MOST_TERMS = 16  # of a sum; a comment is read, not searched


def terms(pairs: Iterable[tuple[int, str]], most: int = MOST_TERMS) -> str:
    """`5*x0 - 12*x7 + x9`; terms of zero are left out, and those after the first `most` are counted."""
    used = [(factor, name) for factor, name in pairs if factor]
    text = ""
    for factor, name in used[:most]:
        size = name if abs(factor) == 1 else f"{abs(factor)}*{name}"
        if text:
            text += f" {'-' if factor < 0 else '+'} {size}"
        else:
            text = f"-{size}" if factor < 0 else size
    left = len(used) - most
    return f"{text} + ... ({left} more)" if left > 0 else text or "0"


def output_equation(weights: Integers, bias: int, product_shift: int) -> str:
    """`requantize(5*x0 - 12*x7 + 40)`: a row of the matrix, and its bias at the accumulator's binary point."""
    total = terms((int(weight), f"x{i}") for i, weight in enumerate(weights))
    if product_shift and total != "0":
        total = f"{1 << product_shift}*({total})"
    if bias:
        total = f"{total} {'-' if bias < 0 else '+'} {abs(bias)}" if total != "0" else str(bias)
    return f"requantize({total})"


def tile_equations(tile: Integers, outputs: Sequence[int], inputs: Sequence[int], most: int = MOST_TERMS) -> str:
    """`y0 += 5*x0 - x1; y1 += ...`: the weights [output, input] of one step; indices below 0 are padding."""
    parts: list[str] = []
    for row, output in zip(tile, outputs, strict=True):
        if output < 0:
            continue
        if most <= 0:
            return "; ".join([*parts, "..."])
        pairs = [(weight, f"x{i}") for weight, i in zip(row.tolist(), inputs, strict=True) if i >= 0]
        parts.append(f"y{output} += {terms(pairs, most)}")
        most -= max(1, sum(weight != 0 for weight, _ in pairs))
    return "; ".join(parts) or "padding"
