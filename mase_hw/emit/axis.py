"""The AXI4-Stream top: a module around the design's own top, with byte-aligned TDATA and TLAST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mase_hw.emit.layout import fit
from mase_hw.emit.render import module_name, rtl_environment
from mase_hw.ir import Design, Stream

CLOCK, RESET = "aclk", "aresetn"


@dataclass(frozen=True)
class AxisPort:
    """One port of the design. Every lane takes whole bytes of TDATA, lane 0 the lowest."""

    prefix: str
    inner: str  # how its own signals inside the wrapper begin
    stream: Stream

    @property
    def lane_bytes(self) -> int:
        return -(-self.stream.fixed.width // 8)

    @property
    def lane_bits(self) -> int:
        return 8 * self.lane_bytes

    @property
    def padding(self) -> int:
        """Bits of a lane that carry nothing."""
        return self.lane_bits - self.stream.fixed.width

    @property
    def tdata_width(self) -> int:
        return self.stream.lanes * self.lane_bits


@dataclass(frozen=True)
class AxisTop:
    """The wrapping module and its streams."""

    module: str
    inputs: tuple[AxisPort, ...]
    outputs: tuple[AxisPort, ...]

    @property
    def ports(self) -> tuple[AxisPort, ...]:
        return (*self.inputs, *self.outputs)

    @property
    def file(self) -> str:
        return f"{self.module}.v"

    def manifest(self) -> dict[str, Any]:
        return {
            "top": self.module,
            "clock": CLOCK,
            "reset": RESET,
            **{
                side: [
                    {"name": port.prefix, "lane_bytes": port.lane_bytes, "tdata_width": port.tdata_width}
                    for port in ports
                ]
                for side, ports in (("inputs", self.inputs), ("outputs", self.outputs))
            },
        }


def axis_top(design: Design) -> AxisTop:
    """What the AXI4-Stream top of a design is."""
    module = f"{design.name}_axis"
    while module in {module_name(design, component) for component in design.components}:
        module += "_top"  # the model has a node called axis
    return AxisTop(module, _ports("s_axis", "in", design.inputs), _ports("m_axis", "out", design.outputs))


def _ports(prefix: str, inner: str, streams: tuple[Stream, ...]) -> tuple[AxisPort, ...]:
    """The first has the plain name; the others are numbered."""
    more = ["", *(f"_{k}" for k in range(1, len(streams)))]
    return tuple(AxisPort(prefix + k, inner + k, stream) for k, stream in zip(more, streams, strict=True))


def render_axis(design: Design) -> dict[str, str]:
    """File name to text of the AXI4-Stream top; it comes after the design's own files."""
    axis = axis_top(design)
    text = rtl_environment().get_template("axis.v.j2").render(design=design, axis=axis)
    return {axis.file: fit(text)}
