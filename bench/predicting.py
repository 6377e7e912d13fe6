"""How long it takes to predict cycles: frames of growing size, and a long chain; CPU seconds, without compilation.

    python bench/predicting.py

The first design is a residual block over every position of a frame: fork, two layers, a skip FIFO, a join. One of its
components counts the positions of a frame, as a window does. So no state repeats before a whole frame has passed, and
every beat of a frame has to be looked at. The second is a chain of 40 components with a million beats a sample, one in
every cycle. Compilation is timed by itself, in a folder without anything compiled.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace

import click
import numpy as np

from mase_hw.ir import Component, Design, full_range
from mase_hw.ir.branches import fork
from mase_hw.ir.control import Control, Kind, Params, SingleControl, Words
from mase_hw.ir.finish import Result
from mase_hw.ir.plumbing import Fifo, SkidBuffer
from mase_hw.ir.plumbing_control import SKID
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.add import add
from mase_hw.ops.linear.make import linear

F8 = Fixed(8, 4)
RESULT = Result(F8, Rounding.HALF_EVEN)
CHANNELS = 4


skid_clock = SKID.clock


def _clock(s: Words, p: Params, takes: int, outs: int) -> None:
    skid_clock(s, p, takes, outs)
    s[2] = (s[2] + takes) % p[0]


COUNTING = Kind("counting", SKID.valids, SKID.readies, _clock)


@dataclass(frozen=True, eq=False)
class Counting(SkidBuffer):
    """A skid buffer that also counts the beats of a frame."""

    kind = "counting_for_a_bench"

    def control(self) -> Control:
        return SingleControl(COUNTING, (self.input.sample_beats,), 3)


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


def chain(count: int, frame: tuple[int, int]) -> Design:
    """One component after the other over every position of a frame, a beat in every cycle: skid buffers and layers."""
    x = full_range("data_in_0", CHANNELS, CHANNELS, F8, frame)
    made: list[Component] = [Counting("count", (x,), (x.renamed("count_out"),))]
    weight = np.random.default_rng(0).integers(-8, 8, (CHANNELS, CHANNELS))
    while len(made) < count:
        y, name = made[-1].output, f"part{len(made)}"
        if len(made) % 2:
            layer = linear(name, y, weight, None, F8, None, RESULT, out_lanes=CHANNELS, folded=False)
            made.append(replace(layer, outputs=(layer.output.renamed(f"{name}_out"),)))
        else:
            made.append(SkidBuffer(name, (y,), (y.renamed(f"{name}_out"),)))
    made[-1] = replace(made[-1], outputs=(made[-1].output.renamed("data_out_0"),))
    return Design("chain", tuple(made))


def timed(design: Design) -> tuple[float, float]:
    """CPU seconds of the schedule and of the progress argument."""
    started = time.process_time()
    _ = design.schedule
    between = time.process_time()
    assert design.progress.goes_on
    return between - started, time.process_time() - between


@click.command(help=__doc__)
@click.option("--largest", default=224, show_default=True, help="Rows and columns of the largest frame.")
def command(largest: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MASE_HW_CACHE"] = folder
        seconds = timed(block((28, 28)))
        click.echo(f"compiling: {seconds[0]:.1f} s of CPU for cycles, {seconds[1]:.1f} s for progress")
        _frames(largest)
        design = chain(40, (1000, 1000))
        seconds = timed(design)
        click.echo(
            f"chain of {len(design.components)}: {int(design.schedule.interval):,} cycles a sample, "
            f"predicted in {seconds[0]:.1f} s of CPU; progress in {seconds[1]:.1f} s"
        )


def _frames(largest: int) -> None:
    sizes = [size for size in (28, 56, 112, 224) if size <= largest]
    first: float | None = None
    for size in sizes:
        design = block((size, size))
        seconds, slowest = timed(design)
        beats = design.inputs[0].sample_beats
        each = seconds / beats
        first = first or each
        click.echo(
            f"{size} x {size}: {beats:,} beats in, {int(design.schedule.interval):,} cycles a sample, "
            f"predicted in {seconds:.2f} s of CPU; {1e6 * each:.2f} us a beat, "
            f"{each / first:.2f}x that of {sizes[0]} x {sizes[0]}; progress in {slowest:.2f} s"
        )


if __name__ == "__main__":
    command()
