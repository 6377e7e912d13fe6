"""Timing: no valid and no ready depends on data, bit by bit, so the cycles of one run are those of every run."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist

_DATA = re.compile(r"data_in_\d+")
_HANDSHAKE = re.compile(r"data_out_\d+_valid|data_in_\d+_ready")
_BITWISE = ("$not", "$pos", "$and", "$or", "$xor", "$xnor")
_CARRY = ("$add", "$sub", "$neg", "$mul")


def prove_timing(netlist: Netlist) -> str:
    """How it was proved; raises where it was not."""
    data = {net for port, nets in netlist.ports.items() if _DATA.fullmatch(port) for net in nets}
    ends = [port for port in sorted(netlist.ports, reverse=True) if _HANDSHAKE.fullmatch(port)]
    cone = cone_of(netlist, [net for port in ends for net in netlist.ports[port]])
    if touched := cone & data:
        raise NotProvedError(f"{len(touched)} bits of data reach {' or '.join(ends)}", refuted=True)
    return f"the cones of {' and '.join(ends)} hold {len(cone)} bits, none of them data"


def combinational_cone(netlist: Netlist, nets: Iterable[Net]) -> set[Net]:
    """Everything that the nets depend on within a cycle; a memory is read within it."""
    return cone_of(netlist, nets, through_registers=False)


def cone_of(
    netlist: Netlist,
    nets: Iterable[Net],
    *,
    through_registers: bool = True,
    before: Container[Net] = (),
    whole: bool = False,
) -> set[Net]:
    """Everything that the nets depend on, through registers and memories, up to the first of those in `before`.

    `whole`: with all that an adder reads, also above the bits that are looked at.
    """
    drivers = netlist.drivers
    seen: set[Net] = set()
    todo = [net for net in nets if isinstance(net, int)]
    while todo:
        net = todo.pop()
        if net in seen:
            continue
        seen.add(net)
        found = drivers.get(net) if net not in before else None
        if found is not None and (through_registers or found[1] != "Q"):
            todo += [
                source for source in sources_of(*found, whole=whole) if isinstance(source, int) and source not in seen
            ]
    return seen


def sources_of(cell: Cell, port: str, k: int, *, whole: bool = False) -> Iterable[Net]:
    """The nets that bit `k` of a cell's output depends on."""
    ports = cell.ports
    if cell.type == "$dff":
        return [ports["D"][k]]
    if cell.type == "$mux":
        return [ports["A"][k], ports["B"][k], *ports["S"]]
    if cell.type in _BITWISE:
        return [nets[min(k, len(nets) - 1)] for name, nets in ports.items() if name != "Y"]
    if cell.type in _CARRY and not whole:
        return [net for name, nets in ports.items() if name != "Y" for net in nets[: k + 1]]
    return [net for name, nets in ports.items() if name != port for net in nets]
