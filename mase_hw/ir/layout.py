"""Components that move together, and their controls laid out for the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from mase_hw.ir.compiled import compiled, kinds_with
from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.control import Control
from mase_hw.ir.engine import LIMIT, Net
from mase_hw.ir.plumbing_control import PipeControl
from mase_hw.ir.stream import Stream

PLAIN_STEPS = 20_000  # of the engine that are run as Python; then it is worth to load what is compiled
LARGE = 20_000  # beats of a sample, all streams together, from which on it is compiled from the first step
_MAX_STEPS = 20_000_000_000  # a design takes far fewer before it repeats itself


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


@dataclass(frozen=True)
class Portion:
    """A part of a design that shares no stream with the rest of it, in the design's order."""

    components: tuple[Component, ...]
    inputs: tuple[Stream, ...]
    outputs: tuple[Stream, ...]


def separate(components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> list[Portion]:
    """The parts of a design that no stream joins. Each goes its own way: one may stop while another goes on."""
    portions: list[tuple[set[str], list[Component]]] = [({stream.name}, []) for stream in inputs]
    for component in components:
        names = {stream.name for stream in (*component.inputs, *component.outputs)}
        met = [portion for portion in portions if portion[0] & names]
        portions = [portion for portion in portions if portion not in met]
        portions.append((names.union(*(each[0] for each in met)), [*(c for each in met for c in each[1]), component]))
    order = {component.name: k for k, component in enumerate(components)}
    return [
        Portion(
            tuple(sorted(own, key=lambda component: order[component.name])),
            *(tuple(stream for stream in side if stream.name in names) for side in (inputs, outputs)),
        )
        for names, own in portions
    ]


class Layout:
    """The groups of a design from reset, their streams numbered: the inputs first, then in the order of writing."""

    def __init__(self, components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> None:
        parts = groups(components)
        self.streams = [*inputs, *(y for part in parts for y in part.outputs)]
        number = {stream.name: k for k, stream in enumerate(self.streams)}
        self.controls = [part.control() for part in parts]
        self.ins = [[number[x.name] for x in part.inputs] for part in parts]
        self.outs = [[number[y.name] for y in part.outputs] for part in parts]
        self.sources = [number[x.name] for x in inputs]
        self.sinks = [number[y.name] for y in outputs]

    @property
    def beats(self) -> int:
        """Of a sample, on all streams together."""
        return sum(stream.sample_beats for stream in self.streams)

    def net(self) -> Net:
        """On lists."""
        count = len(self.streams)
        writer, port, reader = [-1] * count, [0] * count, [-1] * count
        for g, (ins, outs) in enumerate(zip(self.ins, self.outs, strict=True)):
            for s in ins:
                reader[s] = g
            for k, s in enumerate(outs):
                writer[s], port[s] = g, k
        return Net(
            [control.kind for control in self.controls],
            [control.words for control in self.controls],
            [list(control.params) for control in self.controls],
            *(*_flat(self.ins), *_flat(self.outs), writer, port, reader),
        )


def _flat(rows: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """All entries one after the other, and where each row begins and ends."""
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row))
    return [entry for row in rows for entry in row], starts


T = TypeVar("T", bound=tuple[Any, ...])


class Runner(Generic[T]):
    """Calls a function of the engine on a design: as Python while there is little to do, then compiled.

    Which of them depends on the design alone, and both do the same.
    """

    def __init__(self, layout: Layout, run: T, function: Callable[..., int]) -> None:
        self.net, self.run, self.function = layout.net(), run, function
        self._registers = [control.registers for control in layout.controls]
        self._kinds = [control.kind for control in layout.controls]
        self._limit = PLAIN_STEPS if all(kind.compiles for kind in self._kinds) else _MAX_STEPS
        if self._limit == PLAIN_STEPS and layout.beats >= LARGE:
            self._compile()

    def __call__(self, *arguments: int) -> int:
        while (why := self.function(self.net, self.run, *arguments, self._limit)) == LIMIT:
            assert self._limit == PLAIN_STEPS, f"no steady state within {_MAX_STEPS} steps"
            self._compile()
        return why

    def _compile(self) -> None:
        kinds = kinds_with(self._kinds)
        net = self.net._replace(kinds=[kinds.index(kind) for kind in self._kinds])
        self.net, self.run = Net(*map(_array, net)), type(self.run)(*map(_array, self.run))
        self.function = compiled(self.function, kinds)
        self._limit = _MAX_STEPS

    def state(self) -> Any:
        """The registers of all groups, one after the other."""
        rows = zip(self.net.words, self._registers, strict=True)
        return np.concatenate([np.asarray(row[:count], np.int64) for row, count in rows])


def _array(values: Any) -> Any:
    """Lists as an array; rows of several lengths are filled up."""
    if not values or not isinstance(values[0], list):
        return np.array(values, np.int64)
    rows = np.zeros((len(values), max(1, *map(len, values))), np.int64)
    for row, given in zip(rows, values, strict=True):
        row[: len(given)] = given
    return rows
