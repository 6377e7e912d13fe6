"""Exact cycles of a design before any simulation: the components' controls run together until they repeat themselves.

A design's control has finitely many states. When all registers are as they were at the end of an earlier output vector,
everything from there on repeats with that period; the cycles of any number of samples follow. The time that this takes
grows with the beats that move, not with cycles times components (`engine.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from mase_hw.ir.component import Component
from mase_hw.ir.engine import ROOM, STOPPED, Clocked, advance
from mase_hw.ir.layout import Layout, Portion, Runner, separate
from mase_hw.ir.plumbing_control import FIFO, LEAST, MOST, UNLIMITED
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers

_ROOM = 1024  # beats of a port at first; doubled when they are full
_EVERY_VECTOR = 512  # for so many vectors the state is looked at after each, later after whole samples


class DeadlockError(Exception):
    """The design stops. `moved` has the beats that each of its ports carried before."""

    def __init__(self, moved: dict[str, int]) -> None:
        super().__init__("the design is deadlocked")
        self.moved = moved


@dataclass(frozen=True)
class PortCycles:
    """In which cycle each beat of a port moves in an unstalled run."""

    stream: Stream
    seen: Integers  # cycles of the first beats; the last `period` of them repeat
    period: int
    period_cycles: int

    @property
    def interval(self) -> Fraction:
        """Cycles per sample in steady state."""
        return Fraction(self.period_cycles * self.stream.sample_beats, self.period)

    def later(self, cycles: int) -> PortCycles:
        """The same, so many cycles later."""
        return replace(self, seen=self.seen + cycles)

    def cycles(self, first: int, count: int) -> Integers:
        """The cycles of `count` beats from beat `first` on."""
        index = np.arange(first, first + count)
        beyond = np.maximum(index - len(self.seen) + self.period, 0) // self.period  # whole periods past what was seen
        return np.asarray(self.seen[index - beyond * self.period] + beyond * self.period_cycles)

    def of_samples(self, samples: int) -> Integers:
        """[samples, beats of a sample]."""
        return self.cycles(0, samples * self.stream.sample_beats).reshape(samples, -1)


@dataclass(frozen=True)
class Schedule:
    """An unstalled run; cycle 0 is the one in which the first input beat is taken."""

    inputs: tuple[PortCycles, ...]
    outputs: tuple[PortCycles, ...]
    most: dict[str, int]  # beats that each FIFO held at the most, by the stream into it; UNLIMITED: ever more

    @property
    def latency(self) -> int:
        """First input beat taken until every output has offered its first beat."""
        return max(int(port.seen[0]) for port in self.outputs)

    @property
    def interval(self) -> Fraction:
        """Cycles per sample in steady state; of parts that no stream joins the slowest one's."""
        return max(port.interval for port in self.outputs)

    def no_later_than(self, other: Schedule) -> bool:
        """Whether no output beat of any sample leaves later than it does there."""
        return all(_no_later(mine, theirs) for mine, theirs in zip(self.outputs, other.outputs, strict=True))


def _no_later(one: PortCycles, other: PortCycles) -> bool:
    """For ever: both repeat, so it is enough to compare until both have, and a common period more."""
    if one.period_cycles * other.period > other.period_cycles * one.period:
        return False
    count = max(len(one.seen), len(other.seen)) + int(np.lcm(one.period, other.period))
    return bool((one.cycles(0, count) <= other.cycles(0, count)).all())


def schedule(components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> Schedule:
    """The schedule of a design, every input always offered and every output always taken."""
    found = [Run(layout_of(part)).until_it_repeats() for part in separate(components, inputs, outputs)]
    return _together([each for each in found if each is not None], inputs, outputs)


def schedule_within(
    components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream], wanted: Schedule
) -> Schedule | None:
    """The same, or None once an output beat is later than it is wanted; what stops is later than anything."""
    ends = {x.name: port for x, port in zip((*inputs, *outputs), (*wanted.inputs, *wanted.outputs), strict=True)}
    parts: list[Schedule] = []
    for part in separate(components, inputs, outputs):
        own = ([ends[x.name] for x in side] for side in (part.inputs, part.outputs))
        try:
            found = Run(layout_of(part)).until_it_repeats(_from_the_first(*own))
        except DeadlockError:
            return None
        if found is None:
            return None
        parts.append(found)
    whole = _together(parts, inputs, outputs)
    return whole if whole.no_later_than(wanted) else None


def _from_the_first(inputs: Sequence[PortCycles], outputs: Sequence[PortCycles]) -> Schedule:
    """The schedule of a part, in which cycle 0 is the one of its own first input beat."""
    first = min(int(port.seen[0]) for port in inputs)
    own, out = (tuple(port.later(-first) for port in side) for side in (inputs, outputs))
    return Schedule(own, out, {})


