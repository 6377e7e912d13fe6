"""linear, folded: an array of `p_in x p_out` multipliers, weights in a ROM, inputs double-buffered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from mase_hw.adders import ADDERS_PER_STAGE
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.folded import folded_cost
from mase_hw.ir.component import REGISTERED, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import Alignment, matrix_bounds
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded_array import FoldedArray
from mase_hw.ops.linear.folded_control import FoldedControl
from mase_hw.ops.linear.folded_text import step_equations, word, words
from mase_hw.ops.linear.matrix import Matrix

Number = TypeVar("Number", bound=np.generic)
NOTED_STEPS = 1 << 14  # a longer table has no comments: nobody reads them, and they are four times its constants


@dataclass(frozen=True, eq=False)
class LinearFolded(Matrix):
    """Block by block of outputs it goes through all words of the input; the first pass starts while they arrive."""

    kind = "linear_folded"
    ready_paths = REGISTERED
    p_in: int
    p_out: int
    adders_per_stage: int = ADDERS_PER_STAGE
    use_dsp: bool = False
    block_ram: bool | None = None  # None: by the depth of each memory

    @cached_property
    def fold(self) -> Fold:
        x, y = self.input, self.output
        return Fold(x.features, y.features, self.p_in, self.p_out, x.lanes, y.lanes)

    @cached_property
    def array(self) -> FoldedArray:
        return FoldedArray(
            x=self.input,
            fold=self.fold,
            matrix=self.matrix,
            constants=tuple((self.bias + self.finish.half).tolist()),
            product_shift=self.product_shift,
            sum_bits=self.finish.parameters()["SumWidth"],
            adders_per_stage=self.adders_per_stage,
            use_dsp=self.use_dsp,
            block_ram=self.block_ram,
        )

    @cached_property
    def _requantize(self) -> dict[str, Any]:
        """The accumulator holds the half of half to even already; `Offset` says so, and no adder is left."""
        return {"InWidth": self.array.acc_bits, **self.finish.parameters(), "Offset": -self.finish.half}

    @property
    def stages(self) -> int:
        """Registers from the issue of a step to the sum it completes: operands, products in DSPs, additions."""
        return 1 + self.use_dsp + len(self.array.stages)

    @property
    def interval(self) -> int:
        return self.fold.interval

    @property
    def latency(self) -> int:
        return self.fold.latency(self.stages)

    def control(self) -> Control:
        return FoldedControl(self.fold, self.stages)

    def cost(self) -> Cost:
        return folded_cost(self.array, self._requantize, self.output.fixed.width)

    def instance(self) -> Instance:
        array, fold = self.array, self.fold
        counters, dense = array.counters, array.dense
        bits = array.rom_bits()
        roms = [np.concatenate(bits, 1)] if array.block_rom else bits
        steps = np.arange(1, fold.steps + 1)[:, None]  # 0 is an address that no step has
        notes = ["no step", *step_equations(array)] if fold.steps <= NOTED_STEPS else []
        values = {
            "array": array,
            "fold": fold,
            "step": self.finish,
            "counters": counters,
            "address_bits": (fold.steps - 1).bit_length() if dense else sum((n - 1).bit_length() for _, n in counters),
            "address": ", ".join(f"{name}_q" for name, _ in counters[::-1]),
            "position": ", ".join(f"{name}_q" for name, _ in counters[::-1] if name != "block"),
            "pass_last": _all(f"{name}_last" for name, _ in counters if name != "block"),
            "vector_last": _all(f"{name}_last" for name, _ in counters),
            "dense": dense,
            "roms": [words(rom if dense else spread(rom, counters)) for rom in roms if rom.shape[1]],
            "rom_notes": [notes[n] for n in (steps if dense else spread(steps, counters))[:, 0]] if notes else [],
            "starts": [word(row, array.start_bits) for row in array.starts],
            "requantize": self._requantize,
            "kinds": {row.digit.name: row.digit for row in array.rows if row.digit}.values(),
        }
        return Instance(template="linear_folded", values=values, needs=("mase_requantize",))


def folded_linear(
    name: str,
    x: Stream,
    matrix: Integers,
    bias: Integers,
    alignment: Alignment,
    result: Result | None,
    *,
    out_lanes: int,
    array: tuple[int, int] | None = None,
    adders_per_stage: int = ADDERS_PER_STAGE,
    use_dsp: bool = False,
    block_ram: bool | None = None,
) -> LinearFolded:
    """`matrix @ x + bias`, the bias at the accumulator's binary point, on `array` (inputs x outputs) multipliers.

    Without an array it is that of the streams' lanes. `fold.stream_lanes` says which lanes suit an array
    that does not divide the layer. `block_ram` says where weights and inputs are kept; None: by depth.
    """
    exact = matrix_bounds(x, matrix << alignment.product_shift, bias)
    out, step = result_stream(f"{name}_out", out_lanes, exact, alignment.frac, result, frame=x.frame)
    p_in, p_out = array or (x.lanes, out_lanes)
    built = (p_in, p_out, adders_per_stage, use_dsp, block_ram)
    return LinearFolded(name, (x,), (out,), matrix, bias, alignment.product_shift, *built, finish=step)


def _all(conditions: Iterable[str]) -> str:
    return " && ".join(conditions) or "1'b1"


def spread(rom: npt.NDArray[Number], counters: Sequence[tuple[str, int]]) -> npt.NDArray[Number]:
    """The ROM by an address of counters side by side: zeros where a counter never goes."""
    shape = [count for _, count in counters[::-1]]
    wide = [shape[0], *(1 << (count - 1).bit_length() for count in shape[1:])] if shape else []
    pads = [(0, w - n) for w, n in zip(wide, shape, strict=True)]
    return np.pad(rom.reshape(*shape, rom.shape[1]), [*pads, (0, 0)]).reshape(prod(wide), rom.shape[1])
