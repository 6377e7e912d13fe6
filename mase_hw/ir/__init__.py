"""The streaming intermediate form: components joined by typed streams. No torch in sight."""

from mase_hw.ir.component import Component, Instance, Pipe, runs
from mase_hw.ir.design import BuiltNode, Design
from mase_hw.ir.stream import Stream, full_range

__all__ = ["BuiltNode", "Component", "Design", "Instance", "Pipe", "Stream", "full_range", "runs"]
