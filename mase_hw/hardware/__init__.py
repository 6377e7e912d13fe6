"""The streaming intermediate form: components joined by typed streams. No torch in sight."""

from mase_hw.hardware.component import Component, Instance, Pipe, runs
from mase_hw.hardware.design import Design, Node
from mase_hw.hardware.stream import Stream, full_range

__all__ = ["Component", "Design", "Instance", "Node", "Pipe", "Stream", "full_range", "runs"]
