"""A process that only reads a build knows every kind of component that one can have."""

from __future__ import annotations

import subprocess
import sys

KINDS = {"skid_buffer", "fifo", "gather", "scatter", "cast", "relu", "batch_norm1d"}
KINDS |= {"linear_unrolled", "linear_serial", "linear_folded"}


def test_reading_builds_knows_all_components() -> None:
    program = "import mase_hw.emit; from mase_hw.ir import Component; print(*Component.kinds)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) >= KINDS
