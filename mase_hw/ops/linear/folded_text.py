"""Tables of a folded layer as literals, and what their rows stand for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ops.linear.equation import tile_equations
from mase_hw.ops.linear.folded_array import Bits, FoldedArray, padded


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


def step_equations(array: FoldedArray) -> list[str]:
    """The weights of each step as equations."""
    fold = array.fold
    outputs = padded(np.arange(1, fold.outputs + 1)[:, None], fold.out_lanes, fold.p_out, fold.blocks)
    inputs = padded(np.arange(1, fold.inputs + 1)[:, None], fold.in_lanes, fold.p_in, fold.words)
    blocks = (outputs.reshape(fold.blocks, fold.p_out) - 1).tolist()
    words = (inputs.reshape(fold.words, fold.p_in) - 1).tolist()
    places = [(block, word) for block in blocks for word in words]
    return [tile_equations(tile, block, word) for tile, (block, word) in zip(array.tiles, places, strict=True)]
