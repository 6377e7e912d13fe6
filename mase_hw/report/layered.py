"""A graph in levels: who stands how far from the start, in which order, and where long edges pass by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 4  # over all levels, each way; small graphs settle in fewer

Edge = tuple[int, int]


@dataclass(frozen=True)
class Layers:
    """For each node its level and slot. Slots of a level are one apart, around 0.

    `routes` has for each edge the slots in which it passes the levels between its ends.
    """

    levels: tuple[int, ...]
    slots: tuple[float, ...]
    routes: tuple[tuple[float, ...], ...]
    full: tuple[int, ...]  # how many slots each level has

    @property
    def count(self) -> int:
        return max(self.levels) + 1

    def most(self, levels: range) -> int:
        """Slots of the fullest of these levels."""
        return max(self.full[level] for level in levels)


def layered(nodes: int, edges: Sequence[Edge]) -> Layers:
    """Nodes are numbered so that every edge leads to a higher number."""
    levels = _levels(nodes, edges)
    chains: list[list[int]] = []  # each edge as neighbouring places: nodes, and points where it passes a level
    at = list(levels)
    for start, end in edges:
        points = list(range(len(at), len(at) + levels[end] - levels[start] - 1))
        at += range(levels[start] + 1, levels[end])
        chains.append([start, *points, end])
    slots = _ordered(at, [pair for chain in chains for pair in pairwise(chain)])
    routes = tuple(tuple(slots[k] for k in chain[1:-1]) for chain in chains)
    full = tuple(at.count(level) for level in range(max(levels) + 1))
    return Layers(tuple(levels), tuple(slots[:nodes]), routes, full)


def _levels(nodes: int, edges: Sequence[Edge]) -> list[int]:
    """The longest way from the start; what begins somewhere on the way stands just before its first reader."""
    levels = [0] * nodes
    for start, end in sorted(edges, key=lambda edge: edge[1]):
        levels[end] = max(levels[end], levels[start] + 1)
    readers: dict[int, list[int]] = {}
    for start, end in edges:
        readers.setdefault(start, []).append(end)
    written = {end for _, end in edges}
    for node in readers.keys() - written:
        levels[node] = min(levels[end] for end in readers[node]) - 1
    return levels


def _ordered(at: Sequence[int], pairs: Sequence[Edge]) -> list[float]:
    """Slots in which few lines cross: each place near the middle of its neighbours, again and again."""
    before: dict[int, list[int]] = {}
    after: dict[int, list[int]] = {}
    for start, end in pairs:
        before.setdefault(end, []).append(start)
        after.setdefault(start, []).append(end)
    rows: dict[int, list[int]] = {}
    for place, level in enumerate(at):
        rows.setdefault(level, []).append(place)
    slots = [0.0] * len(at)

    def settle(row: list[int]) -> None:
        for k, place in enumerate(row):
            slots[place] = k - (len(row) - 1) / 2

    for row in rows.values():
        settle(row)
    for sweep in range(2 * _SWEEPS):
        near = after if sweep % 2 else before
        for level in sorted(rows, reverse=bool(sweep % 2)):
            middle = {}
            for place in rows[level]:
                found = [slots[other] for other in near.get(place, ())]
                middle[place] = sum(found) / len(found) if found else slots[place]
            rows[level].sort(key=lambda place: middle[place])
            settle(rows[level])
    return slots
