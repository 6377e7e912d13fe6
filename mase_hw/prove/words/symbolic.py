"""A netlist run on exact words: control bits are numbers, data bits are bits of words that are affine in the inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.words.bits import BitLogic
from mase_hw.prove.words.carried import UNKNOWN, Bit, Number, Unknown, Value
from mase_hw.prove.words.reading import Reader, number
from mase_hw.prove.words.sums import Sum
from mase_hw.prove.words.words import Words

Values = list[Value]


class Symbolic(BitLogic):
    """Evaluates cells of a word-level netlist."""

    def __init__(self, words: Words) -> None:
        super().__init__(words)
        self.reader = Reader(words)
        self.sums: list[Sum] = []  # every addition of data
        self.fixed: list[Sum] = []  # those that have one sum alone
        self.read: set[str] = set()  # adders whose sums are known, if only as constants

    def evaluate(self, cell: Cell, inputs: dict[str, Values]) -> Values:
        """The output of a combinational cell."""
        kind = cell.type
        if kind in ("$add", "$sub", "$mul", "$neg"):
            return self._arithmetic(cell, inputs)
        if kind in ("$mux", "$pmux", "$bmux", "$bwmux"):
            return self._mux(kind, cell, inputs)
        if kind in _BITWISE:
            return self._bitwise(kind, cell, inputs)
        if kind in ("$shl", "$shr", "$sshl", "$sshr", "$shiftx", "$shift"):
            return self._shift(kind, cell, inputs)
        if kind == "$demux":
            return self._demux(inputs)
        return [self._to_bit(kind, cell, inputs)] + [0] * (cell.width("Y") - 1)

    def gathered(self, values: Values) -> Values:
        """The bits of a register; where they are bits of one word, as bits of that word."""
        if len({id(bit.word) for bit in values if isinstance(bit, Bit)}) > 1 and UNKNOWN not in values:
            found = self.reader.read(values) if not any(self.reader.lone(bit) for bit in values) else None
            if found is not None and not found.shift:
                bits = [self.words.bit(found.word, k) for k in range(len(values))]
                return bits if bits == values else values
        return values

    def _extended(self, cell: Cell, port: str, values: Values, width: int) -> Values:
        signed = cell.parameters.get(f"{port}_SIGNED", 0)
        fill: Value = values[-1] if signed and values else 0
        return [*values[:width], *[fill] * (width - len(values))]

    def _arithmetic(self, cell: Cell, inputs: dict[str, Values]) -> Values:
        width = cell.width("Y")
        a, b = (self._extended(cell, port, inputs.get(port, []), width) for port in ("A", "B"))
        if cell.type == "$neg":
            a, b = [0] * width, a
        if cell.type == "$mul" and any(side.count(0) == width for side in (a, b)):
            return self._sum(Sum(cell, self.words.word(np.zeros_like(self.words.lo), 0)))  # whatever the other side is
        if any(isinstance(bit, Unknown) for bit in (*a, *b)):
            return [UNKNOWN] * width
        x, y = self.reader.read_extended(a), self.reader.read_extended(b)
        if cell.type == "$mul":
            return [UNKNOWN] * width if x is None or y is None else self._product(cell, x, y, width)
        more = 0  # what is known of the sum besides the two
        if cell.type != "$add" and y is not None:  # -(n >> s) is (~n >> s) + 1
            more = (1 << y.lift) - y.below
            y = Number(self.words.inverted(y.word), y.shift, y.lift)
        if x is not None and y is not None and self.words.joint is None:
            x, y = self.words.settled(x), self.words.settled(y)
        if x is None or y is None or (x.shift and y.shift):  # one of them may be a bit that rounds the other
            rounded = (self._with_bit(y, a), self._with_bit(x, b) if cell.type == "$add" else None)
            x, y = next((both for both in rounded if both is not None), (None, None))
        if x is None or y is None:
            return [UNKNOWN] * width
        if self.words.joint is None:
            x, y = self.words.settled(x), self.words.settled(y)
        return self._added(cell, x, y, more, width)

    def _added(self, cell: Cell, x: Number, y: Number, more: int, width: int) -> Values:
        if y.shift:
            x, y = y, x
        if y.shift:
            return [UNKNOWN] * width  # two numbers that were cut off below: their sum is not affine
        other = self.words.moved(y.word, more)
        if not x.shift:
            return self._sum(Sum(cell, self.words.plus(x.word, other)))
        # ((word >> shift) << lift) + below + other, where other has nothing but a constant below the lift
        mask = (1 << x.lift) - 1
        low = x.below + (other.constant & mask)
        if (other.factors & mask).any():
            return [UNKNOWN] * width
        upper = self.words.shifted_down(self.words.moved(other, x.below - (low & mask)), x.lift)
        bits = self._sum(Sum(cell, self.words.plus(x.word, upper, x.shift), x.shift, x.lift))
        return [*((low >> k) & 1 for k in range(x.lift)), *bits]

    def _with_bit(self, number: Number | None, bits: Values) -> tuple[Number, Number] | None:
        """A number plus its own lowest bit, or the bit below it, which rounds it; plus the rest of `bits`."""
        rest = self.reader.read_extended(bits[1:]) if number is not None and not number.lift else None
        if number is None or rest is None or (rest := self.words.settled(rest)).shift:
            return None
        word, shift = number.word, number.shift
        known = Number(self.words.times(rest.word, 2))
        if bits[0] == self.words.bit(word, shift):  # (n >> s) + bit s = ((n + 2**s) >> (s + 1)) << 1
            return Number(self.words.moved(word, 1 << shift), shift + 1, 1), known
        if shift and bits[0] == self.words.bit(word, shift - 1):
            return Number(self.words.moved(word, 1 << (shift - 1)), shift), known
        return None

    def _product(self, cell: Cell, x: Number, y: Number, width: int) -> Values:
        """A product with a constant."""
        if x.word.factors.any():
            x, y = y, x
        if x.word.factors.any() or y.shift:
            return [UNKNOWN] * width
        factor = x.word.constant - ((x.word.constant >> (width - 1)) << width)
        return self._sum(Sum(cell, self.words.times(y.word, factor)))

    def _sum(self, found: Sum) -> Values:
        self.read.add(found.cell.name)
        whole = found.total.lo >> found.bits == found.total.hi >> found.bits
        if found.total.largest >> (found.bits - 1) and not whole:  # known modulo its bits: smaller factors say the same
            less = self.words.residue(found.total, found.bits)
            found = replace(found, total=less) if less.hi - less.lo < found.total.hi - found.total.lo else found
        (self.sums if found.total.lo < found.total.hi else self.fixed).append(found)
        return [self.words.bit(found.total, k) for k in range(found.shift, found.bits)]

    def _mux(self, kind: str, cell: Cell, inputs: dict[str, Values]) -> Values:
        a, b, select = inputs["A"], inputs.get("B", []), inputs["S"]
        if kind == "$bwmux":
            return [self.chosen(*each) for each in zip(select, a, b, strict=True)]
        if kind == "$mux":
            return [self.chosen(select[0], zero, one) for zero, one in zip(a, b, strict=True)]
        width = cell.width("Y")
        if kind == "$bmux" and any(bit is UNKNOWN for bit in select):
            return [UNKNOWN] * width
        if kind == "$bmux" and (found := self.reader.looked_up(a, select, width)) is not None:
            return found
        if kind == "$bmux":
            rows = [a[k : k + width] for k in range(0, len(a), width)]
            for bit in select:
                rows = [
                    [self.chosen(bit, zero, one) for zero, one in zip(*pair, strict=True)]
                    for pair in zip(rows[::2], rows[1::2], strict=True)
                ]
            return rows[0]
        result = list(a)
        before: Value = 0
        for k, bit in enumerate(select):
            if self.both(before, bit) != 0:  # perhaps two branches at once
                return [UNKNOWN] * width
            before = self.either(before, bit)
            part = b[k * width : (k + 1) * width]
            result = [self.chosen(bit, zero, one) for zero, one in zip(result, part, strict=True)]
        return result

    def _demux(self, inputs: dict[str, Values]) -> Values:
        """The input in the place that the select names, zeros in all others."""
        width, place = len(inputs["A"]), number(inputs["S"])
        result: Values = []
        for k in range(1 << len(inputs["S"])):
            known: Value = UNKNOWN if place is None else int(k == place)
            result += [self.both(known, bit) for bit in inputs["A"]] if width else []
        return result

    def _bitwise(self, kind: str, cell: Cell, inputs: dict[str, Values]) -> Values:
        width = cell.width("Y")
        a = self._extended(cell, "A", inputs["A"], width)
        if kind == "$not":
            return [self.inverted(x) for x in a]
        if kind == "$pos":
            return a
        b = self._extended(cell, "B", inputs["B"], width)
        rule = {"$and": self.both, "$or": self.either, "$xor": self.differ}.get(kind)
        if rule is None:
            return [self.inverted(self.differ(x, y)) for x, y in zip(a, b, strict=True)]
        return [rule(x, y) for x, y in zip(a, b, strict=True)]

    def _shift(self, kind: str, cell: Cell, inputs: dict[str, Values]) -> Values:
        """Shifts by what is known: those by data are not needed here."""
        width, amount = cell.width("Y"), number(inputs["B"])
        if amount is None:
            return [UNKNOWN] * width
        if cell.parameters.get("B_SIGNED", 0) and inputs["B"] and inputs["B"][-1] == 1:
            amount -= 1 << len(inputs["B"])
        a = inputs["A"]
        fill: Value = 0
        if kind == "$sshr" and cell.parameters.get("A_SIGNED", 0):
            fill = a[-1]
        under: Value = 0
        if kind == "$shiftx":  # what lies beyond has no value
            fill = under = UNKNOWN
        if kind in ("$shl", "$sshl"):
            a, amount = self._extended(cell, "A", a, width), -amount
        elif kind != "$shiftx":
            a = self._extended(cell, "A", a, max(width, len(a)))
        return [
            a[k + amount] if 0 <= k + amount < len(a) else (fill if k + amount >= 0 else under) for k in range(width)
        ]

    def _to_bit(self, kind: str, cell: Cell, inputs: dict[str, Values]) -> Value:
        a = inputs["A"]
        if kind in ("$reduce_or", "$reduce_bool", "$logic_not", "$reduce_and", "$reduce_xor", "$reduce_xnor"):
            found = self.reduced(kind, a)
            return self.inverted(found) if kind in ("$logic_not", "$reduce_xnor") else found
        b = inputs.get("B", [])
        if kind in ("$logic_and", "$logic_or"):
            sides = [self.reduced("$reduce_or", side) for side in (a, b)]
            return self.both(*sides) if kind == "$logic_and" else self.either(*sides)
        width = max(len(a), len(b))
        signed = cell.parameters.get("A_SIGNED", 0) and cell.parameters.get("B_SIGNED", 0)
        a, b = (self._extended(cell, port, bits, width) for port, bits in (("A", a), ("B", b)))
        if kind in ("$eq", "$ne", "$eqx", "$nex"):
            different = self.reduced("$reduce_or", [self.differ(x, y) for x, y in zip(a, b, strict=True)])
            return different if kind in ("$ne", "$nex") else self.inverted(different)
        if kind in ("$lt", "$le", "$gt", "$ge"):
            left, right = number(a), number(b)
            if left is None or right is None:
                if signed and width:
                    a, b = ([*side[:-1], self.inverted(side[-1])] for side in (a, b))
                less = self._less(a, b) if kind in ("$lt", "$ge") else self._less(b, a)
                return less if kind in ("$lt", "$gt") else self.inverted(less)
            if signed:
                left, right = (n - ((n >> (width - 1)) << width) for n in (left, right))
            return int({"$lt": left < right, "$le": left <= right, "$gt": left > right, "$ge": left >= right}[kind])
        raise NotProvedError(f"a cell of kind {kind} is not understood ({cell.source})")

    def _less(self, a: Values, b: Values) -> Value:
        """Whether `a < b`, unsigned, as a function of one word: the highest bit in which they differ decides."""
        less: Value = 0
        for x, y in zip(a, b, strict=True):
            less = self.chosen(self.differ(x, y), less, y)
        return less


_BITWISE = ("$not", "$pos", "$and", "$or", "$xor", "$xnor")
