"""What a serial linear computes in which stage: the digits of its inputs, and for each output what is added where.

An input is an unsigned number `u` with a constant offset; its digits of `d` bits come one by one, the first the most
significant. Every digit adds to an output `base + v`, `v >= 0`, and the output's accumulator collects `v`:
`acc = (acc << d) + v`. All bases and offsets meet in one constant for each output.

With several groups of outputs all digits come once for each group. Output `j` of each group is made in the same place,
so that a row stands for one output of every group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mase_hw.adders import AdderGraph, Encoding, Output, Pipeline, encode, pipeline
from mase_hw.adders.tables import Bit, Table, tables
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers

_TABLE = 16  # bits, the most that a table could ever be looked up by
_PLACES = 64  # of a bit in a number


@dataclass(frozen=True)
class Digits:
    """The inputs that take part, digit by digit."""

    x: Stream
    live: tuple[int, ...]  # inputs that change and have a weight
    bits: int  # of a digit

    @cached_property
    def inputs(self) -> Encoding:
        """The inputs as unsigned numbers."""
        graph = AdderGraph(self.x.features, (), tuple(Output(i) for i in self.live))
        return encode(graph, *self.x.bounds)

    @cached_property
    def count(self) -> int:
        return max([1, *(-(-self.inputs.wires[i].width // self.bits) for i in self.live)])

    def width(self, i: int) -> int:
        """Bits of a digit of input `i`: fewer where the whole input has fewer."""
        return min(self.bits, self.inputs.wires[i].width)

    @cached_property
    def bounds(self) -> tuple[Integers, Integers]:
        """Of each digit; inputs that take no part are 0."""
        hi = np.zeros(self.x.features, np.int64)
        for i in self.live:
            whole = self.inputs.wires[i]
            hi[i] = whole.hi if whole.width <= self.bits else (1 << self.bits) - 1
        return np.zeros_like(hi), hi

    def before_last(self) -> tuple[Integers, Integers]:
        """Bounds of what all digits but the last say of each input."""
        lo, hi = self.x.bounds
        offset = np.array([wire.offset for wire in self.inputs.wires])
        live = np.isin(np.arange(self.x.features), self.live)
        return np.where(live, (lo - offset) >> self.bits, 0), np.where(live, (hi - offset) >> self.bits, 0)

    def repeated(self, digits: int) -> int:
        """What 1 in each of so many digits is as a number."""
        return ((1 << self.bits * digits) - 1) // ((1 << self.bits) - 1)


def digits_of(x: Stream, matrix: Integers, bits: int) -> Digits:
    lo, hi = x.bounds
    live = np.flatnonzero((matrix != 0).any(0) & (lo < hi))
    return Digits(x, tuple(live.tolist()), bits)


@dataclass(frozen=True)
class Row:
    """One output of each group. A digit's sum is made in the stages before the last (`feed`), and in it (`late`)."""

    feed: tuple[Table, ...]
    late: tuple[Table, ...]
    feed_hi: int  # the largest value of what comes from the stages before, by tables or by the graph
    acc_hi: int  # of the accumulator before the last digit
    sum_hi: int  # of the finished sum, as it is kept
    constants: tuple[int, ...]  # what is to be added to the sum of each group, in units of the products
    signed: bool = False  # whether the finished sum's highest bit is a sign

    def chain_stages(self, per_stage: int) -> int:
        """Registers within the chain of `feed`."""
        return -(-max(0, len(self.feed) - 1) // per_stage)

    def late_adds(self) -> int:
        """Additions in a row in the last stage."""
        both = bool(self.feed_hi) and bool(self.acc_hi)
        start = bool(self.feed_hi) or bool(self.acc_hi)
        return both + len(self.late) - (not start and bool(self.late))

    def luts(self, digit_bits: int) -> int:
        """Of the tables, and of adding what comes from the stages before to the accumulator."""
        added = sum(table.luts for table in (*self.feed, *self.late))
        if not self.acc_hi:
            return added
        ends = (self.feed_hi.bit_length(), self.acc_hi.bit_length() + digit_bits)
        return added + max(0, min(ends) - digit_bits)


@dataclass(frozen=True)
class Feed(Pipeline):
    """A pipelined graph of which every output is read in the last stage."""

    def out_stage(self, j: int) -> int:
        return self.stages - 1


def feed_of(graph: AdderGraph, digits: Digits, per_stage: int) -> Feed:
    """The stages of a graph; the addition to the accumulator counts as one more."""
    encoding = encode(graph, *digits.bounds)
    finish = [digits.count > 1] * len(graph.outputs)
    width = max([1, *(encoding.output(j)[1].bit_length() for j in range(len(graph.outputs)))])
    cut = pipeline(encoding, finish, width, per_stage)
    return Feed(cut.encoding, cut.finish, cut.out_width, cut.cuts)


def by_row(values: Integers, groups: int) -> Integers:
    """Values of the outputs as [row, group, ...]."""
    return values.reshape(groups, len(values) // groups, *values.shape[1:]).swapaxes(0, 1)


def table_terms(matrix: Integers, digits: Digits, per_stage: int, groups: int = 1) -> Integers:
    """Every row's tables as (row, table, input, bit of the digit), in order."""
    found = []
    for j, weights in enumerate(by_row(matrix, groups)):
        used = [i for i in digits.live if weights[:, i].any()]
        bits = [Bit(i, k, _shifted(weights[:, i], k)) for i in used for k in range(digits.width(i))]
        chain = tables(bits, alone=digits.count == 1)
        if digits.count > 1 and len(chain) > per_stage:
            chain = tables(bits, alone=True)
        found += [(j, t, bit.input, bit.place) for t, table in enumerate(chain) for bit in table.bits]
    return np.array(found, np.int64).reshape(-1, 4)


def _shifted(weights: Integers, places: int) -> tuple[int, ...]:
    return tuple((weights << places).tolist())


def table_rows(matrix: Integers, bias: Integers, digits: Digits, terms: Integers, per_stage: int) -> list[Row]:
    """What each row adds where: as much as fits is added in the last stage, to the accumulator itself.

    `matrix` is [row, group, input]; the biases [row, group], in units of the products, say which constants are alike.
    """
    chains: list[dict[int, list[Bit]]] = [{} for _ in matrix]
    for j, table, i, place in terms.tolist():
        bits = chains[j].setdefault(table, [])
        if len(bits) >= _TABLE or not (0 <= place < _PLACES and i >= 0 and j >= 0):  # the terms may come from a build
            raise ValueError("tables of other bits than there are")
        bits.append(Bit(i, place, _shifted(matrix[j, :, i], place)))
    serial = digits.count > 1
    rows = []
    for j, by_table in enumerate(chains):
        chain = [Table(tuple(bits)) for bits in by_table.values()]
        chain = _levelled(chain, _constants(matrix[j], digits, _bases(chain, matrix[j])) + bias[j], digits)
        at_once = serial and len(chain) <= per_stage
        early = 0 if at_once or not chain else max(1, len(chain) - per_stage + serial)
        feed, late = tuple(chain[:early]), tuple(chain[early:])
        feed_hi = sum(table.hi for table in feed)
        rows.append(_row(matrix[j], digits, _bases(chain, matrix[j]), feed_hi, feed, late))
    return rows


def _bases(chain: Sequence[Table], weights: Integers) -> Integers:
    """Of a digit, for each group."""
    return sum((np.array(table.bases) for table in chain), np.zeros(len(weights), np.int64))


def _levelled(chain: Sequence[Table], constants: Integers, digits: Digits) -> list[Table]:
    """The tables, raised where they have room, such that the groups' constants differ as little as may be.

    A group's entries that are larger by 1 make its finished sum larger by `repeated`, and its constant smaller.
    """
    missing = (constants - constants.min()) // digits.repeated(digits.count)
    levelled = []
    for table in chain:
        room = ((1 << table.width) - 1 << table.zeros) - np.array(table.highest)
        raised = np.minimum(missing, room) >> table.zeros << table.zeros
        missing = missing - raised
        levelled.append(replace(table, raised=tuple(raised.tolist())))
    return levelled


def graph_rows(matrix: Integers, digits: Digits, encoding: Encoding) -> list[Row]:
    outputs = [encoding.output(j) for j in range(len(matrix))]
    return [_row(matrix[j : j + 1], digits, np.array([base]), hi) for j, (base, hi) in enumerate(outputs)]


def _row(
    weights: Integers,
    digits: Digits,
    bases: Integers,
    feed_hi: int,
    feed: tuple[Table, ...] = (),
    late: tuple[Table, ...] = (),
) -> Row:
    """A row with its bounds, which come from what it computes; `weights` are [group, input]."""
    lo, hi = digits.x.bounds
    up, down = np.maximum(weights, 0), np.minimum(weights, 0)
    first_lo, first_hi = digits.before_last()
    acc_hi = int((up @ first_hi + down @ first_lo - bases * digits.repeated(digits.count - 1)).max())
    constants = _constants(weights, digits, bases)
    least = np.asarray(up @ lo + down @ hi, np.int64) - constants
    most = np.asarray(up @ hi + down @ lo, np.int64) - constants
    bits, signed, turns = _kept(least, most)
    constants = constants + (turns << bits)
    sum_hi = (1 << bits) - 1 if signed else int((most - (turns << bits)).max())
    acc_hi = min(acc_hi, (1 << max(0, bits - digits.bits)) - 1) if digits.count > 1 else 0
    return Row(feed, late, feed_hi, acc_hi, sum_hi, tuple(constants.tolist()), signed)


def _kept(lo: Integers, hi: Integers) -> tuple[int, bool, Integers]:
    """How many bits of the finished sums are kept, whether the highest is a sign, and the turns of 2**bits left out.

    `lo` and `hi` are the bounds for each group. Digits that have a base, and first digits of fewer bits, leave finished
    sums far from 0: the upper bits are then always the same, and belong to the constant. Sums on both sides of a
    multiple of 2**bits have a sign, unless that is for one bit.
    """
    plain, with_sign = _fewest(lo, hi, 0), _fewest(lo, hi, 1)
    signed = plain > with_sign + 1
    bits = with_sign if signed else plain
    return bits, signed, (lo + (1 << bits >> 1) * signed) >> bits


def _fewest(lo: Integers, hi: Integers, signed: int) -> int:
    """Bits in which no sum of a group is taken for another."""
    for bits in range(int((hi - lo).max()).bit_length(), _PLACES - 1):
        half = (1 << bits >> 1) * signed
        if (lo + half >> bits == hi + half >> bits).all():
            return bits
    return _PLACES - 1


def _constants(weights: Integers, digits: Digits, bases: Integers) -> Integers:
    """What is left out of the finished sums: the inputs' offsets and the bases of all digits."""
    still = ~np.isin(np.arange(weights.shape[1]), digits.live)
    offsets = np.where(still, digits.x.bounds[0], np.array([wire.offset for wire in digits.inputs.wires]))
    found: Integers = weights @ offsets + bases * digits.repeated(digits.count)
    return found
