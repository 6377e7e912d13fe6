"""Wiring: the top is nothing but the components, joined as the design says, and the gates of runs and joins.

Every cell of the top is accounted for: an instance of a component with just the ports that it must have, or a gate on
single bits that an enable, a ready or a valid is made by. Data and valids are compared net by net. The gates are
compared as functions: for every value of the signals that they may read, each enable, each ready of a run and each
joined valid is what the design says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from mase_hw.ir import Component, Design, Group, Stream
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.drivers import check_driven
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist, component_of
from mase_hw.prove.netlist.ports import Ports, check_ports, component_ports, design_ports, outputs_of

MAX_LEAVES = 12  # signals that one gate may read
GATES = ("$and", "$logic_and", "$logic_not", "$logic_or", "$not", "$or")


def prove_wiring(design: Design, top: Netlist) -> str:
    """How it was proved; raises where it was not."""
    return _Top(design, top).check()


class _Top:
    def __init__(self, design: Design, top: Netlist) -> None:
        self.design, self.top = design, top
        inside = [cell for cell in top.cells if not cell.type.startswith("$")]
        self.instances = {component_of(cell.type, design.name): cell for cell in inside}
        wanted = {component.name: component_ports(component) for component in design.components}
        if len(inside) != len(self.instances) or self.instances.keys() != wanted.keys():
            raise NotProvedError("the top does not hold the components of the design", refuted=True)
        check_ports(design_ports(design), top)
        for name, ports in wanted.items():
            _check_instance(self.instances[name], name, ports)
        self.gates = {cell.ports["Y"][0]: cell for cell in top.cells if _is_gate(cell)}
        check_driven(top, {self.instances[name].name: outputs_of(ports) for name, ports in wanted.items()})
        self._used: set[Net] = set()  # gates that make what was compared
        self._busy: set[Net] = set()  # gates that are being evaluated
        self.groups = {component.name: group for group in design.groups for component in group.components}

    def check(self) -> str:
        for port in ("clk", "rst"):
            for name, cell in self.instances.items():
                _same(cell.ports[port], self.top.ports[port], f"{port} of {name}")
        for component in self.design.components:
            for k, x in enumerate(component.inputs):
                self._input(component, k, x)
        for group in self.design.groups:
            self._group(group)
        for y in self.design.outputs:
            _same(self._data(y), self.top.ports[y.name], f"{y.name} of the design")
            _same(self._valid(y), self.top.ports[f"{y.name}_valid"], f"{y.name}_valid of the design")
        for x in self.design.inputs:
            self._function(self.top.ports[f"{x.name}_ready"], *self._ready(x), "ready of the design")
        if idle := self.gates.keys() - self._used:
            source = min(self.gates[net].source for net in idle)
            raise NotProvedError(f"the top holds {len(idle)} gates that no stream asks for ({source})", refuted=True)
        return f"{len(self.instances)} components and {len(self.gates)} gates, every stream joined bit by bit"

    def _input(self, component: Component, port: int, x: Stream) -> None:
        """Data and valid of an input come from where the stream is written."""
        cell = self.instances[component.name]
        found, wanted = cell.ports[f"data_in_{port}"], self._data(x)
        _same(_filled(found, wanted, x), wanted, f"data into {component.name}")
        group = self.groups[component.name]
        if group.is_run and component is group.components[0] and len(component.inputs) > 1:
            if port == 0:
                leaves = [self._valid(each)[0] for each in component.inputs]
                self._function(cell.ports["data_in_0_valid"], leaves, all, f"joined valid of {component.name}")
        else:
            _same(cell.ports[f"data_in_{port}_valid"], self._valid(x), f"valid into {component.name}")

    def _group(self, group: Group) -> None:
        """The enable of a run, or the readies into the outputs of another component."""
        first = group.components[0]
        if not group.is_run:
            for k, y in enumerate(group.outputs):
                ready = self.instances[first.name].ports[f"data_out_{k}_ready"]
                self._function(ready, *self._ready(y), f"ready of {first.name}")
            return
        enable = self.instances[first.name].ports["enable"]
        for component in group.components:
            _same(self.instances[component.name].ports["enable"], enable, f"enable of {component.name}")
        leaves, formula = self._enable(group)
        self._function(enable, leaves, formula, f"the enable of {first.name} is not `ready || !valid`: it")

    def _enable(self, group: Group) -> tuple[list[Net], Callable[[Sequence[bool]], bool]]:
        """`ready || !valid` of the last stream, as a function of other signals."""
        leaves, ready = self._ready(group.outputs[0])
        valid = self._valid(group.outputs[0])[0]
        return [*leaves, valid], lambda bits: ready(bits[:-1]) or not bits[-1]

    def _ready(self, stream: Stream) -> tuple[list[Net], Callable[[Sequence[bool]], bool]]:
        """The ready of a stream as a function of other signals."""
        reader = self.design.readers.get(stream.name)
        if reader is None:
            return [self.top.ports[f"{stream.name}_ready"][0]], all
        group = self.groups[reader.name]
        if not group.is_run:
            port = next(k for k, x in enumerate(reader.inputs) if x.name == stream.name)
            return [self.instances[reader.name].ports[f"data_in_{port}_ready"][0]], all
        leaves, enable = self._enable(group)
        if reader is not group.components[0]:
            return leaves, enable
        others = [self._valid(x)[0] for x in reader.inputs if x.name != stream.name]
        count = len(leaves)
        return [*leaves, *others], lambda bits: enable(bits[:count]) and all(bits[count:])

    def _data(self, stream: Stream) -> tuple[Net, ...]:
        return self._written(stream, "")

    def _valid(self, stream: Stream) -> tuple[Net, ...]:
        return self._written(stream, "_valid")

    def _written(self, stream: Stream, suffix: str) -> tuple[Net, ...]:
        writer = self.design.writers.get(stream.name)
        if writer is None:
            return self.top.ports[f"{stream.name}{suffix}"]
        port = next(k for k, y in enumerate(writer.outputs) if y.name == stream.name)
        return self.instances[writer.name].ports[f"data_out_{port}{suffix}"]

    def _function(
        self, nets: Sequence[Net], leaves: Sequence[Net], formula: Callable[[Sequence[bool]], bool], what: str
    ) -> None:
        """Raises unless a net is this function of the leaves, whatever values they have."""
        known = list(dict.fromkeys(leaves))
        if len(nets) != 1 or len(known) > MAX_LEAVES:
            raise NotProvedError(f"{what} is joined otherwise than the design says")
        for values in product((0, 1), repeat=len(known)):
            given: dict[Net, int] = {"0": 0, "1": 1, **dict(zip(known, values, strict=True))}
            wanted = formula([bool(given[leaf]) for leaf in leaves])
            if self._value(nets[0], given) != int(wanted):
                raise NotProvedError(f"{what} is joined otherwise than the design says", refuted=True)

    def _value(self, net: Net, given: dict[Net, int]) -> int | None:
        """The value of a net, through gates; None where it depends on something else."""
        if net in given:
            return given[net]
        if net not in self.gates or net in self._busy:  # what runs in a circle has no value
            return None
        cell = self.gates[net]
        self._busy.add(net)
        read = [self._value(cell.ports[port][0], given) for port in operands(cell)]
        self._busy.remove(net)
        self._used.add(net)
        return None if None in read else function(cell)(*read) & 1


def _check_instance(cell: Cell, name: str, ports: Ports) -> None:
    """It is called as the design says, and has the ports that are compared, and no others."""
    if cell.name != f"u_{name}" or cell.parameters:
        raise NotProvedError(f"{cell.name} is not the instance u_{name} of the design", refuted=True)
    if {port: len(nets) for port, nets in cell.ports.items()} != {port: width for port, (_, width) in ports.items()}:
        raise NotProvedError(f"the ports of {name} are not those of its streams", refuted=True)


def _is_gate(cell: Cell) -> bool:
    """A gate on single bits; raises of any other cell. Notes on where things stood are none."""
    if cell.type == "$scopeinfo" or not cell.type.startswith("$"):
        return False
    if cell.type not in GATES or any(len(nets) != 1 for nets in cell.ports.values()):
        widths = "x".join(str(len(nets)) for nets in cell.ports.values())
        text = f"the top holds a cell {cell.type} of {widths} bits, which is no gate on single bits ({cell.source})"
        raise NotProvedError(text, refuted=True)
    return True


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
