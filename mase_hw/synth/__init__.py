"""From RTL to cells: Yosys as a child process, cells by kind, logic depth, and place-and-route for ECP5."""

from mase_hw.synth.results import LongestPath, Synthesis, Usage
from mase_hw.synth.synthesis import synthesize
from mase_hw.synth.targets import TARGETS

__all__ = ["TARGETS", "LongestPath", "Synthesis", "Usage", "synthesize"]