def _together(parts: Sequence[Schedule], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> Schedule:
    """The schedule of all parts, which start at the same reset. Cycle 0 is that of the first beat of any."""
    first = min(int(port.seen[0]) for part in parts for port in part.inputs)
    ends = {port.stream.name: port.later(-first) for part in parts for port in (*part.inputs, *part.outputs)}
    most = {name: count for part in parts for name, count in part.most.items()}
    return Schedule(tuple(ends[x.name] for x in inputs), tuple(ends[y.name] for y in outputs), most)


@dataclass(frozen=True)
class Check:
    """The end of an output vector."""

    number: int
    cycle: int
    moved: tuple[int, ...]  # beats of each port
    held: tuple[int, ...]  # of each FIFO without limit


def layout_of(part: Portion) -> Layout:
    return Layout(part.components, part.inputs, part.outputs)


class Run:
    """All groups of a part of a design from reset."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        count, parts = len(layout.streams), len(layout.controls)
        ports = [*layout.sources, *layout.sinks]
        self.ports = [layout.streams[s] for s in ports]
        self.first = len(layout.sources)
        run = Clocked(
            now=[0, 0],
            valid=[int(s in layout.sources) for s in range(count)],
            ready=[int(s in layout.sinks) for s in range(count)],
            **{name: [0] * parts for name in ("since", "wake", "rested", "looked", "takes", "gives")},
            ports=ports,
            moved=[0] * len(ports),
            moves=[[0] * _ROOM for _ in ports],
        )
        self.runner = Runner(layout, run, advance)
        self.fifos = [g for g, control in enumerate(layout.controls) if control.kind is FIFO]
        self.free = [g for g in self.fifos if layout.controls[g].params[0] >= UNLIMITED]
        self.least: list[tuple[int, ...]] = []  # beats in each FIFO without limit, at the least, before each check

    def until_it_repeats(self, wanted: Schedule | None = None) -> Schedule | None:
        """The cycles since reset. None once an output beat is later than it is wanted."""
        port, compared = self.ports[self.first], [0] * len(self.ports)
        seen: dict[bytes, Check] = {}
        while True:
            why = self.runner(self.first, port.beats, port.sample_beats, _EVERY_VECTOR)
            if why == ROOM:
                self.grow()
                continue
            if wanted is not None and self._late(wanted, compared):
                return None
            if why == STOPPED:
                names = [stream.name for stream in self.ports]
                raise DeadlockError(dict(zip(names, map(int, self.runner.run.moved), strict=True)))
            key, check = self.check()
            if key in seen and self._comes_again(seen[key], check):
                return self._repeat(seen[key], check)
            seen[key] = check

    def grow(self) -> None:
        run = self.runner.run
        if isinstance(run.moves, list):
            for row in run.moves:
                row += [0] * len(row)
        else:
            self.runner.run = run._replace(moves=np.concatenate([run.moves, np.zeros_like(run.moves)], axis=1))

    def _late(self, wanted: Schedule, compared: list[int]) -> bool:
        """Whether an output beat since the last time is later than it is wanted."""
        run, start = self.runner.run, self._start()
        for k, port in enumerate(wanted.outputs, self.first):
            before, now = compared[k], int(run.moved[k])
            compared[k] = now
            if (np.asarray(run.moves[k][before:now]) - start > port.cycles(before, now - before)).any():
                return True
        return False

    def check(self) -> tuple[bytes, Check]:
        """All that the future depends on, at the end of a cycle. FIFOs without limit are empty, or they are not."""
        run, words = self.runner.run, self.runner.net.words
        number, held = len(self.least), tuple(int(words[g][0]) for g in self.free)
        self.least.append(tuple(int(words[g][LEAST]) for g in self.free))
        for g in self.free:
            words[g][LEAST], words[g][0] = words[g][0], min(words[g][0], 1)
        state = self.runner.state()
        for g in self.free:
            words[g][0] = words[g][LEAST]
        moved = tuple(map(int, run.moved))
        phases = [count % stream.beats for count, stream in zip(moved, self.ports, strict=True)]
        return state.tobytes() + np.array(phases).tobytes(), Check(number, int(run.now[0]), moved, held)

    def _comes_again(self, old: Check, new: Check) -> bool:
        """Whether a FIFO without limit that holds more than then was never empty since: so more changes nothing."""
        for k, (before, now) in enumerate(zip(old.held, new.held, strict=True)):
            least = min(self.least[check][k] for check in range(old.number + 1, new.number + 1))
            if now != before and (now < before or least == 0):
                return False
        return True

    def _start(self) -> int:
        run = self.runner.run
        return min(int(run.moves[k][0]) for k in range(self.first))

    def _repeat(self, old: Check, new: Check) -> Schedule:
        """Everything since the old one comes again and again."""
        run = self.runner.run
        found = [
            PortCycles(
                stream,
                np.array(run.moves[k][: new.moved[k]], np.int64),
                new.moved[k] - old.moved[k],
                new.cycle - old.cycle,
            )
            for k, stream in enumerate(self.ports)
        ]
        grows = {g for g, before, now in zip(self.free, old.held, new.held, strict=True) if now > before}
        words, ins = self.runner.net.words, self.layout.ins
        most = {g: UNLIMITED if g in grows else int(words[g][MOST]) for g in self.fifos}
        named = {self.layout.streams[ins[g][0]].name: count for g, count in most.items()}
        return Schedule(tuple(found[: self.first]), tuple(found[self.first :]), named)
