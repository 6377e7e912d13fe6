"""Designs of the first layers of a graph, and which of them are kept while the next layer is added.

Of the designs that end alike the cheapest is kept. Where DSP blocks or block RAMs are limited, one is kept for each
number of these that pays: no other one has fewer or as many of all that is limited, and costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.stream import Stream
from mase_hw.ops.choice import Choice

# LUT sites of every use, DSP blocks, block RAMs, latencies added up; what comes first weighs more than all that follows
Total = tuple[int, int, int, int]
DSP, BRAM = 1, 2  # places in a total
MOST_ALIKE = 256  # designs that end alike; beyond, those are left out that differ little from another one
CELLS = 12  # in each limited figure, designs in the same twelfth of the limit differ little


def price(component: Component) -> Total:
    cost = component.cost()
    return (cost.logic, cost.dsp, cost.bram, component.latency)


def plus(one: Total, other: Total) -> Total:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])


@dataclass(frozen=True)
class Limits:
    """The most DSP blocks and block RAMs of 18 Kbit; None: any number."""

    dsp: int | None = None
    bram: int | None = None

    @property
    def limited(self) -> tuple[tuple[int, int], ...]:
        """Places in a total, and the most that may stand there."""
        found = ((DSP, self.dsp), (BRAM, self.bram))
        return tuple((place, most) for place, most in found if most is not None)


@dataclass(frozen=True)
class End:
    """A result that is still to be read: one of its streams, and the component that makes it."""

    x: Stream
    last: Component | None  # None: an input of the model

    @property
    def kind(self) -> tuple[int, str, int]:
        """Lanes, and the handshake of the last component."""
        last = self.last
        handshake = "none" if last is None else "pipe" if isinstance(last, Pipe) else str(not last.ready_paths)
        return (self.x.lanes, handshake, 0)

    @property
    def finishes(self) -> bool:
        """Whether a ReLU can be merged into the last component."""
        return self.last is not None and self.last.finish is not None


@dataclass(frozen=True)
class Label:
    """A design of the first layers: what it costs, how it ends, and the choices that led there."""

    total: Total
    ends: dict[str, End] = field(default_factory=dict)
    forks: tuple[tuple[str, bool], ...] = ()
    choice: Choice | None = None
    earlier: Label | None = None

    @property
    def choices(self) -> list[Choice]:
        found: list[Choice] = []
        label: Label | None = self
        while label is not None and label.choice is not None:
            found.append(label.choice)
            label = label.earlier
        return found[::-1]


@dataclass
class Sieve:
    """Keeps the best labels of each end within the limits; `optimal` is False once one was left out that might pay."""

    limits: Limits
    optimal: bool = True

    def best(self, labels: Iterable[Label], end: Callable[[Label], Hashable]) -> list[Label]:
        limited = self.limits.limited
        by_end: dict[Hashable, list[Label]] = {}
        for label in labels:
            if all(label.total[place] <= most for place, most in limited):
                by_end.setdefault(end(label), []).append(label)
        return [label for alike in by_end.values() for label in self._paying(alike)]

    def _paying(self, alike: list[Label]) -> list[Label]:
        """In the order in which they came."""
        places = [place for place, _ in self.limits.limited]
        kept: list[int] = []
        shown: list[tuple[int, ...]] = []  # what is limited, of those that are kept
        for k in sorted(range(len(alike)), key=lambda k: alike[k].total):
            own = tuple(alike[k].total[place] for place in places)
            if not any(all(a <= b for a, b in zip(other, own, strict=True)) for other in shown):
                kept.append(k)
                shown.append(own)
        if len(kept) > MOST_ALIKE:
            self.optimal = False
            kept = self._thinned(alike, kept)
        return [alike[k] for k in sorted(kept)]

    def _thinned(self, alike: list[Label], kept: list[int]) -> list[int]:
        """The cheapest of each cell, and those with the least of what is limited; `kept` has the cheapest first."""
        cells: dict[Hashable, int] = {}
        for k in kept:
            cells.setdefault(tuple(CELLS * alike[k].total[at] // (most + 1) for at, most in self.limits.limited), k)
        least = {min(kept, key=lambda k: (alike[k].total[at], alike[k].total)) for at, _ in self.limits.limited}
        return list({*cells.values(), *least})
