"""Widths: every adder of data is wide enough for its exact sum, and not one bit wider: seen on two inputs of each.

A sum is affine in the inputs, so its bounds are reached: by the input that has, for each variable, the end of its range
that the factor's sign says. Both inputs are replayed (replay.py) and the adder must then hold just these numbers, one
of which takes its highest bit. Adders that are one array, written once in a loop over lanes, have one width: that of
the widest of their sums, over all steps; a lane whose inputs are constants counts too. Where sums are accumulated step
by step, the accumulators are looked at: the adders whose highest bits reach the output through no other adder of data,
and the finished sums that they hold; those on the way are known modulo. What clamps a sum reads it as a signed number,
so its sign counts; with zeros above it, it is the sum itself, and not one that is the same modulo. The highest bits of
an adder that lead to no output are not built, and do not count. Of a pipe whose sums are not affine, inputs that take
the highest bit are found by trying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

import numpy as np

from mase_hw.ir import Component, Pipe
from mase_hw.numerics import signed_width
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.claims.replay import Adder, replay, search
from mase_hw.prove.claims.timing import cone_of
from mase_hw.prove.control.automaton import tainted
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.words.carried import Word
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.sums import Sum
from mase_hw.prove.words.symbolic import Symbolic

ADDERS = ("$add", "$sub")


@dataclass(frozen=True)
class View:
    """A component as it was evaluated: a join once for each beat that has bounds of its own, others once."""

    component: Component
    netlist: Netlist
    symbolic: Symbolic


@dataclass(frozen=True)
class _Judged:
    """The widest sum of an array of adders, and the view that has it."""

    view: int
    widest: Sum
    adder: Adder
    needed: int

    @property
    def size(self) -> tuple[int, int]:
        return self.needed, self.widest.total.hi - self.widest.total.lo


def prove_widths(views: Sequence[View], *, accumulates: bool) -> tuple[str, tuple[Reached, ...]]:
    """How it was proved, and what the adders were seen to hold, the widest first.

    An adder serves every beat, so it is as wide as the beat needs that needs the most.
    """
    component, netlist = views[0].component, views[0].netlist
    adders = looked_at(netlist, accumulates=accumulates)
    finished = _Finished(component) if accumulates else None
    arrays: dict[tuple[str, str, int], _Judged] = {}
    for k, view in enumerate(views):
        for one in view.symbolic.sums:
            adder = adders.get(one.cell.name)
            done = finished is None or one.total in finished
            if adder is not None and (done or not adder.again):
                lo, hi = one.total.lo >> one.shift, one.total.hi >> one.shift
                signed = adder.signed if done else bool(one.cell.parameters["A_SIGNED"])
                needed = one.lift + _needed(lo, hi, adder.bits - one.lift, signed, alone=adder.alone)
                found = _Judged(k, one, adder, needed)
                arrays[adder.array] = max(arrays.get(adder.array, found), found, key=lambda judged: judged.size)
    constant = {} if accumulates else _constant_bits(adders, views)
    hidden = _hidden(adders, views, {source for source, *_ in arrays} if accumulates else None)
    unsure = {adder.cell.source for adder in hidden}
    for (source, name, bits), judged in arrays.items():
        fixed = constant.get((source, name, bits), 0) if finished is None else finished.constant_bits
        if bits > max(judged.needed, fixed):
            refuted = not accumulates and source not in unsure
            raise NotProvedError(f"{source}: {bits} bits for sums that need {judged.needed}", refuted=refuted)
    if hidden and accumulates and (not isinstance(component, Pipe) or any(adder.again for adder in hidden)):
        raise NotProvedError(f"{hidden[0].cell.source}: no finished sum was found that is affine")
    widest = sorted(arrays.values(), key=lambda judged: -judged.adder.bits)
    reached: list[Reached] = []
    for k, view in enumerate(views):
        sums = [judged.widest for judged in widest if judged.view == k]
        reached += replay(view.component, view.netlist, sums, view.symbolic.words)
    tried = search(component, netlist, hidden)
    reached += tried
    if not reached:
        return "there is no adder of data", ()
    what = "accumulators, or arrays of them" if accumulates else "adders, or arrays of adders"
    text = f"{len(reached):,} {what}: each holds both bounds of its sum, replayed, and has no bit to spare"
    more = f"; {len(tried)} of them on inputs found by trying, the most that these give" if tried else ""
    return text + more, tuple(reached)


def _constant_bits(adders: dict[str, Adder], views: Sequence[View]) -> dict[tuple[str, str, int], int]:
    """What the lanes of an array need that have constant sums."""
    found: dict[tuple[str, str, int], int] = {}
    for one in (one for view in views for one in view.symbolic.fixed):
        adder = adders.get(one.cell.name)
        if adder is not None:
            number = one.total.lo >> one.shift
            needed = one.lift + _needed(number, number, adder.bits - one.lift, adder.signed)
            found[adder.array] = max(found.get(adder.array, 0), needed)
    return found


def _hidden(adders: dict[str, Adder], views: Sequence[View], known: set[str] | None) -> list[Adder]:
    """Those whose sums were not read, though they are no constants; `known`: accumulators of which some were."""
    varies = set() if known is None else {one.cell.name for view in views for one in view.symbolic.sums}
    read = {name for view in views for name in view.symbolic.read}
    some = [adder for name, adder in adders.items() if name not in read or name in varies]
    return [adder for adder in some if known is None or adder.cell.source not in known]


def looked_at(netlist: Netlist, *, accumulates: bool) -> dict[str, Adder]:
    """The adders that are to have no bit to spare."""
    outputs = netlist.ports["data_out_0"]
    built = cone_of(netlist, outputs)
    last = cone_of(netlist, outputs, before=_adders(netlist, "data")) if accumulates else built
    read_signed = cone_of(netlist, outputs, before=_adders(netlist, "data", "unsigned")) if accumulates else set()
    data, found, zeros = tainted(netlist), {}, _below_zeros(netlist)
    for cell in netlist.cells:
        if cell.type in ADDERS and data.intersection(cell.ports["Y"]):
            above = sum(1 for _ in takewhile(lambda net: net not in built, reversed(cell.ports["Y"])))
            bits = cell.width("Y") - above
            highest = cell.ports["Y"][bits - 1]
            if bits and highest in last:
                again = accumulates and highest in cone_of(netlist, [*cell.ports["A"], *cell.ports["B"]])
                signed = bool(cell.parameters["A_SIGNED"]) or highest in read_signed
                found[cell.name] = Adder(cell, bits, signed, again, highest in zeros)
    return found


def _below_zeros(netlist: Netlist) -> set[Net]:
    """Nets above which everything that reads them has a zero."""
    above: dict[Net, set[Net | None]] = {}
    for cell in netlist.cells:
        for port, nets in cell.ports.items():
            if port not in ("Y", "Q", "RD_DATA"):
                for net, following in zip_longest(nets, nets[1:]):
                    above.setdefault(net, set()).add(following)
    for nets in (netlist.ports[port] for port, way in netlist.directions.items() if way == "output"):
        for net, following in zip_longest(nets, nets[1:]):
            above.setdefault(net, set()).add(following)
    return {net for net, following in above.items() if following == {"0"}}


class _Finished:
    """The sums of a component's outputs, whatever constants are in them: what is on the way there is known modulo."""

    def __init__(self, component: Component) -> None:
        reference = Reference(component)
        words = [
            reference.words.word(*row) for row in zip(reference.factors, reference.constants.tolist(), strict=True)
        ]
        self._rows = {_direction(word) for word in words if word.lo < word.hi}
        fixed = [word.lo for word in words if word.lo == word.hi]
        self.constant_bits = signed_width(min(fixed), max(fixed)) if fixed else 0

    def __contains__(self, word: Word) -> bool:
        return word.lo < word.hi and _direction(word) in self._rows


