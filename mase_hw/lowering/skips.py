"""The FIFOs in front of joins: the smallest that lose no cycle against unlimited ones, from the control models alone.

Where branches of a fork meet again, the shorter one waits for the longer one. Its beats need room, or the fork stands
still. The depths are found by running the schedule of the design, which is exact: first with FIFOs that are never
full, then with smaller and smaller ones, one FIFO after the other. More room never makes a design slower, so halving
finds the least depth of each, and a depth of one less in any of them would lose a cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mase_hw.ir.cycles import DeadlockError, Schedule
from mase_hw.ir.design import Design
from mase_hw.layers import LayerGraph
from mase_hw.lowering.lower import Edge, fifo_name

Make = Callable[[Mapping[Edge, int]], Design]


def join_edges(graph: LayerGraph) -> list[Edge]:
    """Every input of every layer that reads several results."""
    return [(layer.name, port) for layer in graph.layers if len(layer.inputs) > 1 for port in range(len(layer.inputs))]


def skip_fifos(graph: LayerGraph) -> set[str]:
    """Names of the FIFOs that may stand in front of joins."""
    return {fifo_name(edge) for edge in join_edges(graph)}


def exact_depths(graph: LayerGraph, make: Make) -> dict[Edge, int]:
    """The depths of all FIFOs in front of joins, 0 where none is needed.

    A FIFO where none is needed costs a cycle of latency. So those are taken out first, and what is left is compared
    with unlimited FIFOs in these places alone.
    """
    depths = dict.fromkeys(join_edges(graph), _unlimited(graph, make))
    for edge in depths:
        without = {**depths, edge: 0}
        if keeps_up(make, without, depths):
            depths = without
    wanted = make(depths).schedule
    for edge in [edge for edge, depth in depths.items() if depth]:
        held = make(depths).schedule.most[_fifo_input(make, depths, edge)]
        depths[edge] = _least(edge, {**depths, edge: held + 1}, wanted, make)  # it is full with one beat more
    return depths


def _unlimited(graph: LayerGraph, make: Make) -> int:
    """A depth that is never reached by what waits for another branch: a design holds fewer beats than that."""
    edges = join_edges(graph)
    if not edges:
        return 0
    design = make(dict.fromkeys(edges, 1))
    return 1024 + 2 * max(stream.sample_beats for stream in design.streams)


def _fifo_input(make: Make, depths: Mapping[Edge, int], edge: Edge) -> str:
    return make(depths).component(fifo_name(edge)).input.name


def keeps_up(make: Make, depths: Mapping[Edge, int], others: Mapping[Edge, int]) -> bool:
    """Whether no output is later with these depths than with the others; a deadlock is later than anything."""
    try:
        return make(depths).schedule.no_later_than(make(others).schedule)
    except DeadlockError:
        return False


def _least(edge: Edge, depths: Mapping[Edge, int], wanted: Schedule, make: Make) -> int:
    """The least depth with which no output beat leaves later than wanted; `depths` has one that is enough."""

    def enough(depth: int) -> bool:
        try:
            return make({**depths, edge: depth}).schedule.no_later_than(wanted)
        except DeadlockError:
            return False

    low, high = 1, depths[edge]
    while low < high:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle + 1
    return high
