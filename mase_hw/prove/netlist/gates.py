"""Cells as gates on many samples at once: a wire is an integer whose bit `n` is what it carries in sample `n`.

So one AND of two integers is that gate in every sample. This is plain simulation: it shares no rule with the words of
the proof, and needs none of their bounds. A wire may also be unknown; then what does not depend on it stays known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.words.carried import UNKNOWN, Unknown

Wire = int | Unknown
Wires = list[Wire]


class Gates:
    """Evaluates combinational cells for `samples` samples."""

    def __init__(self, samples: int, undefined: Wire = UNKNOWN) -> None:
        self.samples, self.undefined = samples, undefined  # what a cell gives that has no value: an x
        self.ones = (1 << samples) - 1  # a wire that is high in all of them

    def evaluate(self, cell: Cell, ports: Mapping[str, Wires]) -> Wires:
        """The cell's output, lowest bit first."""
        kind, width, a, b = cell.type, cell.width("Y"), ports["A"], ports.get("B", [])
        if kind in ("$add", "$sub", "$mul", "$neg"):
            return self._arithmetic(cell, a, b)
        if kind in _BITWISE:
            a, b = (self._extended(cell, port, wires, width) for port, wires in (("A", a), ("B", b)))
            return _BITWISE[kind](self, a, b)
        if kind in ("$mux", "$bwmux"):
            select = ports["S"] * width if kind == "$mux" else ports["S"]
            return [self.chosen(s, x, y) for s, x, y in zip(select, a, b, strict=True)]
        if kind == "$pmux":
            before: Wire = 0
            for k, s in enumerate(ports["S"]):
                if self.both(before, s) != 0:  # two branches at once
                    return [self.undefined] * width
                before = self.either(before, s)
                a = [self.chosen(s, x, y) for x, y in zip(a, b[k * width : (k + 1) * width], strict=True)]
            return a
        if kind == "$bmux":
            for s in reversed(ports["S"]):
                half = len(a) // 2
                a = [self.chosen(s, x, y) for x, y in zip(a[:half], a[half:], strict=True)]
            return a
        if kind == "$demux":
            for s in ports["S"]:
                a = [*(self.both(self.inverted(s), x) for x in a), *(self.both(s, x) for x in a)]
            return a
        if kind in _SHIFTS:
            return self._shift(cell, a, b)
        return [self._to_bit(cell, a, b), *[0] * (width - 1)]

    def inverted(self, a: Wire) -> Wire:
        return UNKNOWN if isinstance(a, Unknown) else a ^ self.ones

    def both(self, a: Wire, b: Wire) -> Wire:
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return 0 if a == 0 or b == 0 else UNKNOWN
        return a & b

    def either(self, a: Wire, b: Wire) -> Wire:
        if isinstance(a, Unknown) or isinstance(b, Unknown):
            return self.ones if self.ones in (a, b) else UNKNOWN
        return a | b

    def differ(self, a: Wire, b: Wire) -> Wire:
        return UNKNOWN if isinstance(a, Unknown) or isinstance(b, Unknown) else a ^ b

    def chosen(self, select: Wire, zero: Wire, one: Wire) -> Wire:
        if select == 0 or zero == one:
            return zero
        if select == self.ones:
            return one
        return self.either(self.both(self.inverted(select), zero), self.both(select, one))

    def constant(self, wires: Sequence[Wire]) -> int | None:
        """The wires as an unsigned number, where it is the same in all samples."""
        if any(wire not in (0, self.ones) for wire in wires):
            return None
        return sum(1 << k for k, wire in enumerate(wires) if wire)

    def _extended(self, cell: Cell, port: str, wires: Wires, width: int) -> Wires:
        fill: Wire = wires[-1] if wires and cell.parameters.get(f"{port}_SIGNED") else 0
        return [*wires[:width], *[fill] * (width - len(wires))]

    def _arithmetic(self, cell: Cell, a: Wires, b: Wires) -> Wires:
        width = cell.width("Y")
        a, b = self._extended(cell, "A", a, width), self._extended(cell, "B", b, width)
        if cell.type == "$neg":
            a, b = [0] * width, a
        if cell.type == "$add":
            return self.sum(a, b, 0)
        if cell.type != "$mul":  # the inverted one, and one
            return self.sum(a, [self.inverted(wire) for wire in b], self.ones)
        if sum(wire != 0 for wire in a) > sum(wire != 0 for wire in b):
            a, b = b, a
        total: Wires = [0] * width
        for k, wire in enumerate(a):
            if wire != 0:
                total[k:] = self.sum(total[k:], [self.both(wire, other) for other in b[: width - k]], 0)
        return total

    def sum(self, a: Wires, b: Wires, carry: Wire) -> Wires:
        """As many bits of the sum as there are of `a`."""
        found: Wires = []
        for x, y in zip(a, b, strict=True):
            if not (isinstance(x, Unknown) or isinstance(y, Unknown) or isinstance(carry, Unknown)):
                half = x ^ y
                found.append(half ^ carry)
                carry = (x & y) | (half & carry)
            else:
                found.append(UNKNOWN)
                carry = self.either(self.both(x, y), self.both(carry, self.either(x, y)))
        return found

    def _less(self, cell: Cell, a: Wires, b: Wires) -> Wire:
        """Whether `a < b`: whether the difference, a bit longer, borrows."""
        if cell.parameters.get("A_SIGNED") and cell.parameters.get("B_SIGNED"):  # counted from the least number
            a, b = ([*wires[:-1], self.inverted(wires[-1])] for wires in (a, b))
        return self.sum([*a, 0], [*(self.inverted(wire) for wire in b), self.ones], self.ones)[-1]

    def _shift(self, cell: Cell, a: Wires, b: Wires) -> Wires:
        kind, width = cell.type, cell.width("Y")
        signed = bool(cell.parameters.get("B_SIGNED")) and kind in ("$shift", "$shiftx")
        left = kind in ("$shl", "$sshl")
        if kind != "$shiftx":
            a = self._extended(cell, "A", a, max(width, len(a)))
        fill: Wire = a[-1] if kind == "$sshr" and cell.parameters.get("A_SIGNED") else 0
        under: Wire = 0
        if kind == "$shiftx":  # what lies beyond has no value
            fill = under = self.undefined
        if (amount := self.constant(b)) is not None:
            amount -= (signed and amount >> (len(b) - 1)) << len(b)
            return self._moved(a, -amount if left else amount, fill, width, under)
        if signed:
            raise NotProvedError(f"a shift to both sides by what differs between inputs ({cell.source})")
        wide = max(width, len(a))
        for k, wire in enumerate(b):
            moved = self._moved(a, -(1 << k) if left else 1 << k, fill, wide)
            a = [self.chosen(wire, x, y) for x, y in zip(self._moved(a, 0, fill, wide), moved, strict=True)]
        return a[:width]

    def _moved(self, a: Wires, down: int, fill: Wire, width: int, under: Wire = 0) -> Wires:
        return [a[k + down] if 0 <= k + down < len(a) else (fill if k + down >= 0 else under) for k in range(width)]

    def _to_bit(self, cell: Cell, a: Wires, b: Wires) -> Wire:
        kind = cell.type
        none: Wire = 0
        if kind in ("$reduce_xor", "$reduce_xnor"):
            odd = reduce(self.differ, a, none)
            return odd if kind == "$reduce_xor" else self.inverted(odd)
        if kind == "$reduce_and":
            return self.inverted(reduce(self.either, map(self.inverted, a), none))
        some = [reduce(self.either, wires, none) for wires in (a, b)]
        if kind in ("$reduce_or", "$reduce_bool", "$logic_not"):
            return self.inverted(some[0]) if kind == "$logic_not" else some[0]
        if kind in ("$logic_and", "$logic_or"):
            return self.both(*some) if kind == "$logic_and" else self.either(*some)
        width = max(len(a), len(b))
        both = cell.parameters.get("A_SIGNED") and cell.parameters.get("B_SIGNED")
        a, b = (
            self._extended(cell, port, wires, width) if both else [*wires, *[0] * (width - len(wires))]
            for port, wires in (("A", a), ("B", b))
        )
        if kind in ("$eq", "$ne", "$eqx", "$nex"):
            unequal = reduce(self.either, map(self.differ, a, b), none)
            return unequal if kind in ("$ne", "$nex") else self.inverted(unequal)
        if kind in ("$lt", "$ge"):
            return self._less(cell, a, b) if kind == "$lt" else self.inverted(self._less(cell, a, b))
        if kind in ("$gt", "$le"):
            return self._less(cell, b, a) if kind == "$gt" else self.inverted(self._less(cell, b, a))
        raise NotProvedError(f"a cell of kind {kind} is not understood ({cell.source})")


_SHIFTS = ("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx")
_BITWISE: dict[str, Callable[[Gates, Wires, Wires], Wires]] = {
    "$not": lambda gates, a, b: [gates.inverted(x) for x in a],
    "$pos": lambda gates, a, b: a,
    "$and": lambda gates, a, b: [gates.both(x, y) for x, y in zip(a, b, strict=True)],
    "$or": lambda gates, a, b: [gates.either(x, y) for x, y in zip(a, b, strict=True)],
    "$xor": lambda gates, a, b: [gates.differ(x, y) for x, y in zip(a, b, strict=True)],
    "$xnor": lambda gates, a, b: [gates.inverted(gates.differ(x, y)) for x, y in zip(a, b, strict=True)],
}
