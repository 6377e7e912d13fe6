"""Simulation: a design, its streams and the integers they should carry, under Verilator and cocotb."""

from __future__ import annotations

from mase_hw.simulate.bench import simulate
from mase_hw.simulate.job import PATTERNS, Job, Pattern, Role, StreamSpec, harness
from mase_hw.simulate.outcome import CycleDifference, Mismatch, Outcome, PatternResult, StreamResult
from mase_hw.simulate.toolchain import Tool, Toolchain, find, tools
from mase_hw.simulate.verilate import build, lint

__all__ = [
    "PATTERNS",
    "CycleDifference",
    "Job",
    "Mismatch",
    "Outcome",
    "Pattern",
    "PatternResult",
    "Role",
    "StreamResult",
    "StreamSpec",
    "Tool",
    "Toolchain",
    "build",
    "find",
    "harness",
    "lint",
    "simulate",
    "tools",
]
