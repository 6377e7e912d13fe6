"""Depthwise: each channel of a window times weights of its own, summed. Behind a window it is a convolution."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mase_hw.adders import ADDERS_PER_STAGE
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.window import depthwise_cost
from mase_hw.ir.component import THROUGH, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.finish import Finish, Long, Result, result_stream
from mase_hw.ir.meaning import Meaning, Weighted
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import Alignment
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded import spread
from mase_hw.ops.linear.folded_array import FoldedArray
from mase_hw.ops.linear.folded_text import word, words
from mase_hw.ops.window.reduce_control import DepthwiseControl


@dataclass(frozen=True, eq=False)
class Depthwise(Component):
    """One multiplier a lane, as in a folded layer with one input; the taps come as a grouped `Window` gives them."""

    kind = "depthwise"
    counts_positions = True
    ready_paths = THROUGH
    matrix: Integers  # [channels, taps]
    bias: Integers  # [channels], aligned to the accumulator's binary point
    product_shift: int  # aligns products with it
    adders_per_stage: int = ADDERS_PER_STAGE
    block_ram: bool | None = None  # where the weights are; None: by their number
    finish: Finish = field(kw_only=True)

    @property
    def taps(self) -> int:
        return self.input.beats

    @property
    def blocks(self) -> int:
        return self.input.frame[-1]

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    def meaning(self) -> Meaning:
        factors = (self.matrix << self.product_shift).reshape(self.blocks, self.input.lanes, self.taps)
        return Weighted(np.ascontiguousarray(factors.swapaxes(1, 2)), self.bias, self.finish)

    @cached_property
    def array(self) -> FoldedArray:
        lanes = self.input.lanes
        return FoldedArray(
            x=self.input,
            fold=Fold(self.taps, lanes * self.blocks, 1, lanes, 1, lanes),
            matrix=self.matrix,
            constants=tuple((self.bias + self.finish.half).tolist()),
            product_shift=self.product_shift,
            sum_bits=self.finish.parameters()["SumWidth"],
            adders_per_stage=self.adders_per_stage,
            use_dsp=False,
            block_ram=self.block_ram,
        )

    @property
    def interval(self) -> int:
        return self.blocks * self.taps

    @property
    def latency(self) -> int:
        """Taps, operands, additions, the output register."""
        return self.taps + len(self.array.stages) + 1

    def control(self) -> Control:
        return DepthwiseControl(self.taps, len(self.array.stages) + 1)

    @property
    def _requantize(self) -> dict[str, Any]:
        """The sums hold the half of half to even already; `Offset` says so, and no adder is left."""
        return {"InWidth": self.array.acc_bits, **self.finish.parameters(), "Offset": Long(-self.finish.half)}

    def instance(self) -> Instance:
        array = self.array
        bits, counters, dense = array.rom_bits(), array.counters, array.dense
        roms = [np.concatenate(bits, 1)] if array.block_rom else bits
        sizes = [(count - 1).bit_length() for _, count in counters]
        values = {
            "array": array,
            "taps": self.taps,
            "blocks": self.blocks,
            "counters": counters,
            "dense": dense,
            "address_bits": (array.fold.steps - 1).bit_length() if dense else sum(sizes),
            "roms": [words(rom if dense else spread(rom, counters)) for rom in roms if rom.shape[1]],
            "starts": [word(row, array.start_bits) for row in array.starts],
            "kinds": {row.digit.name: row.digit for row in array.rows if row.digit}.values(),
            "requantize": self._requantize,
            "step": self.finish,
        }
        return Instance(template="depthwise", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        return depthwise_cost(self.array, self._requantize)


def depthwise(
    name: str,
    x: Stream,
    matrix: Integers,
    bias: Integers,
    alignment: Alignment,
    result: Result | None,
    adders_per_stage: int = ADDERS_PER_STAGE,
    block_ram: bool | None = None,
) -> Depthwise:
    """`matrix` [channels, taps] times the windows of `x`; the bias is at the accumulator's binary point."""
    blocks, lanes, taps = x.frame[-1], x.lanes, x.beats
    factors = (matrix << alignment.product_shift).reshape(blocks, lanes, taps)
    ends = [side.reshape(taps, lanes).T[None] * factors for side in x.bounds]
    exact = [side(ends[0], ends[1]).sum(2).reshape(-1) + bias for side in (np.minimum, np.maximum)]
    out, step = result_stream(f"{name}_out", lanes, (exact[0], exact[1]), alignment.frac, result, frame=x.frame[:-1])
    how = (alignment.product_shift, adders_per_stage, block_ram)
    return Depthwise(name, (x,), (out,), matrix, bias, *how, finish=step)
