"""The streaming intermediate form: a graph of components joined by typed streams. No torch in sight."""

from mase_hw.ir.component import Component, Instance, Pipe
from mase_hw.ir.design import BuiltNode, Design, DesignError
from mase_hw.ir.layout import Group, groups
from mase_hw.ir.stream import Stream, full_range

__all__ = [
    "BuiltNode",
    "Component",
    "Design",
    "DesignError",
    "Group",
    "Instance",
    "Pipe",
    "Stream",
    "full_range",
    "groups",
]
