"""The FIFOs in front of windows: room for what comes ahead, where a target interval would be missed without it.

Every layer may keep to the interval, and the design may miss it: a window does not take positions at an even pace. At
the end of a frame it gives windows of rows that it has and of padding, and takes nothing or, with a stride of 2, takes
two rows for one row of windows. What is before it stands still meanwhile, and does not catch up if it needs every cycle
of the interval. A FIFO in front of the window holds these positions.

The depths are found by running the schedule, as those in front of joins are (`skips.py`). FIFOs that are not needed are
taken out, the largest first. Then each is made as small as the target allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mase_hw.ir.cycles import Schedule
from mase_hw.layers import LayerGraph
from mase_hw.lowering.lower import Edge
from mase_hw.lowering.skips import Depths, Make, Trials, join_edges
from mase_hw.ops.choice import Choice


def window_edges(graph: LayerGraph, choices: Sequence[Choice]) -> list[Edge]:
    """The input of every layer that reads windows, unless the user has said how deep its FIFO is."""
    layers = zip(graph.layers, choices, strict=True)
    windows = [layer for layer, choice in layers if layer.geometry is not None and not choice.data_in_fifo_depth]
    return [(layer.name, 0) for layer in windows if layer.geometry and not layer.geometry.is_pointwise]


def ahead_depths(graph: LayerGraph, choices: Sequence[Choice], make: Make, target: int | None) -> dict[Edge, int]:
    """The depths of the FIFOs in front of windows; none where the target is reached without them, or not with them."""
    edges = window_edges(graph, choices)
    if target is None or not edges:
        return {}
    search = _Search(graph, edges, make)
    without = search.schedule({}).interval
    if without <= target:
        return {}
    depths = {edge: search.trials.unlimited(edge) for edge in edges}
    timing = search.schedule(depths)
    if timing.interval >= without:
        return {}
    goal = max(timing.interval, Fraction(target))
    for edge in sorted(edges, key=lambda edge: -search.bits(edge, timing)):
        fewer = {other: depth for other, depth in depths.items() if other != edge}
        if (found := search.schedule(fewer)).interval <= goal:
            depths, timing = fewer, found
    for edge in sorted(depths, key=lambda edge: -search.bits(edge, timing)):
        depths, timing = search.smallest(edge, depths, timing, goal)
    return depths


class _Search:
    """Designs with FIFOs in front of some windows. Those in front of joins are never full."""

    def __init__(self, graph: LayerGraph, edges: Sequence[Edge], make: Make) -> None:
        joins = join_edges(graph)
        self.trials = Trials(graph, [*joins, *edges], make)
        self._fixed = {edge: self.trials.unlimited(edge) for edge in joins} | dict.fromkeys(edges, 0)

    def schedule(self, depths: Depths) -> Schedule:
        return self.trials.design({**self._fixed, **depths}).schedule

    def bits(self, edge: Edge, timing: Schedule) -> int:
        """What a FIFO holds at the most, if nothing else makes its writer wait."""
        return self.trials.held(timing, edge) * self.trials.fifo(edge).input.width

    def smallest(
        self, edge: Edge, depths: Depths, timing: Schedule, goal: Fraction
    ) -> tuple[dict[Edge, int], Schedule]:
        """The same depths but for the least of this FIFO with which the goal is reached."""
        low, high = 1, min(self.trials.held(timing, edge), depths[edge])
        best = {**depths, edge: high}
        while low < high:
            tried = {**depths, edge: (low + high) // 2}
            if (found := self.schedule(tried)).interval <= goal:
                best, timing, high = tried, found, tried[edge]
            else:
                low = tried[edge] + 1
        return best, timing
