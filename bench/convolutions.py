"""Whole convolutions beside other tools': 16 to 16 channels, 3 x 3, padded by 1, on a frame of 32 x 32, 8 bit.

    python bench/convolutions.py            64 multipliers, with and without DSP blocks
    python bench/convolutions.py --unrolled one pixel in each cycle, weights of 4 bits, and alkaid's kernel; slow

Weights are `clip(round(N(0, hi / 3)))` of numpy's `default_rng(0)`; results are rounded half to even to 8 bits. The
window, the weights and what stands between them are all in the figures. Cycles are predicted; tests/ops compares such
predictions with the simulated RTL.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import peers
from images import CHANNELS, GEOMETRY, stream, written

from mase_hw.cost.cost import Cost
from mase_hw.ir import Component, Design
from mase_hw.ir.finish import Result
from mase_hw.lowering.lower import legal
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.ops.window import window, window_wide
from mase_hw.synth import synthesize

ARRAY = (16, 4)  # multipliers: inputs and outputs of a step
CYCLES = 36864
MASE = "MASE: 14,400 LUT, 16 RAM32M16, 16,424 FF, 38,918 cycles"
FINN = "FINN: 2,412 LUT, 10 RAM32M16, 3,192 FF, 32 DSP, 2 RAMB36, 36,887 cycles, its weights left out"
HALF_OF_MASE, LUT_OF_FINN = 7200, 2380


def matrix(weight: Fixed) -> Integers:
    drawn = np.random.default_rng(0).normal(0, weight.hi / 3, (CHANNELS, GEOMETRY.taps * CHANNELS))
    return np.clip(np.round(drawn), weight.lo, weight.hi).astype(np.int64)


def folded(*, use_dsp: bool, block_ram: bool) -> Design:
    """64 multipliers of 8 x 8 bits behind a window of 16 channels a beat."""
    weight, bias = Fixed(8, 7), np.zeros(CHANNELS, np.int64)
    read = window("window", stream(CHANNELS), GEOMETRY, block_ram=block_ram)
    frac, result = align(read.output.fixed, weight, None), Result(read.output.fixed, Rounding.HALF_EVEN)
    arguments = ("conv", read.output, matrix(weight), bias, frac, result)
    ways = {"use_dsp": use_dsp, "block_ram": block_ram}
    return _design([read, folded_linear(*arguments, out_lanes=ARRAY[1], array=ARRAY, **ways)])


def utilization(design: Design) -> float:
    """Multiplications needed, of those that the array could do in the interval."""
    needed = GEOMETRY.taps * CHANNELS * CHANNELS * design.components[-1].output.positions
    return float(needed / (ARRAY[0] * ARRAY[1] * design.schedule.interval))


def whole_windows() -> tuple[Component, Component]:
    """A window in each cycle and the matrix unrolled behind it. The sums are exact."""
    read, weight = window_wide("window", stream(CHANNELS), GEOMETRY), Fixed(4, 0)
    frac, bias = align(read.output.fixed, weight, None), np.zeros(CHANNELS, np.int64)
    return read, unrolled("conv", read.output, matrix(weight), bias, frac, None)


def _design(parts: list[Component]) -> Design:
    last = replace(parts[-1], outputs=(parts[-1].output.renamed("data_out_0"),))
    design = Design("dut", legal([*parts[:-1], last], lambda name: name))
    design.verify()
    return design


def measured(design: Design, *, dsp: bool) -> Cost:
    with tempfile.TemporaryDirectory(prefix="mase-hw-convolutions-") as folder:
        return synthesize(written(design, Path(folder)), design.name, dsp=dsp, timeout=None).total


def alkaid_kernel(stages: int, folder: Path) -> Cost:
    """alkaid's graph of the same matrix on the same inputs, with its sums kept."""
    from alkaid.codegen import RTLModel
    from alkaid.trace import FVArrayInput, trace

    weights = matrix(Fixed(4, 0))
    inputs = FVArrayInput((weights.shape[1],))
    logic = trace(inputs, inputs.quantize(1, 7, 0) @ weights.T.astype(np.float64))
    RTLModel(logic, folder / "plain", peers.TOP, flavor="verilog", n_stages=stages, print_latency=False).write()
    return synthesize(peers.keep_sums(folder), peers.TOP, dsp=False, timeout=None).total


def _show(name: str, found: Cost, note: str = "") -> None:
    print(
        f"{name:34}{found.sites:8,} sites {found.lut:7,} LUT {found.lutram:5,} LUT RAM {found.ff:7,} FF "
        f"{found.dsp:3} DSP {found.bram:3} RAMB18{note}",
        flush=True,
    )


def of_64_multipliers() -> int:
    missed = 0
    for use_dsp, block_ram in ((False, False), (True, False), (True, True)):
        design = folded(use_dsp=use_dsp, block_ram=block_ram)
        found, cycles = measured(design, dsp=use_dsp), int(design.schedule.interval)
        name = f"{'32 DSP blocks' if use_dsp else 'no DSP blocks'}, {'block' if block_ram else 'LUT'} RAM"
        _show(name, found, f", {cycles:,} cycles, {utilization(design):.1%} of the multipliers used")
        small = found.lut < LUT_OF_FINN if use_dsp else found.sites <= HALF_OF_MASE
        print(f"  {FINN if use_dsp else MASE}; {'smaller' if small else 'not small enough'}")
        missed += not small or cycles > CYCLES
    return missed


def of_unrolled() -> int:
    read, kernel = whole_windows()
    alone = measured(_design([replace(kernel, inputs=(kernel.input.renamed("data_in_0"),))]), dsp=False)
    _show("kernel alone", alone, f", {kernel.latency} cycles")
    lines = measured(_design([read]), dsp=False)
    bits = (GEOMETRY.kernel[0] - 1) * GEOMETRY.frame[1] * CHANNELS * read.output.fixed.width
    _show("window alone", lines, f", {bits:,} bits in two lines")
    if not peers.installed("alkaid"):
        print("alkaid is not installed: make bench-hardware installs it")
        return 0
    with tempfile.TemporaryDirectory(prefix="mase-hw-alkaid-") as folder:
        other = alkaid_kernel(kernel.latency, Path(folder))
    _show(f"{peers.title('alkaid')}'s kernel", other)
    return int(alone.sites > other.sites)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unrolled", action="store_true", help="the unrolled convolution, in place of the folded ones")
    return 1 if (of_unrolled() if parser.parse_args().unrolled else of_64_multipliers()) else 0


if __name__ == "__main__":
    sys.exit(main())
