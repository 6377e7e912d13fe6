"""Logic depth of a mapped netlist: the longest run of cells between registers.

Yosys' own `ltp` takes only its internal flip-flops for registers and runs through those of a technology, so it cannot
be used on a mapped netlist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mase_hw.synth.cells import cascades, is_carry, level, passes, reaches
from mase_hw.synth.results import LongestPath

Bit = int  # a net of one bit, as the netlist numbers them
Module = Mapping[str, Any]


class LoopError(Exception):
    """Logic that feeds itself without a register has no depth. The text names a net of the loop."""


@dataclass
class _Node:
    """An output bit of a combinational cell."""

    cell: Mapping[str, Any]
    port: str
    inputs: list[tuple[Bit, str]]  # with the port that each comes in by


def longest_path(module: Module) -> LongestPath:
    """By levels, and among equals by cells. Instances of modules in the netlist count as registers."""
    nodes = _nodes(module)
    arrival: dict[Bit, tuple[int, int]] = {}
    before: dict[Bit, Bit] = {}
    for bit in _in_order(nodes, module):
        node = nodes[bit]
        best, source = (0, 0), None
        for value, port in node.inputs:
            levels, cells = arrival.get(value, (0, 0))
            driver = nodes.get(value)
            chained = driver is not None and is_carry(driver.cell["type"]) and cascades(driver.port, port)
            step = 0 if chained else level(node.cell["type"])
            reached = (levels + step, cells + level(node.cell["type"]))
            if source is None or reached > best:
                best, source = reached, value
        arrival[bit] = best
        if source is not None:
            before[bit] = source
    ends = _ends(module, nodes)
    last = max((bit for bit in arrival if bit in ends), key=lambda bit: arrival[bit], default=None)
    if last is None or arrival[last] == (0, 0):
        return LongestPath(0, 0, "", "")
    first = last
    while first in before:
        first = before[first]
    return LongestPath(*arrival[last], _names(module).get(first, ""), ends[last])


def _nodes(module: Module) -> dict[Bit, _Node]:
    nodes = {}
    for cell in module["cells"].values():
        directions = cell["port_directions"]
        inputs = [port for port in cell["connections"] if directions[port] != "output" and _passes(cell, port)]
        if not inputs:
            continue
        for port, bits in cell["connections"].items():
            if directions[port] == "output":
                for index, bit in enumerate(bits):
                    nodes[bit] = _Node(cell, port, list(_reaching(cell, inputs, index)))
    return nodes


def _passes(cell: Mapping[str, Any], port: str) -> bool:
    return not cell.get("is_module") and passes(cell["type"], cell["parameters"], port)


def _reaching(cell: Mapping[str, Any], ports: list[str], output: int) -> Iterator[tuple[Bit, str]]:
    for port in ports:
        for index, bit in enumerate(cell["connections"][port]):
            if isinstance(bit, int) and reaches(cell["type"], port, index, output):  # constants are strings
                yield bit, port


def _in_order(nodes: Mapping[Bit, _Node], module: Module) -> Iterator[Bit]:
    """Every node after those it reads."""
    readers: dict[Bit, list[Bit]] = {}
    waits = {}
    for bit, node in nodes.items():
        sources = [value for value, _ in node.inputs if value in nodes]
        waits[bit] = len(sources)
        for value in sources:
            readers.setdefault(value, []).append(bit)
    free = [bit for bit, count in waits.items() if not count]
    done = 0
    while free:
        bit = free.pop()
        done += 1
        yield bit
        for reader in readers.get(bit, ()):
            waits[reader] -= 1
            if not waits[reader]:
                free.append(reader)
    if done < len(nodes):
        left = (bit for bit, count in waits.items() if count)
        names = _names(module)
        raise LoopError(min((names[bit] for bit in left if bit in names), default="a net without a name"))


def _ends(module: Module, nodes: Mapping[Bit, _Node]) -> dict[Bit, str]:
    """The nets that registers and output ports read, with the name of such a reader."""
    names = _names(module)
    ends: dict[Bit, str] = {}
    for name, cell in module["cells"].items():
        directions, connections = cell["port_directions"], cell["connections"]
        written = (bit for port, bits in connections.items() if directions[port] == "output" for bit in bits)
        reader = names.get(next(written, -1), name)  # a register is known by what it holds
        for port, bits in connections.items():
            if directions[port] != "output" and not _passes(cell, port):
                ends.update((bit, reader) for bit in bits if bit in nodes)
    for name, port in module["ports"].items():
        if port["direction"] == "output":
            ends.update((bit, f"{name}[{index}]") for index, bit in enumerate(port["bits"]) if bit in nodes)
    return ends


def _names(module: Module) -> dict[Bit, str]:
    """A name for each net: from the RTL rather than the tool's, from the top rather than from deep inside."""
    names: dict[Bit, str] = {}
    for name, net in sorted(module["netnames"].items(), key=lambda item: (item[1]["hide_name"], item[0].count("."))):
        bits = net["bits"]
        for index, bit in enumerate(bits):
            if isinstance(bit, int):
                names.setdefault(bit, f"{name}[{index + net.get('offset', 0)}]" if len(bits) > 1 else name)
    return names
