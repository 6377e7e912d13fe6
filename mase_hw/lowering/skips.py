"""The FIFOs in front of joins: the smallest that lose no cycle against unlimited ones, from the control models alone.

Where branches of a fork meet again, the shorter one waits for the longer one. Its beats need room, or the fork stands
still. The depths are found by running the schedule of the design, which is exact: first with FIFOs that are never
full, then with smaller and smaller ones, one FIFO after the other. More room never makes a design slower, so halving
finds the least depth of each, and a depth of one less in any of them would lose a cycle. A design that loses no cycle
may still stop when it is stalled; then some of the depths are larger. The components are made once: what is tried
differs in these FIFOs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from mase_hw.ir.component import Component
from mase_hw.ir.cycles import Schedule, schedule_within
from mase_hw.ir.design import Design
from mase_hw.ir.plumbing import Fifo
from mase_hw.ir.plumbing_control import UNLIMITED
from mase_hw.ir.stream import Stream
from mase_hw.layers import LayerGraph
from mase_hw.lowering.lower import Edge, fifo_name, legal

Depths = Mapping[Edge, int]
Make = Callable[[Depths], Design]


def join_edges(graph: LayerGraph) -> list[Edge]:
    """Every input of every layer that reads several results."""
    return [(layer.name, port) for layer in graph.layers if len(layer.inputs) > 1 for port in range(len(layer.inputs))]


class Trials:
    """Designs that differ in the FIFOs on these edges. They are as `make` makes them, but for names."""

    def __init__(self, graph: LayerGraph, edges: Collection[Edge], make: Make) -> None:
        self.base = make(dict.fromkeys(edges, 1))
        self._names = {edge: fifo_name(graph, edge) for edge in edges}

    def design(self, depths: Depths) -> Design:
        """A FIFO of depth 0 is not there; then a skid buffer may have to be."""
        wanted = {self._names[edge]: depth for edge, depth in depths.items()}
        kept: list[Component] = []
        instead: dict[str, Stream] = {}  # the stream into a FIFO that is not there, by the one out of it
        for component in self.base.components:
            if any(x.name in instead for x in component.inputs):
                component = replace(component, inputs=tuple(instead.get(x.name, x) for x in component.inputs))
            depth = wanted.get(component.name)
            if depth == 0:
                instead[component.output.name] = component.input
            else:
                kept.append(
                    component if depth is None else Fifo(component.name, component.inputs, component.outputs, depth)
                )
        taken = {component.name for component in kept}
        return Design(self.base.name, legal(kept, lambda name: _free(name, taken)))

    def within(self, depths: Depths, wanted: Schedule) -> Schedule | None:
        """The schedule, if no output is later than wanted; a deadlock is later than anything."""
        design = self.design(depths)
        return schedule_within(design.components, design.inputs, design.outputs, wanted)

    def fifo(self, edge: Edge) -> Component:
        return self.base.component(self._names[edge])

    def held(self, timing: Schedule, edge: Edge) -> int:
        """Beats that a FIFO holds at the most; UNLIMITED where they become ever more."""
        return timing.most[self.fifo(edge).input.name]

    def unlimited(self, edge: Edge) -> int:
        """A depth that is never reached by what waits for another branch.

        Where something behind the join is slower than the branches, a FIFO without limit holds ever more, and what is
        before it keeps a period of its own: the two come together again only after very many samples. So it gets more
        room than a design holds that waits for nothing else.
        """
        streams = self.base.streams
        if any(stream.frame for stream in streams):
            return 1024 + 2 * self.fifo(edge).input.sample_beats
        return 1024 + 2 * max(stream.sample_beats for stream in streams)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def exact_depths(graph: LayerGraph, make: Make) -> dict[Edge, int]:
    """The depths of all FIFOs in front of joins, 0 where none is needed.

    A FIFO where none is needed costs a cycle of latency. So those are taken out first, and what is left is compared
    with unlimited FIFOs in these places alone.
    """
    edges = join_edges(graph)
    if not edges:
        return {}
    trials = Trials(graph, edges, make)
    depths = {edge: trials.unlimited(edge) for edge in edges}
    wanted = trials.design(depths).schedule
    for edge in edges:
        without = {**depths, edge: 0}
        if (found := trials.within(without, wanted)) is not None:
            depths, wanted = without, found
    timing = wanted
    for edge in [edge for edge, depth in depths.items() if depth]:
        depths[edge], timing = _least(edge, depths, timing, wanted, trials)
    return _going_on(depths, trials)


def _going_on(depths: dict[Edge, int], trials: Trials) -> dict[Edge, int]:
    """The depths, and more where the design could stop: a pipe that was filled with gaps holds fewer beats.

    With no stall at all every stage of a pipe is full when its branch has to wait. After stalls it may not be, and the
    FIFO has to hold what is not in the pipe.
    """
    if trials.design(depths).progress.goes_on:
        return depths
    found = {edge: max(depth, trials.unlimited(edge)) for edge, depth in depths.items()}
    for edge, least in depths.items():
        low, high = least, found[edge]
        while low < high:
            middle = (low + high) // 2
            if trials.design({**found, edge: middle}).progress.goes_on:
                high = middle
            else:
                low = middle + 1
        found[edge] = high
    return found


def _least(edge: Edge, depths: Depths, timing: Schedule, wanted: Schedule, trials: Trials) -> tuple[int, Schedule]:
    """The least depth with which no output beat leaves later than wanted, and the schedule with it.

    `depths` has one that is enough, with the schedule `timing`.
    """
    low, high = 1, trials.held(timing, edge) + 1  # it is full with one beat more
    while high > UNLIMITED:  # it holds ever more: enough is the first of 2, 4, 8, ... that is
        tried = 2 * low
        if (found := trials.within({**depths, edge: tried}, wanted)) is not None:
            high, timing = tried, found
        else:
            low = tried + 1
    while low < high:
        middle = (low + high) // 2
        if (found := trials.within({**depths, edge: middle}, wanted)) is not None:
            high, timing = middle, found
        else:
            low = middle + 1
    return high, timing