def _direction(word: Word) -> bytes:
    """The same for all multiples of a word."""
    factors = word.factors // np.gcd.reduce(word.factors)
    return bytes((factors * np.sign(factors[np.flatnonzero(factors)[0]])).tobytes())


def _adders(netlist: Netlist, *which: str) -> set[Net]:
    """The outputs of adders: those of `data`, that add no constant, and of those that do, the `unsigned` ones."""
    found: set[Net] = set()
    for cell in netlist.cells:
        if cell.type in ADDERS:
            constant = any(all(isinstance(net, str) for net in cell.ports[port]) for port in "AB")
            kind = "data" if not constant else "signed" if cell.parameters["A_SIGNED"] else "unsigned"
            found.update(cell.ports["Y"] if kind in which else ())
    return found


def _needed(lo: int, hi: int, bits: int, signed: bool, *, alone: bool = False) -> int:
    """Bits of a number between these, known modulo 2**bits; of a signed one, with its sign, two at least.

    `alone`: it is read with zeros above it, so its bits are those of one number, which is not negative.
    """
    found = []
    for turn in {lo >> bits, hi >> bits, (lo >> bits) + 1} if signed and not alone else {lo >> bits}:
        low, high = lo - (turn << bits), hi - (turn << bits)
        found.append(high.bit_length() if low >= 0 and not signed else max(high, ~low).bit_length() + 1)
    return max(min(found), 2 if signed else 0)
