"""A build as a block that others instantiate: its top module, its ports, its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mase_hw.emit import Build
from mase_hw.emit.axis import CLOCK, RESET, AxisPort, AxisTop
from mase_hw.ir import Stream

VENDOR, LIBRARY, VERSION = "mase-hw", "designs", "1.0.0"
FOLDER = "rtl"


@dataclass(frozen=True)
class Port:
    """A port of the top module."""

    name: str
    direction: Literal["in", "out"]
    width: int = 1


@dataclass(frozen=True)
class Block:
    """What every export says of a build. `files` are in compile order, to be put into the folder `rtl`."""

    top: str
    clock: str
    reset: str
    reset_level: int  # at which it resets
    ports: tuple[Port, ...]
    files: tuple[Path, ...]
    axis: AxisTop | None
    about: str

    @property
    def sources(self) -> list[tuple[str, bool]]:
        """The files' names in the export, and whether each is SystemVerilog."""
        return [(f"{FOLDER}/{path.name}", path.suffix == ".sv") for path in self.files]

    def contents(self) -> dict[str, bytes]:
        return {f"{FOLDER}/{path.name}": path.read_bytes() for path in self.files}


def block_of(build: Build) -> Block:
    """The AXI4-Stream top where the build has one, the plain top elsewhere."""
    design, axis = build.design, build.axis
    sides = [", ".join(map(_sample, side)) for side in (design.inputs, design.outputs)]
    about = f"{sides[0]} in, {sides[1]} out"
    files = tuple(build.rtl)
    if axis is None:
        ins = [port for x in design.inputs for port in _plain(x, "in")]
        outs = [port for y in design.outputs for port in _plain(y, "out")]
        ports = (Port("clk", "in"), Port("rst", "in"), *ins, *outs)
        return Block(design.name, "clk", "rst", 1, ports, files, None, about)
    errors = (Port("tlast_error", "out"), Port("tlast_error_count", "out", 16))
    ins = [port for x in axis.inputs for port in _axis(x, "in")]
    outs = [port for y in axis.outputs for port in _axis(y, "out")]
    ports = (Port(CLOCK, "in"), Port(RESET, "in"), *ins, *outs, *errors)
    return Block(axis.module, CLOCK, RESET, 0, ports, files, axis, about)


def _sample(stream: Stream) -> str:
    return " x ".join(map(str, (*stream.frame, stream.features, stream.fixed)))


def _plain(stream: Stream, direction: Literal["in", "out"]) -> tuple[Port, ...]:
    back = _against(direction)
    name = stream.name
    return (Port(name, direction, stream.width), Port(f"{name}_valid", direction), Port(f"{name}_ready", back))


def _axis(port: AxisPort, direction: Literal["in", "out"]) -> tuple[Port, ...]:
    name = port.prefix
    data, valid = Port(f"{name}_tdata", direction, port.tdata_width), Port(f"{name}_tvalid", direction)
    return (data, valid, Port(f"{name}_tready", _against(direction)), Port(f"{name}_tlast", direction))


def _against(direction: Literal["in", "out"]) -> Literal["in", "out"]:
    return "out" if direction == "in" else "in"
