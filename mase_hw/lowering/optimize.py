"""The best choice for every layer of a graph at once: dynamic programming over all combinations.

What a design costs is the sum of its components, and which adapters and skid buffers there are depends on two
neighbours. So, layer by layer, of all designs of the layers so far that end alike the best one is kept: what follows
costs the same behind each of them. A design ends in all results that are still to be read. Two end alike if each of
these has as many lanes and comes from the same kind of handshake and, where its reader may merge into the component
that made it, if it is the very same component. `labels.py` says what is kept where DSP blocks or block RAMs are
limited. The optimum includes forks and joins. It leaves out the FIFOs in front of joins, whose depths follow from the
whole design (`skips.py`); a design without joins has none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from mase_hw.ir.branches import fork
from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.plumbing import Plumbing, SkidBuffer
from mase_hw.ir.stream import Stream, full_range
from mase_hw.layers import LayerGraph
from mase_hw.lowering.labels import End, Label, Limits, Sieve, Total, plus, price
from mase_hw.lowering.lower import places
from mase_hw.lowering.parts import Place, after, before, does_nothing, may_merge, merges, own_parts
from mase_hw.lowering.space import Candidate
from mase_hw.lowering.types import types_of
from mase_hw.ops.cast import Cast
from mase_hw.ops.choice import Choice
from mase_hw.ops.operator import FOREVER, Options

NO_LIMITS = Limits()


@dataclass(frozen=True)
class Plan:
    """A choice for every layer and every fork, and what they come to, predicted."""

    choices: tuple[Choice, ...]
    forks: dict[str, bool]
    interval: int
    sites: int  # LUTs of every use, as a chip has them
    dsp: int
    bram: int  # RAMB18; a RAMB36 counts as two
    optimal: bool = True  # of all combinations that were offered, FIFOs in front of joins aside


@dataclass
class Planner:
    """Plans for one graph; `offer` gives the candidates of each layer that reach an interval.

    Components are kept from plan to plan.
    """

    graph: LayerGraph
    options: Options
    offer: Callable[[int], Sequence[Sequence[Candidate]]]
    _own: dict[tuple[int, Choice], list[Component]] = field(default_factory=dict)
    _rectified: dict[int, Component] = field(default_factory=dict)
    _totals: dict[int, tuple[Component, Total]] = field(default_factory=dict)  # the component stays, and so its id

    def __post_init__(self) -> None:
        self.places = [replace(place, options=self.options) for place in places(self.graph)]
        self.types = types_of(self.graph)
        readers = self.graph.readers
        self.reads = {name: len(found) + self.graph.outputs.count(name) for name, found in readers.items()}
        self.last_read = {name: layer.name for layer in self.graph.layers for name in layer.inputs}
        self.of_name = {place.layer.name: place for place in self.places}

    def best(self, slowest: int = FOREVER, limits: Limits = NO_LIMITS) -> Plan | None:
        """The plan with the fewest LUT sites among those with an interval of at most `slowest`; None if there is none.

        Of equal ones that with fewer DSP blocks, then block RAMs, then the one whose latencies add up to less.
        """
        labels, sieve = [Label((0, 0, 0, 0))], Sieve(limits)
        space = self.offer(slowest)
        for k, offered in enumerate(space):
            allowed = [candidate.choice for candidate in offered]
            labels = sieve.best(self._reached(k, allowed, labels, sieve), self._end)
        label = min(map(self._finished, labels), key=lambda label: label.total, default=None)
        if label is None:
            return None
        known = [{candidate.choice: candidate.interval for candidate in offered} for offered in space]
        interval = max(intervals[choice] for intervals, choice in zip(known, label.choices, strict=True))
        return Plan(tuple(label.choices), dict(label.forks), interval, *label.total[:3], sieve.optimal)

    def _reached(self, k: int, allowed: Sequence[Choice], labels: Sequence[Label], sieve: Sieve) -> Iterator[Label]:
        """Every label after layer `k`, those before it given."""
        place, name = self.places[k], self.places[k].layer.inputs[0]
        merging = bool(labels) and self._merging(place, labels[0].ends.get(name))
        if merging:
            for label, choice in product(labels, allowed):
                end = label.ends[name]
                if end.finishes and merges(place, choice, end.x):
                    yield from self._give(place, choice, self._merge(label, name), label)
            # What does not merge needs no more than one label for each kind of end.
            labels = sieve.best(labels, lambda label: (self._end(label, name), label.ends[name].finishes))
        for alike in _by_front(place, allowed):
            first = alike[0]
            fronts = (
                front
                for label in labels
                if not (merging and label.ends[name].finishes and merges(place, first, label.ends[name].x))
                for front in self._fronts(place, first, label)
            )
            kept = sieve.best(fronts, self._end)
            for label, choice in product(kept, alike):
                reach = [label.ends[_port(place, port)] for port in range(len(place.layer.inputs))]
                streams = [end.x for end in reach]
                total, end = label.total, reach[0]
                if not does_nothing(place, streams):
                    total, end = self._own_behind(total, reach, self._components(k, choice, streams))
                total, end = self._follow(total, end, after(place, choice, end.x))
                ends = {each: one for each, one in label.ends.items() if "\0" not in each}
                yield from self._give(place, choice, replace(label, total=total, ends=ends), label.earlier, end)

    def _fronts(self, place: Place, choice: Choice, label: Label) -> Iterator[Label]:
        """The label with what stands before each input of the layer's own component."""
        started = [label]
        lanes = place.operator.lanes(place.site, choice)[0]
        several = len(place.layer.inputs) > 1
        for port, name in enumerate(place.layer.inputs):
            wide = lanes[port] if several else choice.data_in_parallelism
            started = [each for one in started for each in self._started(one, name, wide)]
        for one in started:
            total, ends = one.total, dict(one.ends)
            for port, name in enumerate(place.layer.inputs):
                end = replace(ends[name], x=ends[name].x.viewed(place.layer.frame))
                total, reached = self._follow(total, end, before(place, choice, end.x, port))
                ends[_port(place, port)] = reached
            for name in place.layer.inputs:
                if self.last_read[name] == place.layer.name and name not in self.graph.outputs:
                    ends.pop(name, None)
            yield replace(one, total=total, ends=ends, earlier=label)

    def _started(self, label: Label, name: str, lanes: int) -> Iterator[Label]:
        """The label with an input of the model that is read for the first time."""
        if name in label.ends:
            yield label
            return
        x = next(x for x in self.graph.inputs if x.name == name)
        end = End(full_range("x", x.features, lanes, self.types.inputs[name].fixed, x.frame), None)
        yield from self._forked(label, name, end)

    def _forked(self, label: Label, name: str, end: End) -> Iterator[Label]:
        """The label with a result that is handed to its readers: where there are several, through a fork."""
        if self.reads[name] == 1:
            yield replace(label, ends={**label.ends, name: end})
            return
        for buffered in (True, False):
            total, split = self._follow(label.total, end, [fork("fork", end.x, self.reads[name], buffered=buffered)])
            yield replace(label, total=total, ends={**label.ends, name: split}, forks=(*label.forks, (name, buffered)))

    def _give(
        self, place: Place, choice: Choice, label: Label, earlier: Label | None, end: End | None = None
    ) -> Iterator[Label]:
        name = place.layer.name
        end = end or label.ends[name]
        ends = {each: one for each, one in label.ends.items() if each != name}
        yield from self._forked(replace(label, ends=ends, choice=choice, earlier=earlier), name, end)

    def _end(self, label: Label, unmerged: str = "") -> Hashable:
        """What the layers that follow see of a design. Into result `unmerged` nothing merges."""
        ends = label.ends.items()
        return tuple(sorted((name, end.kind if name == unmerged else self._end_of(name, end)) for name, end in ends))

    def _end_of(self, name: str, end: End) -> tuple[int, str, int]:
        readers = self.graph.readers.get(name, ())
        if name not in self.reads:  # it has reached the layer's own component
            return end.kind
        if self.reads[name] == 1 and readers and self._merging(self.of_name[readers[0][0].name], end):
            return (end.x.lanes, "merges", id(end.last)) if end.finishes else end.kind
        return end.kind

    def _merging(self, place: Place, end: End | None) -> bool:
        """Whether the layer may merge into what makes its input; an input of the model has no such component."""
        if end is None or len(place.layer.inputs) > 1 or self.reads[place.layer.inputs[0]] > 1:
            return False
        return end.last is not None and may_merge(place, end.x)

    def _merge(self, label: Label, name: str) -> Label:
        """The label with a layer merged into the component that makes result `name`."""
        last = label.ends[name].last
        assert last is not None
        if id(last) not in self._rectified:
            merged = last.rectified()
            assert merged is not None
            self._rectified[id(last)] = merged
        merged = self._rectified[id(last)]
        less = self._total(last)
        total = plus(plus(label.total, self._total(merged)), (-less[0], -less[1], -less[2], -less[3]))
        ends = {each: end for each, end in label.ends.items() if each != name}
        reader = self.graph.readers[name][0][0].name
        return replace(label, total=total, ends={**ends, reader: End(merged.output, merged)})

    def _own_behind(self, total: Total, reach: Sequence[End], own: Sequence[Component]) -> tuple[Total, End]:
        """The layer's own components behind its inputs, and skid buffers where they need them."""
        first = own[0]
        total = plus(total, self._total(first))
        for port, end in enumerate(reach):
            if end.last is not None and _needs_skid(end.last, first, port):
                total = plus(total, price(_skid(end.x)))
        return self._follow(total, End(first.output, first), own[1:])

    def _follow(self, total: Total, end: End, components: Sequence[Component]) -> tuple[Total, End]:
        """Components with one input behind an end, and skid buffers where they need them."""
        last, x = end.last, end.x
        for component in components:
            if last is not None and _needs_skid(last, component, 0):
                total = plus(total, price(_skid(component.input)))
            total = plus(total, self._total(component))
            last, x = component, component.output
        return total, End(x, last)

    def _finished(self, label: Label) -> Label:
        """An input of the model that is returned as it is still passes through a component."""
        total = label.total
        for name in self.graph.outputs:
            if label.ends[name].last is None:
                total = plus(total, price(_skid(label.ends[name].x)))
        return replace(label, total=total)

    def _components(self, k: int, choice: Choice, inputs: Sequence[Stream]) -> list[Component]:
        if (k, choice) not in self._own:
            self._own[k, choice] = own_parts(self.places[k], choice, inputs)
        return self._own[k, choice]

    def _total(self, component: Component) -> Total:
        if isinstance(component, Plumbing | Cast):
            return price(component)
        if id(component) not in self._totals:
            self._totals[id(component)] = (component, price(component))
        return self._totals[id(component)][1]


def _port(place: Place, port: int) -> str:
    """The key of a stream that has reached the layer's own component; no result is called so."""
    return f"{place.layer.name}\0{port}"


def _by_front(place: Place, allowed: Iterable[Choice]) -> Iterable[list[Choice]]:
    """Choices with the same components before their own."""
    groups: dict[Hashable, list[Choice]] = {}
    for choice in allowed:
        lanes = place.operator.lanes(place.site, choice)[0]
        groups.setdefault((choice.data_in_parallelism, choice.data_in_fifo_depth, lanes), []).append(choice)
    return groups.values()


def _needs_skid(writer: Component, reader: Component, port: int) -> bool:
    """Whether a ready would run through both; all outputs of a component have the same kind of ready."""
    together = isinstance(writer, Pipe) and isinstance(reader, Pipe) and len(reader.inputs) == 1
    return not together and bool(writer.ready_paths) and any(path[1] == port for path in reader.ready_paths)


def _skid(x: Stream) -> SkidBuffer:
    return SkidBuffer("skid", (x,), (x,))
