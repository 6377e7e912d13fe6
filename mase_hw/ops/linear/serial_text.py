"""The stages of a serial linear as the template writes them: tables, sums, registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mase_hw.adders.tables import Table, group_bits
from mase_hw.ops.linear.adder_text import Register, Sum, inputs_text, node_name, nodes_text
from mase_hw.ops.linear.equation import terms
from mase_hw.ops.linear.serial_plan import Digits, Feed, Row


@dataclass(frozen=True)
class TableText:
    """A table of `entries` words, which an address selects from."""

    name: str
    width: int
    entries: int
    words: str
    address: str
    meaning: str


@dataclass
class SerialStage:
    tables: list[TableText] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)  # at its end


@dataclass(frozen=True)
class ShiftRegister:
    """An input while it is worked through."""

    name: str
    width: int
    digit: int  # bits of a digit
    load: str


@dataclass(frozen=True)
class Ending:
    """An output in the last stage: its sum, as wide as proven, and its accumulator."""

    sum: str
    width: int
    acc_width: int
    signed: bool


class SerialText:
    """Collects the text of all stages; the last stage is that of the accumulators."""

    def __init__(
        self,
        digits: Digits,
        rows: Sequence[Row],
        feed: Feed | None,
        per_stage: int,
        stages: int,
        group_at_end: bool = False,
    ) -> None:
        self.digits = digits
        self.feed = feed
        self.per_stage = per_stage
        self.last = stages - 1
        self.stages = [SerialStage() for _ in range(stages)]
        self.unused: list[str] = []
        self.reads: dict[tuple[int, int], int] = {}  # for each bit of the digits the last stage that reads it
        if feed:
            for stage, text in zip(self.stages, nodes_text(feed), strict=True):
                stage.sums += text.sums
                stage.registers += text.registers
        self.groups = len(rows[0].constants)
        self.group_read = 0  # the last stage that reads which group it is
        self.endings = [self._row(j, row) for j, row in enumerate(rows)]
        for k in range(self.last if group_at_end else self.group_read):
            register = Register(group_name(k + 1), group_bits(self.groups), group_name(k))
            self.stages[k].registers.append(register)
        for (i, place), last in sorted(self.reads.items()):
            for k in range(last):
                register = Register(_bit(i, place, k + 1), 1, _bit(i, place, k))
                self.stages[k].registers.append(register)

    def shift_registers(self) -> list[ShiftRegister]:
        found = []
        for i, text in zip(self.digits.live, inputs_text(self.digits.inputs, self.digits.x), strict=True):
            digit = self.digits.width(i)
            width = digit * self.digits.count
            found.append(ShiftRegister(f"x{i}", width, digit, f"{width}'({text.text})"))
        return found

    def _row(self, j: int, row: Row) -> Ending:
        text, hi = self._chain(j, row) if self.feed is None else self._node(j, row)
        acc_width = row.acc_hi.bit_length()
        if acc_width:
            d = self.digits.bits
            shifted = Sum(f"a{j}", acc_width + d, 0, "", f"{{acc{j}_q, {d}'b0}}", meaning=f"{1 << d}*acc{j}_q")
            self.stages[self.last].sums.append(shifted)
            before, top = (shifted.name, shifted.width), row.acc_hi << d
            if text:
                size = max(min(top + hi, row.sum_hi).bit_length(), shifted.width, hi.bit_length())
                total = f"{size}'({shifted.name}) + {size}'({text})"
                meaning = f"{shifted.name} + {text}"
                ends = sorted((shifted.width, hi.bit_length()))
                bare = ends[1] - max(d, ends[0])
                found = Sum(f"b{j}", size, size, total, f"b{j}_sum", meaning=meaning, bare=bare)
                self.stages[self.last].sums.append(found)
                before = (f"b{j}", size)
            text, hi, width = before[0], top + hi, before[1]
        else:
            width = hi.bit_length()
        for n, table in enumerate(row.late, len(row.feed)):
            hi = min(hi + table.hi, row.sum_hi)
            text, width = self._table(j, n, table, self.last, text, width, hi.bit_length())
        final = row.sum_hi.bit_length()
        if final < width:  # what is proven of the sum is less than what is proven of its parts
            self.unused.append(f"{text}[{width - 1}:{final}]")
        return Ending(text, final, acc_width, row.signed)

    def _node(self, j: int, row: Row) -> tuple[str, int]:
        """Output `j` of the graph in the last stage."""
        assert self.feed is not None
        out = self.feed.encoding.graph.outputs[j]
        if out.node is None:
            return "", 0
        text = node_name(self.feed, out.node, self.last)
        zeros = f", {out.shift}'b0" if out.shift else ""
        width = self.feed.encoding.wires[out.node].width + out.shift
        inverted = "~" if out.minus else ""
        name = f"u{j}"
        self.stages[self.last].sums.append(Sum(name, width, 0, "", f"{{{inverted}{text}{zeros}}}"))
        return name, row.feed_hi

    def _chain(self, j: int, row: Row) -> tuple[str, int]:
        """The tables of the stages before the last, one added to the other; it begins as late as it can."""
        stage = self.last - row.chain_stages(self.per_stage)
        text, width, hi = "", 0, 0
        for n, table in enumerate(row.feed):
            if n > 1 and (n - 1) % self.per_stage == 0:
                text = self._hold(f"c{j}", stage, width, text)
                stage += 1
            hi += table.hi
            text, width = self._table(j, n, table, stage, text, width, hi.bit_length())
        if stage < self.last:
            text = self._hold(f"c{j}", stage, width, text)
        return text, hi

    def _hold(self, name: str, stage: int, width: int, source: str) -> str:
        register = Register(f"{name}_q{stage + 1}", width, source)
        self.stages[stage].registers.append(register)
        return register.name

    def _table(
        self, j: int, n: int, table: Table, stage: int, before: str, before_width: int, width: int
    ) -> tuple[str, int]:
        """Adds a table to the signal `before`; the sum has `width` bits.

        The table is added as an operand wider than the other one, by a column of zeros: synthesis (Yosys) feeds the
        carry chain from the narrower operand, which has to be a plain signal for the table to cost nothing.
        """
        name, zeros = f"t{j}_{n}", table.zeros
        width = max(width, before_width, table.width + zeros)
        size = width - zeros
        alone = before_width <= zeros
        top = 0  # where the column of zeros goes; 0: there is none
        if not alone and size <= before_width - zeros:
            top, size = size, size + 1
        elif not alone and table.width < size:
            top = size - 1
        own = table.width + (top > 0)
        stage_text = self.stages[stage]
        address = [_bit(bit.input, bit.place, stage) for bit in table.bits]
        if self.groups > 1:
            address += [f"{group_name(stage)}[{k}]" for k in range(group_bits(self.groups))]
            self.group_read = max(self.group_read, stage)
        stage_text.tables.append(_table_text(name, table, own, address))
        for bit in table.bits:
            key = (bit.input, bit.place)
            self.reads[key] = max(self.reads.get(key, 0), stage)
        label = f"s{j}_{n}"
        meaning = terms([(1, before)] * bool(before_width) + [(1 << zeros, name)])
        if alone:
            gap = f", {zeros}'b0" if zeros else ""
            if before_width:
                pad = f", {zeros - before_width}'b0" if zeros > before_width else ""
                gap = f"{pad}, {before}"
            stage_text.sums.append(Sum(label, width, 0, "", f"{{{name}{gap}}}" if gap else name, meaning=meaning))
            return label, width
        gap = f"{top - table.width}'b0, " if top > table.width else ""
        operand = f"{{{name}[{table.width}], {gap}{name}[{table.width - 1}:0]}}" if gap else name
        rest = f"{before}[{before_width - 1}:{zeros}]" if zeros else before
        whole = f"{label}_sum"
        if size + zeros > width:
            self.unused.append(f"{label}_sum[{size - 1}]")
            whole = f"{label}_sum[{size - 2}:0]"
        if zeros:
            whole = f"{{{whole}, {before}[{zeros - 1}:0]}}"
        total = f"{size}'({rest}) + {size}'({operand})"
        plain = (1 << min(before_width, width) - zeros) - 1  # bits of the other operand
        bare = (plain & ~table.columns).bit_count()
        stage_text.sums.append(Sum(label, width, size, total, whole, meaning=meaning, bare=bare))
        return label, width


def _table_text(name: str, table: Table, width: int, address: Sequence[str]) -> TableText:
    """The table's words, the last first, with one bit that is not written as a constant.

    The highest bit of word 0 is taken from the address, of which all bits are 0 there. Without it synthesis would make
    a memory of the table, take the registers of the address into it, and drop a column that is 0 in all words.
    """
    words = [f"{word:0{width}b}" for word in table.entries]
    rest = "".join(reversed(words[1:]))
    first = [("~" if words[0][0] == "1" else "") + address[0]]
    if width > 1:
        first.append(f"{width - 1}'b{words[0][1:]}")
    literal = f"{len(rest)}'h{int(rest, 2):0{-(-len(rest) // 4)}x}"
    selected = ", ".join(reversed(address))
    label = terms([(1 << table.zeros, name)])
    return TableText(
        name, width, len(words), f"{{{literal}, {', '.join(first)}}}", f"{{{selected}}}", f"{label} = {_meaning(table)}"
    )


def _bit(i: int, place: int, stage: int) -> str:
    """A bit of the digit of input `i` as it is seen in a stage."""
    return f"x{i}_{place}_q{stage}" if stage else f"x{i}[{place}]"


def group_name(stage: int) -> str:
    """Which group the digits in a stage are for."""
    return f"group_q{stage}" if stage else "group_q"


def _meaning(table: Table) -> str:
    """The table's sum in words, for each group."""
    return "; ".join(
        terms((bit.weights[g], f"x{bit.input}[{bit.place}]") for bit in table.bits) for g in range(table.groups)
    )
