"""A pipe with several inputs seen as one with a single wide input, so that one argument serves both.

The top gives such a pipe one valid, which says that every input holds a beat (wiring.py). So a beat of all inputs
together is one beat of a wider stream. Its elements are those of the first input, then those of the second, and so on;
where types differ in width, the narrower lanes are padded with nets that nothing reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.ir import Component, Instance, Pipe, Stream
from mase_hw.ir.meaning import Affine, Meaning, Move
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.netlist.netlist import Net, Netlist


@dataclass(frozen=True, eq=False)
class Joined(Pipe):
    """A pipe that joins, on the joined stream. A beat is a vector where the pipe does not count beats."""

    inner: Component = field(kw_only=True)

    @property
    def latency(self) -> int:
        return self.inner.latency

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        ends = np.cumsum([each.lanes for each in self.inner.inputs])[:-1]
        return self.inner.execute(*np.split(x[0], ends, axis=1))

    def meaning(self) -> Meaning | None:
        meaning = self.inner.meaning()
        if isinstance(meaning, Affine):
            return replace(meaning, factors=(np.concatenate(meaning.factors, axis=1),))
        if isinstance(meaning, Move):
            starts = np.cumsum([0, *(each.lanes for each in self.inner.inputs)]).tolist()
            return Move(tuple(tuple((0, starts[p] + e) for p, e in elements) for elements in meaning.sources))
        return None

    def instance(self) -> Instance:
        return self.inner.instance()

    def cost(self) -> Cost:
        return self.inner.cost()


def joined(component: Component, netlist: Netlist) -> list[tuple[Component, Netlist]]:
    """The component and its netlist with one input, once for each beat of a vector with bounds of its own.

    A component with one input is given back as it is. A join does not count beats, so each of them is a vector by
    itself, with the bounds of its own elements.
    """
    if len(component.inputs) == 1 or not isinstance(component, Pipe):
        return [(component, netlist)]
    fixed = _holding(component.inputs)
    merged = _merged(netlist, component.inputs, fixed.width)
    found: dict[object, Component] = {}
    for beat in range(component.input.beats):
        inner = _one_beat(component, beat)
        lo, hi = (tuple(n for x in inner.inputs for n in getattr(x, side)) for side in ("lo", "hi"))
        stream = Stream("data_in_0", len(lo), len(lo), fixed, lo, hi)
        view = Joined(component.name, (stream,), inner.outputs, finish=component.finish, inner=inner)
        found.setdefault((lo, hi), view)
    return [(view, merged) for view in found.values()]


def _one_beat(component: Component, beat: int) -> Component:
    """The component on vectors of one beat."""
    inputs, outputs = (tuple(_beat(s, beat) for s in side) for side in (component.inputs, component.outputs))
    return replace(component, inputs=inputs, outputs=outputs)


def _beat(stream: Stream, beat: int) -> Stream:
    first = beat * stream.lanes
    lo, hi = (side[first : first + stream.lanes] for side in (stream.lo, stream.hi))
    return Stream(stream.name, stream.lanes, stream.lanes, stream.fixed, lo, hi)


def _holding(streams: tuple[Stream, ...]) -> Fixed:
    """A type whose integers include those of every stream; where its binary point is does not matter."""
    lo, hi = min(x.fixed.lo for x in streams), max(x.fixed.hi for x in streams)
    return Fixed(signed_width(lo, hi), 0) if lo < 0 else Fixed(max(1, hi.bit_length()), 0, signed=False)


def _merged(netlist: Netlist, inputs: tuple[Stream, ...], width: int) -> Netlist:
    """The netlist with one data port; lanes that are narrower than `width` get nets of their own above."""
    every = [net for nets in netlist.ports.values() for net in nets]
    every += [net for cell in netlist.cells for nets in cell.ports.values() for net in nets]
    spare = 1 + max((net for net in every if isinstance(net, int)), default=0)
    bits: list[Net] = []
    ports = dict(netlist.ports)
    for k, x in enumerate(inputs):
        nets = ports.pop(f"data_in_{k}")
        own = x.fixed.width
        for lane in range(x.lanes):
            bits += nets[lane * own : (lane + 1) * own]
            bits += range(spare, spare + width - own)
            spare += width - own
    return replace(netlist, ports={**ports, "data_in_0": tuple(bits)})
