"""Cells on plain numbers: each kind as a function of its operands, for logic of which every bit is known."""

from __future__ import annotations

import operator
from collections.abc import Callable

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell

Function = Callable[..., int]

_BITWISE: dict[str, Callable[[int, int], int]] = {"$and": operator.and_, "$or": operator.or_, "$xor": operator.xor}
_BITWISE["$xnor"] = lambda a, b: ~(a ^ b)
_SINGLE: dict[str, Callable[[int], int]] = {"$not": operator.inv, "$pos": operator.pos, "$neg": operator.neg}
_SUMS: dict[str, Callable[[int, int], int]] = {"$add": operator.add, "$sub": operator.sub, "$mul": operator.mul}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$eqx": operator.eq, "$nex": operator.ne,
    "$lt": operator.lt, "$le": operator.le, "$gt": operator.gt, "$ge": operator.ge,
}  # fmt: skip


def operands(cell: Cell) -> tuple[str, ...]:
    """The ports that `function` takes, in order."""
    return tuple(port for port in ("A", "B", "S") if port in cell.ports)


def function(cell: Cell) -> Function:
    """The cell's output as a number, from those of its operands; all are unsigned patterns."""
    kind, width = cell.type, cell.width("Y")
    mask = (1 << width) - 1
    if kind in ("$not", "$pos", "$neg"):
        one = _SINGLE[kind]
        a_of = _signed(cell, "A")
        return lambda a: one(a_of(a)) & mask
    if kind in _BITWISE or kind in _SUMS:
        rule, a_of, b_of = {**_BITWISE, **_SUMS}[kind], _signed(cell, "A"), _signed(cell, "B")
        return lambda a, b: rule(a_of(a), b_of(b)) & mask
    if kind in _COMPARED:
        compare, both = _COMPARED[kind], cell.parameters.get("A_SIGNED") and cell.parameters.get("B_SIGNED")
        a_of, b_of = (_signed(cell, port) if both else _plain for port in ("A", "B"))
        return lambda a, b: int(compare(a_of(a), b_of(b)))
    if kind in _REDUCED:
        full, reduce = (1 << cell.width("A")) - 1, _REDUCED[kind]
        return lambda a: reduce(a, full)
    if kind in ("$logic_and", "$logic_or"):
        every = kind == "$logic_and"
        return lambda a, b: int(bool(a) and bool(b)) if every else int(bool(a) or bool(b))
    if kind in ("$mux", "$bwmux"):
        return (lambda a, b, s: b if s else a) if kind == "$mux" else (lambda a, b, s: (a & ~s) | (b & s))
    if kind == "$pmux":
        return lambda a, b, s: _first(a, b, s, width, mask)
    if kind == "$bmux":
        return lambda a, s: (a >> (s * width)) & mask
    if kind == "$demux":
        wide = cell.width("A")
        return lambda a, s: a << (s * wide)
    if kind in ("$shl", "$sshl", "$shr", "$sshr", "$shift", "$shiftx"):
        return _shift(cell, mask)
    raise NotProvedError(f"a cell of kind {kind} is not understood ({cell.source})")


_REDUCED: dict[str, Callable[[int, int], int]] = {
    "$reduce_or": lambda a, full: int(a != 0),
    "$reduce_bool": lambda a, full: int(a != 0),
    "$logic_not": lambda a, full: int(a == 0),
    "$reduce_and": lambda a, full: int(a == full),
    "$reduce_xor": lambda a, full: a.bit_count() & 1,
    "$reduce_xnor": lambda a, full: 1 - (a.bit_count() & 1),
}


def _plain(a: int) -> int:
    return a


def _signed(cell: Cell, port: str) -> Callable[[int], int]:
    """A pattern as the number that it stands for."""
    if not cell.parameters.get(f"{port}_SIGNED"):
        return _plain
    top, turn = cell.width(port) - 1, 1 << cell.width(port)
    return lambda a: a - turn if a >> top else a


def _first(a: int, b: int, s: int, width: int, mask: int) -> int:
    """A `$pmux`: the part of `b` that the select names."""
    if s & (s - 1):
        raise NotProvedError("the control takes two branches at once")
    return (b >> (((s & -s).bit_length() - 1) * width)) & mask if s else a


def _shift(cell: Cell, mask: int) -> Function:
    kind, b_of = cell.type, _signed(cell, "B")
    if kind in ("$shl", "$sshl"):
        a_of = _signed(cell, "A")
        return lambda a, b: (a_of(a) << b) & mask
    # Extended to the result's width first; only the arithmetic shift goes on with the sign beyond it.
    a_of, wide = _signed(cell, "A"), (1 << max(cell.width("A"), cell.width("Y"))) - 1
    if kind in ("$shr", "$sshr"):
        return lambda a, b: ((a_of(a) if kind == "$sshr" else a_of(a) & wide) >> b) & mask
    if kind == "$shift":
        return lambda a, b: ((a_of(a) & wide) >> n if (n := b_of(b)) >= 0 else a_of(a) << -n) & mask
    last = cell.width("A") - cell.width("Y")
    return lambda a, b: (a >> _within(b_of(b), last)) & mask


def _within(place: int, last: int) -> int:
    if not 0 <= place <= last:
        raise NotProvedError("the control reads bits that there are not")
    return place
