"""The ports that a component and a design must have: no others, each in its direction and as wide as its stream."""

from __future__ import annotations

from collections.abc import Mapping

from mase_hw.ir import Component, Design, Pipe, Stream
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Netlist

Ports = Mapping[str, tuple[str, int]]  # direction and width by name
_CONTROL = {"clk": ("input", 1), "rst": ("input", 1)}


def component_ports(component: Component) -> Ports:
    """As top.sv.j2 connects them: a pipe has an enable in the place of readies, and one valid for all its inputs."""
    found = dict(_CONTROL)
    pipe = isinstance(component, Pipe)
    if pipe:
        found["enable"] = ("input", 1)
    for k, x in enumerate(component.inputs):
        found |= _stream(f"data_in_{k}", x, "input", valid=not pipe or k == 0, ready=not pipe)
    for k, y in enumerate(component.outputs):
        found |= _stream(f"data_out_{k}", y, "output", valid=True, ready=not pipe)
    return found


def design_ports(design: Design) -> Ports:
    found = dict(_CONTROL)
    for x in design.inputs:
        found |= _stream(x.name, x, "input", valid=True, ready=True)
    for y in design.outputs:
        found |= _stream(y.name, y, "output", valid=True, ready=True)
    return found


def outputs_of(ports: Ports) -> tuple[str, ...]:
    return tuple(name for name, (direction, _) in ports.items() if direction == "output")


def check_ports(wanted: Ports, netlist: Netlist) -> None:
    """Raises where a port is missing, wider or narrower than its stream, turned round, or too much."""
    for name, (direction, width) in wanted.items():
        if name not in netlist.ports:
            raise NotProvedError(f"it has no port {name}")
        if len(netlist.ports[name]) != width:
            raise NotProvedError(f"{name} has {len(netlist.ports[name])} bits, not {width}")
        if netlist.directions.get(name) != direction:
            raise NotProvedError(f"{name} is an {netlist.directions.get(name)}, not an {direction}")
    if others := sorted(netlist.ports.keys() - wanted.keys()):
        raise NotProvedError(f"it has a port {others[0]}, which nothing asks for")


def _stream(name: str, stream: Stream, direction: str, *, valid: bool, ready: bool) -> dict[str, tuple[str, int]]:
    back = "output" if direction == "input" else "input"
    found = {name: (direction, stream.width)}
    found |= {f"{name}_valid": (direction, 1)} if valid else {}
    return found | ({f"{name}_ready": (back, 1)} if ready else {})
