"""A netlist run on names: every register and every input bit is a name, of which nothing else is known."""

from __future__ import annotations

from collections.abc import Callable

from mase_hw.prove.machine import order
from mase_hw.prove.netlist import Cell, Net, Netlist

Name = tuple[Net, int, bool]  # the net that it is the value of, in which cycle, and whether it is inverted
Value = int | Name | None  # None: some function of names, which gets a name of its own


class Names:
    """One clock edge is enough: `settle`, look, `tick`, `settle`, look again."""

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.registers = [cell for cell in netlist.cells if cell.type == "$dff"]
        self.order = [cell for cell in order(netlist) if isinstance(cell, Cell)]
        self.cycle = 0
        self.values: dict[Net, Value] = {"0": 0, "1": 1, "x": None}
        for nets in (*netlist.ports.values(), *(cell.ports["Q"] for cell in self.registers)):
            self.values.update({net: (net, 0, False) for net in nets if isinstance(net, int)})
        driven = {net for cell in netlist.cells for port in ("Y", "Q", "RD_DATA") for net in cell.ports.get(port, ())}
        ports = {net for nets in netlist.ports.values() for net in nets if isinstance(net, int)}
        self.inputs = sorted(ports - driven - set(netlist.ports["rst"]))
        for cell in netlist.cells:
            if cell.type == "$mem_v2":  # what is read from a memory is anything
                self.values.update(dict.fromkeys(cell.ports["RD_DATA"]))

    def assume(self, net: Net, value: int) -> bool:
        """Fixes a register's bit; False if the net is none."""
        if not any(net in cell.ports["Q"] for cell in self.registers):
            return False
        self.values[net] = value
        return True

    def set(self, port: str, value: int) -> None:
        self.values.update(dict.fromkeys(self.netlist.ports[port], value))

    def settle(self) -> None:
        for cell in self.order:
            inputs = {port: [self.values.get(n) for n in nets] for port, nets in cell.ports.items() if port != "Y"}
            for net, value in zip(cell.ports["Y"], _evaluate(cell, inputs), strict=True):
                self.values[net] = (net, self.cycle, False) if value is None else value

    def tick(self) -> None:
        moved = [(cell.ports["Q"], [self.values.get(net) for net in cell.ports["D"]]) for cell in self.registers]
        for nets, values in moved:
            self.values.update(zip(nets, values, strict=True))
        self.cycle += 1
        for net in self.inputs:  # in the next cycle they may be anything else
            self.values[net] = (net, self.cycle, False)


def _evaluate(cell: Cell, inputs: dict[str, list[Value]]) -> list[Value]:
    kind, width = cell.type, cell.width("Y")
    if kind == "$mux":
        return [_chosen(inputs["S"][0], zero, one) for zero, one in zip(inputs["A"], inputs["B"], strict=True)]
    if kind == "$bwmux":
        return [_chosen(*each) for each in zip(inputs["S"], inputs["A"], inputs["B"], strict=True)]
    if kind in ("$not", "$pos", "$and", "$or", "$xor", "$xnor"):
        a, b = (_extended(cell, port, inputs.get(port, [0]), width) for port in ("A", "B"))
        rule = _RULES.get(kind)
        if rule is None:
            return [None] * width
        return [rule(x, y) for x, y in zip(a, b, strict=True)]
    if kind in ("$reduce_or", "$reduce_bool", "$logic_not", "$reduce_and", "$logic_and", "$logic_or"):
        sides = [_reduced(kind == "$reduce_and", inputs[port]) for port in ("A", "B") if port in inputs]
        found = sides[0]
        if kind == "$logic_not":
            found = _inverted(found)
        elif kind in ("$logic_and", "$logic_or"):
            found = (_both if kind == "$logic_and" else _either)(sides[0], sides[1])
        return [found, *[0] * (width - 1)]
    return [None] * width


def _extended(cell: Cell, port: str, values: list[Value], width: int) -> list[Value]:
    fill: Value = values[-1] if cell.parameters.get(f"{port}_SIGNED") else 0
    return [*values[:width], *[fill] * (width - len(values))]


def _inverted(a: Value) -> Value:
    if a is None:
        return None
    return 1 - a if isinstance(a, int) else (a[0], a[1], not a[2])


def _both(a: Value, b: Value) -> Value:
    if a == 0 or b == 0:
        return 0
    if a == 1 or a == b:
        return b
    if b == 1:
        return a
    return 0 if a is not None and a == _inverted(b) else None


def _either(a: Value, b: Value) -> Value:
    return _inverted(_both(_inverted(a), _inverted(b)))


def _chosen(select: Value, zero: Value, one: Value) -> Value:
    if isinstance(select, int):
        return one if select else zero
    return zero if zero is not None and zero == one else None


def _reduced(every: bool, bits: list[Value]) -> Value:
    result: Value = int(every)
    for bit in bits:
        result = _both(result, bit) if every else _either(result, bit)
    return result


_RULES: dict[str, Callable[[Value, Value], Value]] = {
    "$not": lambda a, b: _inverted(a),
    "$pos": lambda a, b: a,
    "$and": _both,
    "$or": _either,
}
