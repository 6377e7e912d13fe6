"""Wiring: the top is nothing but the components, joined as the design says, and one gate for each run of pipes."""

from __future__ import annotations

from mase_hw.ir import Component, Design, Pipe, Stream
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist, component_of


def prove_wiring(design: Design, top: Netlist) -> str:
    """How it was proved; raises where it was not."""
    instances = {component_of(cell.type, design.name): cell for cell in top.cells if "$" in cell.type[1:]}
    gates = {cell.ports["Y"][0]: cell for cell in top.cells if cell.type.startswith("$") and "Y" in cell.ports}
    if set(instances) != {component.name for component in design.components}:
        raise NotProvedError("the top does not hold the components of the design", refuted=True)
    for port in ("clk", "rst"):
        for name, cell in instances.items():
            _same(cell.ports[port], top.ports[port], f"{port} of {name}")
    source: Cell | Netlist = top
    prefix = "data_in_0"
    for run in (group.components for group in design.groups):
        cells = [instances[component.name] for component in run]
        sink = instances.get(_next(design, run[-1]))
        ready = sink.ports.get("data_in_0_ready") if sink is not None else top.ports["data_out_0_ready"]
        if sink is not None and ready is None:
            ready = sink.ports["enable"]
        for k, cell in enumerate(cells):
            stream = run[k].input
            _same(
                _filled(cell.ports["data_in_0"], source.ports[prefix], stream),
                source.ports[prefix],
                f"data into {run[k].name}",
            )
            _same(cell.ports["data_in_0_valid"], source.ports[f"{prefix}_valid"], f"valid into {run[k].name}")
            source, prefix = cell, "data_out_0"
        assert ready is not None
        if isinstance(run[0], Pipe):
            enable = cells[0].ports["enable"]
            for component, cell in zip(run, cells, strict=True):
                _same(cell.ports["enable"], enable, f"enable of {component.name}")
            _enable(gates, enable[0], ready[0], cells[-1].ports["data_out_0_valid"][0], run[0].name)
            given = enable
        else:
            _same(cells[-1].ports["data_out_0_ready"], ready, f"ready of {run[-1].name}")
            given = cells[0].ports["data_in_0_ready"]
        if run[0] is design.components[0]:
            _same(given, top.ports["data_in_0_ready"], "ready of the design")
    for port in ("data_out_0", "data_out_0_valid"):
        _same(source.ports[port], top.ports[port], f"{port} of the design")
    return f"{len(instances)} components and {len(gates)} gates, every stream joined bit by bit"


def _next(design: Design, component: Component) -> str:
    k = design.components.index(component) + 1
    return design.components[k].name if k < len(design.components) else ""


def _filled(found: tuple[Net, ...], wanted: tuple[Net, ...], stream: Stream) -> tuple[Net, ...]:
    """What is found, with the wanted nets in the place of constants which these nets carry whenever they are valid."""
    if len(found) != len(wanted):
        return found
    width, known = stream.fixed.width, list(found)
    for place, net in enumerate(found):
        lane, bit = divmod(place, width)
        ends = zip(stream.lo[lane :: stream.lanes], stream.hi[lane :: stream.lanes], strict=True)
        if net in ("0", "1") and all(lo >> bit == hi >> bit and lo >> bit & 1 == int(net) for lo, hi in ends):
            known[place] = wanted[place]
    return tuple(known)


def _same(found: tuple[Net, ...], wanted: tuple[Net, ...], what: str) -> None:
    if found != wanted:
        raise NotProvedError(f"{what} is joined otherwise than the design says", refuted=True)


def _enable(gates: dict[Net, Cell], enable: Net, ready: Net, valid: Net, name: str) -> None:
    """`enable = ready || !valid`, and nothing else."""
    gate = gates.get(enable)
    if gate is not None and gate.type in ("$logic_or", "$or"):
        sides = {*gate.ports["A"], *gate.ports["B"]}  # one bit each: of more, any would do
        inverters = [gates[net] for net in sides if net in gates and gates[net].type in ("$logic_not", "$not")]
        if len(sides) == 2 and ready in sides and any(inverter.ports["A"] == (valid,) for inverter in inverters):
            return
    raise NotProvedError(f"the enable of {name} is not `ready || !valid`", refuted=True)
