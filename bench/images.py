"""Windows of images beside other tools': `python bench/images.py` synthesizes them and prints the figures.

The job is 32 x 32 x 16, 8 bit, 3 x 3, padded by 1. The peers' figures were measured with the same Yosys command. Cycles
are predicted; tests/ops/test_windows.py compares such predictions with the simulated RTL.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from mase_hw.cost.cost import Cost
from mase_hw.emit import render
from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.window import window, window_wide
from mase_hw.synth import synthesize

GEOMETRY = Geometry.of((32, 32), (3, 3), None, ((1, 1), (1, 1)))
CHANNELS, BITS = 16, 8
FIGURES = ("lut", "lutram", "ff", "bram", "cycles")
NO_LIMIT = sys.maxsize


@dataclass(frozen=True)
class Job:
    """A window, and what it has to reach; `peer` is FINN's on the same job."""

    name: str
    component: Component
    limits: tuple[int, ...]  # as FIGURES
    peer: str

    @property
    def design(self) -> Design:
        return Design("dut", (replace(self.component, outputs=(self.component.output.renamed("data_out_0"),)),))


def stream(lanes: int) -> Stream:
    return full_range("data_in_0", CHANNELS, lanes, Fixed(BITS, 4), GEOMETRY.frame)


def jobs() -> list[Job]:
    every, one = stream(CHANNELS), stream(1)
    return [
        Job(
            "16 channels a beat, LUT RAM",
            window("window", every, GEOMETRY, block_ram=False),
            (180, 30, 160, 0, 9216),
            "448 LUT, 30 RAM32M16, 478 FF, 9,280 cycles",
        ),
        Job(
            "16 channels a beat, block RAM",
            window("window", every, GEOMETRY, block_ram=True),
            (50, 0, 35, 4, 9216),
            "317 LUT, 2 RAMB36, 350 FF, 9,280 cycles",
        ),
        Job(
            "1 channel a beat",
            window("window", one, GEOMETRY),
            (150, NO_LIMIT, 143, 2, 147456),
            "251 LUT, 1 RAMB18, 143 FF, 148,450 cycles",
        ),
        Job(
            "all 144 values at once",
            window_wide("window", every, GEOMETRY),
            (256, 20, 1743, 0, 1089),
            "256 LUT, 20 RAM32M16, 1,743 FF, 1,157 cycles",
        ),
    ]


def measure(design: Design) -> Cost:
    with tempfile.TemporaryDirectory(prefix="mase-hw-images-") as folder:
        return synthesize(written(design, Path(folder)), design.name, dsp=False, timeout=600.0).total


def written(design: Design, folder: Path) -> list[Path]:
    files = []
    for name, text in render(design).items():
        files.append(folder / name)
        files[-1].write_text(text, encoding="utf-8")
    return files


def main() -> int:
    print(f"{'':30}{'LUT':>8}{'sites':>8}{'LUT RAM':>9}{'FF':>7}{'RAMB18':>8}{'cycles':>9}")
    missed = 0
    for job in jobs():
        design = job.design
        found, cycles = measure(design), design.schedule.interval
        print(
            f"{job.name:30}{found.lut:8,}{found.sites:8,}{found.lutram:9,}{found.ff:7,}{found.bram:8,}{int(cycles):9,}"
        )
        values = (found.lut, found.lutram, found.ff, found.bram, int(cycles))
        wrong = [name for name, value, limit in zip(FIGURES, values, job.limits, strict=True) if value > limit]
        print(f"  FINN: {job.peer}; to reach: {'missed ' + ', '.join(wrong) if wrong else 'reached'}")
        missed += len(wrong)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
