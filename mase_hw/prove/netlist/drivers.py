"""One driver for every bit: an input, or one output of one cell; and every bit that is read has one.

All other rules keep a map from a bit to the cell that drives it. This is what makes such a map true.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist

_OUTPUTS = {"$dff": ("Q",), "$mem_v2": ("RD_DATA",), "$scopeinfo": ()}
_BITWISE = ("$and", "$or", "$xor", "$xnor", "$not", "$pos", "$neg", "$mux", "$bwmux", "$pmux", "$bmux", "$demux")
_REDUCED = ("$reduce_and", "$reduce_bool", "$reduce_or", "$reduce_xnor", "$reduce_xor")
_LOGICAL = ("$logic_and", "$logic_not", "$logic_or", "$eq", "$eqx", "$ge", "$gt", "$le", "$lt", "$ne", "$nex")
_NUMBERS = ("$add", "$sub", "$mul", "$shift", "$shiftx", "$shl", "$shr", "$sshl", "$sshr")
_LOGIC = frozenset((*_BITWISE, *_REDUCED, *_LOGICAL, *_NUMBERS))


def check_driven(netlist: Netlist, instances: Mapping[str, Collection[str]] | None = None) -> None:
    """Raises where a bit has two drivers, or is read and has none. `instances`: the outputs of modules in it."""
    driven: set[Net] = set()

    def drive(nets: tuple[Net, ...], what: str, source: str) -> None:
        for net in nets:
            if isinstance(net, str):
                raise NotProvedError(f"a bit of {what} is driven to {net} as well{source}")
            if net in driven:
                raise NotProvedError(f"a bit of {what} has a second driver{source}")
            driven.add(net)

    for name, nets in netlist.ports.items():
        if netlist.directions.get(name) == "input":
            drive(nets, name, "")
    for cell in netlist.cells:
        for port in _outputs(cell, instances or {}):
            drive(cell.ports[port], f"{port} of {cell.type}", f" ({cell.source})" if cell.source else "")
    for cell in netlist.cells:
        outputs = _outputs(cell, instances or {})
        for port, nets in cell.ports.items():
            if port not in outputs:
                _check_read(nets, driven, f"{port} of {cell.type} reads", f" ({cell.source})" if cell.source else "")
    for name, nets in netlist.ports.items():
        if netlist.directions.get(name) != "input":
            _check_read(nets, driven, f"{name} has", "")


def _outputs(cell: Cell, instances: Mapping[str, Collection[str]]) -> Collection[str]:
    if cell.name in instances:
        return [port for port in instances[cell.name] if port in cell.ports]
    if cell.type in _OUTPUTS:
        return _OUTPUTS[cell.type]
    if cell.type not in _LOGIC:
        raise NotProvedError(f"a cell of kind {cell.type} is not understood ({cell.source})")
    return ("Y",)


def _check_read(nets: tuple[Net, ...], driven: set[Net], what: str, source: str) -> None:
    missing = sum(isinstance(net, int) and net not in driven for net in nets)
    if missing:
        raise NotProvedError(f"{what} {missing} bit{'s' if missing > 1 else ''} that nothing drives{source}")
