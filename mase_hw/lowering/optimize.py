"""The best choice for every layer of a chain at once: dynamic programming over all combinations, exact.

What a design costs is the sum of its components, and which adapters and skid buffers there are depends on two
neighbours. So, layer by layer, of all designs of the layers so far that end alike the best one is kept: what follows
costs the same behind each of them. Two end alike if their last streams have as many lanes and their last components the
same kind of handshake and, where the next layer may merge into it, if it is the very same component. With a limit on
DSP blocks one is kept for each number of them that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.finish import Finish
from mase_hw.ir.plumbing import Plumbing, SkidBuffer
from mase_hw.ir.stream import Stream, full_range
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.layers import Chain, Layer
from mase_hw.lowering.lower import chained
from mase_hw.lowering.parts import (
    Options,
    after,
    before,
    does_nothing,
    may_merge,
    merges,
    own_lanes,
    own_part,
    wanted_types,
)
from mase_hw.lowering.space import FOREVER, Candidate
from mase_hw.ops import Cast, rectified

# LUT sites of every use, DSP blocks, block RAMs, latencies added up; what comes first weighs more than all that follows
Total = tuple[int, int, int, int]


@dataclass(frozen=True)
class Label:
    """A design of the first layers: what it costs, how it ends, and the choices that led there."""

    total: Total
    x: Stream
    last: Component | None
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


@dataclass(frozen=True)
class Plan:
    """A choice for every layer, and what they come to, predicted."""

    choices: tuple[Choice, ...]
    interval: int
    sites: int  # LUTs of every use, as a chip has them
    dsp: int
    bram: int


@dataclass
class Planner:
    """Plans for one chain; `offer` gives the candidates of each layer that reach an interval.

    Components are kept from plan to plan.
    """

    chain: Chain
    options: Options
    offer: Callable[[int], Sequence[Sequence[Candidate]]]
    _own: dict[tuple[int, Choice], Component] = field(default_factory=dict)
    _rectified: dict[int, Component] = field(default_factory=dict)
    _totals: dict[int, tuple[Component, Total]] = field(default_factory=dict)  # the component stays, and so its id

    def __post_init__(self) -> None:
        self.wanted = wanted_types(self.chain.layers)

    def best(self, slowest: int = FOREVER, most_dsp: int | None = None) -> Plan | None:
        """The plan with the fewest LUT sites among those with an interval of at most `slowest`; None if there is none.

        Of equal ones that with fewer DSP blocks, then block RAMs, then the one whose latencies add up to less.
        """
        labels: list[Label] = []
        space = self.offer(slowest)
        for k, offered in enumerate(space):
            allowed = [candidate.choice for candidate in offered]
            reached = self._reached(k, allowed, labels, most_dsp)
            labels = _best_by_end(reached, lambda label, k=k: self._end(k, label), most_dsp)  # type: ignore[misc]
        finished = (label if label.last else self._follow(label, [_skid(label.x)]) for label in labels)
        label = min(finished, key=lambda label: label.total, default=None)
        if label is None:
            return None
        known = [{candidate.choice: candidate.interval for candidate in offered} for offered in space]
        interval = max(intervals[choice] for intervals, choice in zip(known, label.choices, strict=True))
        return Plan(tuple(label.choices), interval, *label.total[:3])

    def _reached(
        self, k: int, allowed: Sequence[Choice], labels: Sequence[Label], most_dsp: int | None
    ) -> Iterator[Label]:
        """Every label after layer `k`, those before it given."""
        layer, wanted = self.chain.layers[k], self.wanted[k + 1]
        merging = self._merging(k, labels[0]) if labels else False
        if merging:
            for label, choice in product(labels, allowed):
                if _has_step(label.last) and merges(layer, choice, label.x, wanted):
                    yield replace(self._merge(label), choice=choice, earlier=label)
            # What does not merge needs no more than one label for each kind of end.
            labels = _best_by_end(labels, lambda label: (_kind(label), _has_step(label.last)), most_dsp)
        for alike in _by_front(layer, allowed):
            first = alike[0]
            fronts = (
                self._follow(label, before(layer, first, label.x))
                for label in ([self._start(first)] if k == 0 else labels)
                if not (merging and _has_step(label.last) and merges(layer, first, label.x, wanted))
            )
            for label, choice in product(_best_by_end(fronts, _kind, most_dsp), alike):
                own = [] if does_nothing(layer, label.x, wanted) else [self._component(k, choice, label.x)]
                more = after(layer, choice, own[0].output if own else label.x)
                yield replace(self._follow(label, [*own, *more]), choice=choice, earlier=label)

    def _start(self, choice: Choice) -> Label:
        assert self.wanted[0] is not None, "the input has no type"
        lanes, fixed = choice.data_in_parallelism, self.wanted[0].fixed
        return Label((0, 0, 0, 0), full_range("data_in_0", self.chain.features, lanes, fixed), None)

    def _end(self, k: int, label: Label) -> Hashable:
        """What the layers after `k` see of a design."""
        if k + 1 < len(self.chain.layers) and self._merging(k + 1, label) and _has_step(label.last):
            return (label.x.lanes, id(label.last))
        return _kind(label)

    def _merging(self, k: int, label: Label) -> bool:
        return k > 0 and may_merge(self.chain.layers[k], label.x, self.wanted[k + 1])

    def _merge(self, label: Label) -> Label:
        """The label with a ReLU merged into its last component."""
        assert label.last is not None
        if id(label.last) not in self._rectified:
            merged = rectified(label.last)
            assert merged is not None
            self._rectified[id(label.last)] = merged
        merged = self._rectified[id(label.last)]
        terms = zip(label.total, self._total(merged), self._total(label.last), strict=True)
        total = tuple(whole + new - old for whole, new, old in terms)
        return Label(total, merged.output, merged)  # type: ignore[arg-type]

    def _follow(self, label: Label, components: Sequence[Component]) -> Label:
        """The label with components behind it, and skid buffers where they need them."""
        total, last = label.total, label.last
        for component in components:
            if last is not None and chained(last, component):
                total = _plus(total, _price(_skid(component.input)))
            total = _plus(total, self._total(component))
            last = component
        x = components[-1].output if components else label.x
        return Label(total, x, last, label.choice, label.earlier)

    def _component(self, k: int, choice: Choice, x: Stream) -> Component:
        if (k, choice) not in self._own:
            self._own[k, choice] = own_part(self.chain.layers[k], choice, x, self.wanted[k + 1], self.options)
        return self._own[k, choice]

    def _total(self, component: Component) -> Total:
        if isinstance(component, Plumbing | Cast):
            return _price(component)
        if id(component) not in self._totals:
            self._totals[id(component)] = (component, _price(component))
        return self._totals[id(component)][1]


def _by_front(layer: Layer, allowed: Iterable[Choice]) -> Iterable[list[Choice]]:
    """Choices with the same adapters before their own component."""
    groups: dict[Hashable, list[Choice]] = {}
    for choice in allowed:
        own = own_lanes(layer, choice)[0]
        key = choice if choice.implementation == "stream" else (choice.data_in_parallelism, own)
        groups.setdefault(key, []).append(choice)
    return groups.values()


def _best_by_end(labels: Iterable[Label], end: Callable[[Label], Hashable], most_dsp: int | None) -> list[Label]:
    """Of the labels that end alike the best; with a limit on DSP blocks, the best for each number of them."""
    kept: dict[Hashable, list[Label]] = {}
    for label in labels:
        if most_dsp is not None and label.total[1] > most_dsp:
            continue
        alike = kept.setdefault(end(label), [])
        if any(_beats(other.total, label.total, most_dsp) for other in alike):
            continue
        alike[:] = [other for other in alike if not _beats(label.total, other.total, most_dsp)]
        alike.append(label)
    return [label for alike in kept.values() for label in alike]


def _beats(one: Total, other: Total, most_dsp: int | None) -> bool:
    return one <= other and (most_dsp is None or one[1] <= other[1])


def _kind(label: Label) -> Hashable:
    """Lanes, and the handshake of the last component."""
    last = label.last
    handshake = None if last is None else "pipe" if isinstance(last, Pipe) else str(last.registered_ready)
    return (label.x.lanes, handshake)


def _has_step(component: Component | None) -> bool:
    """Whether `rectified` can merge a ReLU into it."""
    return isinstance(getattr(component, "step", None), Finish)


def _skid(x: Stream) -> SkidBuffer:
    return SkidBuffer("skid", (x,), (x,))


def _price(component: Component) -> Total:
    cost = component.cost()
    return (cost.logic, cost.dsp, cost.bram, component.latency)


def _plus(one: Total, other: Total) -> Total:
    return (one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3])
