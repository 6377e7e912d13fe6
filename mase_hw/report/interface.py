"""The AXI4-Stream top of a build, where it has one: every port with its width and what it is for."""

from __future__ import annotations

from typing import Any

from mase_hw.emit import Build
from mase_hw.emit.axis import AxisPort
from mase_hw.export.block import block_of


def axis_interface(build: Build) -> dict[str, Any] | None:
    """The module around the design's own top; None where the plain top is all there is."""
    axis = build.axis
    if axis is None:
        return None
    block = block_of(build)
    about = {block.clock: "clock", block.reset: "reset, synchronous, active low"}
    for port in axis.inputs:
        about |= _stream(port, "expected on the last beat of a sample; a wrong one is counted")
    for port in axis.outputs:
        about |= _stream(port, "high on the last beat of a sample")
    about |= {
        "tlast_error": "a TLAST was in a wrong place since reset",
        "tlast_error_count": "how many beats had a wrong TLAST since reset",
    }
    return {
        "top": axis.module,
        "inner": build.manifest["top"],
        "file": f"rtl/{axis.file}",
        "clock": block.clock,
        "reset": block.reset,
        "inputs": [_port(port) for port in axis.inputs],
        "outputs": [_port(port) for port in axis.outputs],
        "error_flag": "tlast_error",
        "error_count": "tlast_error_count",
        "ports": [
            {"name": port.name, "direction": port.direction, "width": port.width, "about": about[port.name]}
            for port in block.ports
        ],
    }


def _port(port: AxisPort) -> dict[str, Any]:
    return {
        "name": port.prefix,
        "tdata_width": port.tdata_width,
        "lane_bytes": port.lane_bytes,
        "padding": port.padding,
        "beats": port.stream.sample_beats,
        "tlast": f"{port.prefix}_tlast",
    }


def _stream(port: AxisPort, tlast: str) -> dict[str, str]:
    lanes, name = port.stream.lanes, port.prefix
    each = f"{port.lane_bytes} byte{'s' if port.lane_bytes > 1 else ''} each" if lanes > 1 else "whole bytes"
    return {
        f"{name}_tdata": f"{lanes} lane{'s' if lanes > 1 else ''} of {port.stream.fixed.width} bits, {each}",
        f"{name}_tvalid": "a beat is offered",
        f"{name}_tready": "a beat is taken",
        f"{name}_tlast": tlast,
    }
