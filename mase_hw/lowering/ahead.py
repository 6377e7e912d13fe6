"""The FIFOs in front of windows: room for what comes ahead, where a target interval would be missed without it.

Every layer may keep to the interval, and the design may miss it: a window does not take positions at an even pace. At
the end of a frame it gives windows of rows that it has and of padding, and takes nothing or, with a stride of 2, takes
two rows for one row of windows. What is before it stands still meanwhile, and does not catch up if it needs every cycle
of the interval. A FIFO in front of the window holds these positions.

The depths are found by running the control models with samples at the pace that is wanted (`paced.py`), those in front
of joins without limit. FIFOs that are not needed are taken out, the largest first. Then each is made as small as the
pace allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from mase_hw.ir.plumbing_control import UNLIMITED
from mase_hw.layers import LayerGraph
from mase_hw.lowering.lower import Edge
from mase_hw.lowering.paced import Kept, kept
from mase_hw.lowering.skips import Depths, Make, Trials, join_edges
from mase_hw.ops.choice import Choice


def window_edges(graph: LayerGraph, choices: Sequence[Choice]) -> list[Edge]:
    """The input of every layer that reads windows, unless the user has said how deep its FIFO is."""
    layers = zip(graph.layers, choices, strict=True)
    windows = [layer for layer, choice in layers if layer.geometry is not None and not choice.data_in_fifo_depth]
    return [(layer.name, 0) for layer in windows if layer.geometry and not layer.geometry.is_pointwise]


def ahead_depths(graph: LayerGraph, choices: Sequence[Choice], make: Make, target: int | None) -> dict[Edge, int]:
    """The depths of the FIFOs in front of windows; none where the target is reached without them, or not with them.

    Where the target is missed with them too, they are those of the least pace that they allow.
    """
    edges = window_edges(graph, choices)
    if target is None or not edges:
        return {}
    search = _Search(graph, edges, make)
    if search.run({}, target):
        return {}
    unlimited = dict.fromkeys(edges, UNLIMITED)
    pace, run = target, search.run(unlimited, target)
    if run is None:
        least = search.least_pace(unlimited, target)
        if least is None:
            return {}
        pace, run = least
    return search.smallest(unlimited, run, pace)


class _Search:
    """Designs with FIFOs in front of some windows. Those in front of joins are never full."""

    def __init__(self, graph: LayerGraph, edges: Sequence[Edge], make: Make) -> None:
        self._joins = join_edges(graph)
        self.trials = Trials(graph, [*self._joins, *edges], make)
        self._fixed = dict.fromkeys(self._joins, UNLIMITED) | dict.fromkeys(edges, 0)

    def run(self, depths: Depths, pace: int) -> Kept | None:
        design = self.trials.design({**self._fixed, **depths})
        return kept(design.components, design.inputs, design.outputs, pace)

    def least_pace(self, depths: Depths, target: int) -> tuple[int, Kept] | None:
        """The fewest cycles per sample, above the target, that these depths allow and none at all does not."""
        without = self.trials.design(self._fixed | {edge: self.trials.unlimited(edge) for edge in self._joins})
        low, high = target + 1, -(-without.schedule.interval // 1)
        found = None
        while low < high:
            middle = (low + high) // 2
            run = self.run(depths, middle)
            if run is not None:
                found, high = (middle, run), middle
            else:
                low = middle + 1
        return found

    def smallest(self, depths: Depths, run: Kept, pace: int) -> dict[Edge, int]:
        """Fewer and smaller FIFOs with which the design keeps to the pace."""
        found = self._held(depths, run)
        for edge in sorted(found, key=self._bits(found)):
            fewer = {other: depth for other, depth in found.items() if other != edge}
            if (tried := self.run(fewer, pace)) is not None:
                found = self._held(fewer, tried)
        for edge in sorted(found, key=self._bits(found)):
            low = 1
            while low < found[edge]:
                middle = (low + found[edge]) // 2
                if (tried := self.run({**found, edge: middle}, pace)) is not None:
                    found = self._held({**found, edge: middle}, tried)
                else:
                    low = middle + 1
        return found

    def _held(self, depths: Depths, run: Kept) -> dict[Edge, int]:
        """The same depths, but for room that was not needed; a FIFO that is full takes no beat even if one leaves."""
        held = {edge: run.most[self.trials.fifo(edge).input.name] + 1 for edge in depths}
        return {edge: min(depth, held[edge]) for edge, depth in depths.items()}

    def _bits(self, depths: Mapping[Edge, int]) -> Callable[[Edge], int]:
        """For sorting: the FIFOs with the most bits first."""
        return lambda edge: -depths[edge] * self.trials.fifo(edge).input.width
