"""Tables of a folded layer as literals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ops.linear.folded_array import Bits


def words(rom: Bits) -> list[str]:
    """Each row of bits, lowest first, as a hexadecimal literal."""
    count = rom.shape[1]
    octets = np.packbits(rom, axis=1, bitorder="little")[:, ::-1]
    text = octets.tobytes().hex()
    step, keep = 2 * octets.shape[1], -(-count // 4)
    return [f"{count}'h{text[k + step - keep : k + step]}" for k in range(0, len(text), step)]


def word(values: Sequence[int], width: int) -> str:
    """Unsigned numbers of `width` bits side by side in one literal, the first in the lowest bits."""
    bits = sum(value << (n * width) for n, value in enumerate(values))
    return f"{width * len(values)}'h{bits:0{-(-width * len(values) // 4)}x}"
