"""Exact cycles of a design before any simulation: the components' controls run together until they repeat themselves.

A design's control has finitely many states. When all registers are as they were at the end of an earlier output vector,
everything from there on repeats with that period; the cycles of any number of samples follow.

Only groups of components to which something happens are looked at in a cycle, so the time that prediction takes grows
with the beats that move, not with cycles times components.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.control import FOREVER, Control, FifoControl, PipeControl
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers

_MAX_STEPS = 200_000_000  # groups looked at; a design takes far fewer before it repeats itself
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
    most: dict[str, int]  # beats that each FIFO held at the most, by the stream into it

    @property
    def latency(self) -> int:
        """First input beat taken until every output has offered its first beat."""
        return max(int(port.seen[0]) for port in self.outputs)

    @property
    def interval(self) -> Fraction:
        """Cycles per sample in steady state."""
        port = self.outputs[0]
        return Fraction(port.period_cycles * port.stream.sample_beats, port.period)

    def no_later_than(self, other: Schedule) -> bool:
        """Whether no output beat of any sample leaves later than it does there."""
        return all(_no_later(mine, theirs) for mine, theirs in zip(self.outputs, other.outputs, strict=True))


def _no_later(one: PortCycles, other: PortCycles) -> bool:
    """For ever: both repeat, so it is enough to compare until both have, and a common period more."""
    if one.period_cycles * other.period > other.period_cycles * one.period:
        return False
    count = max(len(one.seen), len(other.seen)) + int(np.lcm(one.period, other.period))
    return bool((one.cycles(0, count) <= other.cycles(0, count)).all())


@dataclass(frozen=True)
class Group:
    """Components that move together: a run of pipes, or one other component."""

    components: tuple[Component, ...]

    @property
    def inputs(self) -> tuple[Stream, ...]:
        return self.components[0].inputs

    @property
    def outputs(self) -> tuple[Stream, ...]:
        return self.components[-1].outputs

    @property
    def is_run(self) -> bool:
        return isinstance(self.components[0], Pipe)

    def control(self) -> Control:
        """Pipes that move together are one long pipe."""
        if self.is_run:
            return PipeControl(sum(component.latency for component in self.components), len(self.inputs))
        return self.components[0].control()


def groups(components: Sequence[Component]) -> list[Group]:
    """The components in groups that move together, in order. A join begins a run."""
    found: list[list[Component]] = []
    ends: dict[str, list[Component]] = {}  # a run, by the stream at its end
    for component in components:
        run = ends.pop(component.input.name, None) if isinstance(component, Pipe) else None
        if run is None or len(component.inputs) > 1:
            run = []
            found.append(run)
        run.append(component)
        if isinstance(component, Pipe):
            ends[component.output.name] = run
    return [Group(tuple(run)) for run in found]


def schedule(components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> Schedule:
    """The schedule of a design, every input always offered and every output always taken."""
    return _Run(groups(components), inputs, outputs).until_it_repeats()


class _Run:
    """All groups from reset. Streams have numbers; `valid` and `ready` are theirs in this cycle."""

    def __init__(self, parts: Sequence[Group], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> None:
        streams = [*inputs, *(y for part in parts for y in part.outputs)]
        number = {stream.name: k for k, stream in enumerate(streams)}
        self.streams = streams
        self.controls = [part.control() for part in parts]
        self.ins = [tuple(number[x.name] for x in part.inputs) for part in parts]
        self.outs = [tuple(number[y.name] for y in part.outputs) for part in parts]
        self.reader = {s: g for g, ins in enumerate(self.ins) for s in ins}
        self.writer = {s: g for g, outs in enumerate(self.outs) for s in outs}
        self.sources = [number[x.name] for x in inputs]
        self.sinks = [number[y.name] for y in outputs]
        self.valid = [False] * len(streams)
        self.ready = [False] * len(streams)
        for s in self.sources:
            self.valid[s] = True
        for s in self.sinks:
            self.ready[s] = True
        self.moves: dict[int, list[int]] = {s: [] for s in (*self.sources, *self.sinks)}
        self.cycle = 0
        self.since = [0] * len(parts)  # the cycle that a group's registers are in
        self.wake = [0] * len(parts)  # the cycle in which it has to be looked at
        self.todo = set(range(len(parts)))
        self._rested: dict[int, tuple[bool, ...]] = {}  # the outputs' readies while a group rests

    def until_it_repeats(self) -> Schedule:
        first, steps = self.sinks[0], 0
        seen: dict[tuple[object, ...], tuple[int, dict[int, int]]] = {}
        beats, sample = self.streams[first].beats, self.streams[first].sample_beats
        while steps < _MAX_STEPS:
            before = len(self.moves[first])
            steps += self._cycle()
            count = len(self.moves[first])
            if count > before and count % (beats if count <= _EVERY_VECTOR * beats else sample) == 0:
                state = self._state()
                if state in seen:
                    return self._repeat(*seen[state])
                seen[state] = (self.cycle, {s: len(moved) for s, moved in self.moves.items()})
            self._next_cycle()
        raise AssertionError(f"no steady state within {_MAX_STEPS} steps")

    def _cycle(self) -> int:
        """One cycle of the groups to which something happens; how many there were."""
        looked: list[int] = []
        for g in range(len(self.controls) - 1, -1, -1):  # readers before writers: ready runs backwards
            if g not in self.todo:
                continue
            looked.append(g)
            control, outs = self.controls[g], tuple([self.ready[s] for s in self.outs[g]])
            if self.since[g] < self.cycle:
                control.rest(self.cycle - self.since[g], self._rested[g])
                self.since[g] = self.cycle
            readies = control.readies(tuple([self.valid[s] for s in self.ins[g]]), outs)
            for s, ready in zip(self.ins[g], readies, strict=True):
                if ready != self.ready[s]:
                    self.ready[s] = ready
                    if s in self.writer:
                        self.todo.add(self.writer[s])
        self.todo.clear()
        for s in self.moves:
            if self.valid[s] and self.ready[s]:
                self.moves[s].append(self.cycle)
        taken = [tuple([self.valid[s] and self.ready[s] for s in self.ins[g]]) for g in looked]
        gave = [any(self.valid[s] and self.ready[s] for s in self.outs[g]) for g in looked]
        for g, takes, gives in zip(looked, taken, gave, strict=True):
            self._clock(g, takes, gives)
        return len(looked)

    def _clock(self, g: int, takes: tuple[bool, ...], gives: bool) -> None:
        control, outs = self.controls[g], tuple([self.ready[s] for s in self.outs[g]])
        if not gives and not any(takes) and (resting := control.resting(outs)):
            self.wake[g] = self.cycle + resting
            self._rested[g] = outs
            return
        control.clock(takes, outs)
        self.since[g] = self.wake[g] = self.cycle + 1
        self.todo.add(g)
        for s, valid in zip(self.outs[g], control.valids, strict=True):
            if valid != self.valid[s]:
                self.valid[s] = valid
                if s in self.reader:
                    self.todo.add(self.reader[s])

    def _next_cycle(self) -> None:
        if self.todo:
            self.cycle += 1
        else:
            self.cycle = min(self.wake)
            if self.cycle >= FOREVER:
                raise DeadlockError({self.streams[s].name: len(moved) for s, moved in self.moves.items()})
        self.todo.update(g for g, wake in enumerate(self.wake) if wake <= self.cycle)

    def _state(self) -> tuple[object, ...]:
        """All that the future depends on, at the end of a cycle."""
        rests = [self.cycle + 1 - since for since in self.since]
        phases = [len(moved) % self.streams[s].beats for s, moved in self.moves.items()]
        states = [control.state() for control in self.controls]
        return (*states, *rests, *phases, *self.valid, *self.ready, frozenset(self.todo))

    def _repeat(self, cycle: int, counts: dict[int, int]) -> Schedule:
        """Everything since `cycle`, when the ports had moved `counts` beats, comes again and again."""
        start = min(self.moves[s][0] for s in self.sources)
        ports = {
            s: PortCycles(
                self.streams[s], np.array(moved, np.int64) - start, len(moved) - counts[s], self.cycle - cycle
            )
            for s, moved in self.moves.items()
        }
        fifos = [(g, control) for g, control in enumerate(self.controls) if isinstance(control, FifoControl)]
        most = {self.streams[self.ins[g][0]].name: control.most for g, control in fifos}
        return Schedule(tuple(ports[s] for s in self.sources), tuple(ports[s] for s in self.sinks), most)
