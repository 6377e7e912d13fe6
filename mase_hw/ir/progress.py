"""No deadlock, whatever the stalls: shown on the components' control models, one beat at a time.

Every component is run as slowly as it can be: after each beat that moves, all of them settle before the next one
moves, and no component takes a beat in the cycle in which it gives one. Whatever the environment does, a beat that
moves in this slowest run moves in every other run too, sooner or later: what a component offers after it has taken
certain beats does not depend on when it took them, and it has room for no fewer beats than in the slowest run. (If some
run stopped, look at the first beat of the slowest run that does not move there: its writer has taken, and its reader
has given, all that they had in the slowest run, so one offers it and the other takes it.) When all registers are as
they were at the end of an earlier sample, the slowest run goes on for ever, and so does every other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.ir.component import Component
from mase_hw.ir.control import FOREVER, Control
from mase_hw.ir.cycles import groups
from mase_hw.ir.stream import Stream

_MAX_SAMPLES = 64  # after which the registers must have repeated themselves


@dataclass(frozen=True)
class Progress:
    """Whether the design goes on for ever; if not, `stuck` has the streams that wait, and for what."""

    goes_on: bool
    beats: int  # moved until it was known
    stuck: tuple[str, ...] = ()


def progress(components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> Progress:
    """Inputs are always offered, in the end, and outputs always taken."""
    return _Slowest(components, inputs, outputs).run()


class _Slowest:
    def __init__(self, components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> None:
        parts = groups(components)
        streams = [*inputs, *(y for part in parts for y in part.outputs)]
        number = {stream.name: k for k, stream in enumerate(streams)}
        self.streams = streams
        self.controls = [part.control() for part in parts]
        self.ins = [tuple(number[x.name] for x in part.inputs) for part in parts]
        self.outs = [tuple(number[y.name] for y in part.outputs) for part in parts]
        self.reader = {s: g for g, ins in enumerate(self.ins) for s in ins}
        self.writer = {s: (g, k) for g, outs in enumerate(self.outs) for k, s in enumerate(outs)}
        self.last = number[outputs[0].name]
        self.sources = {number[x.name] for x in inputs}
        self.moved = [0] * len(streams)

    def run(self) -> Progress:
        seen: set[object] = set()
        for control in self.controls:
            settle(control)
        while len(seen) <= _MAX_SAMPLES:
            before = self.moved[self.last]
            if not self._move():
                return Progress(False, sum(self.moved), self._stuck())
            if self.moved[self.last] > before and self.moved[self.last] % self.streams[self.last].sample_beats == 0:
                phases = [count % stream.sample_beats for count, stream in zip(self.moved, self.streams, strict=True)]
                state = (*(control.state() for control in self.controls), *phases)
                if state in seen:
                    return Progress(True, sum(self.moved))
                seen.add(state)
        return Progress(False, sum(self.moved), ("it does not repeat itself",))

    def _move(self) -> bool:
        """Moves a beat of one stream, or of all inputs of a join; the last in design order that can, so it drains."""
        for s in range(len(self.streams) - 1, -1, -1):
            if not self._offered(s):
                continue
            if s not in self.reader:
                self._give(s)
                return True
            g = self.reader[s]
            offered = tuple(self._offered(each) for each in self.ins[g])
            outs = (False,) * len(self.outs[g])
            takes = tuple(a and b for a, b in zip(offered, self.controls[g].readies(offered, outs), strict=True))
            if any(takes):
                for each, takes_it in zip(self.ins[g], takes, strict=True):
                    if takes_it:
                        self._give(each)
                self.controls[g].clock(takes, outs)
                settle(self.controls[g])
                return True
        return False

    def _offered(self, s: int) -> bool:
        if s in self.sources:
            return True
        g, k = self.writer[s]
        return self.controls[g].valids[k]

    def _give(self, s: int) -> None:
        """The writer's side of a beat."""
        self.moved[s] += 1
        if s in self.sources:
            return
        g, k = self.writer[s]
        outs = tuple(port == k for port in range(len(self.outs[g])))
        self.controls[g].clock((False,) * len(self.ins[g]), outs)
        settle(self.controls[g])

    def _stuck(self) -> tuple[str, ...]:
        """Streams on which a beat is offered and not taken."""
        return tuple(stream.name for s, stream in enumerate(self.streams) if self._offered(s) and s not in self.sources)


def settle(control: Control) -> None:
    """Lets cycles pass in which no beat moves, until nothing changes any more."""
    outs = (False,) * len(control.valids)
    takes = (False,) * control.inputs
    while (cycles := control.resting(outs)) < FOREVER:
        if cycles:
            control.rest(cycles, outs)
        else:
            before = control.state()
            control.clock(takes, outs)
            if control.state() == before:
                return
