"""How long it takes to predict cycles: frames of growing size, the time for each beat beside that of the smallest.

    python bench/predicting.py

The design is a residual block over every position of a frame: fork, two layers, a skip FIFO, a join. One of its
components counts the positions of a frame, as a window does. So no state repeats before a whole frame has passed, and
every beat of a frame has to be looked at.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import click
import numpy as np

from mase_hw.ir import Component, Design, full_range
from mase_hw.ir.branches import fork
from mase_hw.ir.control import Control, SkidControl
from mase_hw.ir.finish import Result
from mase_hw.ir.plumbing import Fifo, SkidBuffer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.add import add
from mase_hw.ops.linear.make import linear

F8 = Fixed(8, 4)
RESULT = Result(F8, Rounding.HALF_EVEN)
CHANNELS = 4


class CountingControl(SkidControl):
    """A skid buffer that also counts the beats of a frame."""

    def __init__(self, beats: int) -> None:
        super().__init__()
        self.beats, self.beat = beats, 0

    def tick(self, take: bool, out_ready: bool) -> None:
        super().tick(take, out_ready)
        self.beat = (self.beat + take) % self.beats

    def state(self) -> tuple[int, ...]:
        return (*super().state(), self.beat)


@dataclass(frozen=True, eq=False)
class Counting(SkidBuffer):
    kind = "counting_for_a_bench"

    def control(self) -> Control:
        return CountingControl(self.input.sample_beats)


def block(frame: tuple[int, int]) -> Design:
    """A residual block over every position of a frame."""
    weight = np.random.default_rng(0).integers(-8, 8, (CHANNELS, CHANNELS))
    x = full_range("data_in_0", CHANNELS, 1, F8, frame)
    counted = Counting("count", (x,), (x.renamed("count_out"),))
    split = fork("split", counted.output, 2, buffered=True)
    made: list[Component] = [counted, split]
    y = split.outputs[0]
    for k in range(2):
        made.append(linear(f"fc{k}", y, weight, None, F8, None, RESULT, out_lanes=1, folded=True))
        y = made[-1].output
    skip = Fifo("skip", (split.outputs[1],), (split.outputs[1].renamed("skip_out"),), 32)
    total = add("sum", [skip.output, y], (1, 1), RESULT)
    made += [skip, replace(total, outputs=(total.output.renamed("data_out_0"),))]
    return Design("block", tuple(made))


@click.command(help=__doc__)
@click.option("--largest", default=224, show_default=True, help="Rows and columns of the largest frame.")
def command(largest: int) -> None:
    sizes = [size for size in (28, 56, 112, 224) if size <= largest]
    first: float | None = None
    for size in sizes:
        design = block((size, size))
        started = time.process_time()
        timing = design.schedule
        seconds = time.process_time() - started
        beats = design.inputs[0].sample_beats
        each = seconds / beats
        first = first or each
        click.echo(
            f"{size} x {size}: {beats:,} beats in, {int(timing.interval):,} cycles a sample, "
            f"predicted in {seconds:.1f} s of CPU; {1e6 * each:.0f} us a beat, "
            f"{each / first:.2f}x that of {sizes[0]} x {sizes[0]}"
        )


if __name__ == "__main__":
    command()
