"""A design: components joined by typed streams, its interpreter and its verifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.cycles import Schedule, schedule
from mase_hw.ir.layout import Group, groups
from mase_hw.ir.progress import Progress, progress
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers

AT_ONCE = 1 << 22  # integers of all streams together that `results` has in memory: 32 MB
CHECKED = 16  # random vectors on which a meaning is compared with the integers


class DesignError(ValueError):
    """A design that is not what lowering makes: our bug, or a build folder that was changed."""


@dataclass(frozen=True)
class BuiltNode:
    """What became of one node of the model's graph: its types, its choice of hardware, its components."""

    name: str
    op: str
    implementation: str
    data_in_parallelism: int
    data_out_parallelism: int
    data_in: Fixed
    weight: Fixed | None
    bias: Fixed | None
    data_out: Fixed
    components: tuple[str, ...]  # in order; none where the node needs no hardware
    source: str | None = None  # where the user's model calls it


@dataclass(frozen=True)
class Design:
    """A graph of components in topological order. Every stream has one writer and one reader.

    The inputs are streams that no component writes, the outputs streams that no component reads, in the order of the
    top's ports: `data_in_0`, `data_in_1`, ..., `data_out_0`, ...
    """

    name: str
    components: tuple[Component, ...]
    nodes: tuple[BuiltNode, ...] = field(default=())

    @cached_property
    def inputs(self) -> tuple[Stream, ...]:
        written = {y.name for component in self.components for y in component.outputs}
        read = {x.name: x for component in self.components for x in component.inputs}
        return tuple(sorted((x for name, x in read.items() if name not in written), key=_port))

    @cached_property
    def outputs(self) -> tuple[Stream, ...]:
        read = {x.name for component in self.components for x in component.inputs}
        written = [y for component in self.components for y in component.outputs]
        return tuple(sorted((y for y in written if y.name not in read), key=_port))

    @property
    def input(self) -> Stream:
        """The input of a design that has one."""
        (x,) = self.inputs
        return x

    @property
    def output(self) -> Stream:
        """The output of a design that has one."""
        (y,) = self.outputs
        return y

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Every stream, inputs first, then in the order in which they are written."""
        return (*self.inputs, *(y for component in self.components for y in component.outputs))

    @cached_property
    def writers(self) -> dict[str, Component]:
        """The component that writes each stream but the inputs."""
        return {y.name: component for component in self.components for y in component.outputs}

    @cached_property
    def readers(self) -> dict[str, Component]:
        """The component that reads each stream but the outputs."""
        return {x.name: component for component in self.components for x in component.inputs}

    @cached_property
    def groups(self) -> list[Group]:
        """The components in groups that move together."""
        return groups(self.components)

    @cached_property
    def schedule(self) -> Schedule:
        """Exact cycles of an unstalled run."""
        return schedule(self.components, self.inputs, self.outputs)

    @cached_property
    def progress(self) -> Progress:
        """Whether it goes on for ever, whatever the stalls."""
        return progress(self.components, self.inputs, self.outputs)

    def cost(self) -> Cost:
        """What the components take together, predicted; the top itself is wires and one gate for each run."""
        return sum((component.cost() for component in self.components), Cost())

    def component(self, name: str) -> Component:
        return next(component for component in self.components if component.name == name)

    def owner(self, component: str) -> str:
        """The node that a component was made for, or the component itself."""
        return next((node.name for node in self.nodes if component in node.components), component)

    def run(self, *x: Integers) -> dict[str, Integers]:
        """The integers of every stream for the inputs' vectors, [samples * positions, features] of each."""
        values: dict[str, Integers] = {}
        for stream, given in zip(self.inputs, x, strict=True):
            assert given.ndim == 2
            assert given.shape[1] == stream.features
            values[stream.name] = given
        for component in self.components:
            results = component.execute(
                *(values[stream.name].reshape(-1, stream.features) for stream in component.inputs)
            )
            values |= {stream.name: result for stream, result in zip(component.outputs, results, strict=True)}
        return values

    def results(self, *x: Integers) -> tuple[Integers, ...]:
        """The integers of the outputs alone. Samples go in blocks: all windows of many images would fill the memory."""
        (samples,) = sample_counts(self.inputs, x)
        size = max(1, AT_ONCE // sum(stream.positions * stream.features for stream in self.streams))
        found: list[list[Integers]] = [[] for _ in self.outputs]
        for first in range(0, max(samples, 1), size):
            sides = zip(self.inputs, x, strict=True)
            values = self.run(*(part[first * s.positions : (first + size) * s.positions] for s, part in sides))
            for rows, stream in zip(found, self.outputs, strict=True):
                rows.append(values[stream.name])
        return tuple(rows[0] if len(rows) == 1 else np.concatenate(rows) for rows in found)

    def verify(self) -> None:
        """Check what lowering must have ensured; raises DesignError. Also of what was read from a build folder."""
        for complaint in self._complaints():
            raise DesignError(complaint)

    def _complaints(self) -> Iterator[str]:
        if not self.components:
            yield "it has no components"
        yield from self._bad_names()
        yield from self._bad_joints()
        for stream in self.streams:
            yield from _bad_stream(stream)
        for component in self.components:
            if component.finish is not None and component.finish.fixed != component.output.fixed:
                yield f"{component.name} rounds to another type"
            yield from _bad_meaning(component)

    def _bad_names(self) -> Iterator[str]:
        signals = ["clk", "rst"]
        for stream in self.streams:
            signals += [stream.name, f"{stream.name}_valid", f"{stream.name}_ready"]
        for names in (signals, [component.name for component in self.components]):
            if len(set(names)) != len(names):
                yield f"a name is used twice: {sorted(names)}"
        for side, streams in (("data_in", self.inputs), ("data_out", self.outputs)):
            if [stream.name for stream in streams] != [f"{side}_{k}" for k in range(len(streams))]:
                yield f"the ports are not {side}_0, ...: {[stream.name for stream in streams]}"

    def _bad_joints(self) -> Iterator[str]:
        known = {stream.name: stream for stream in self.inputs}
        reads = [x.name for component in self.components for x in component.inputs]
        if len(set(reads)) != len(reads):
            yield "a stream is read twice"
        together = {id(component): id(group) for group in self.groups for component in group.components}
        for component in self.components:
            for k, x in enumerate(component.inputs):
                if not _is_view(x, known.get(x.name)):
                    yield f"{component.name}: what it reads as {x.name} is not written so before it"
                writer = self.writers.get(x.name)
                if writer is None or together[id(writer)] == together[id(component)]:
                    continue
                if ready_runs_through(writer, x.name, component, k):
                    yield f"a ready runs through both {writer.name} and {component.name}"
            known |= {y.name: y for y in component.outputs}


def _is_view(x: Stream, written: Stream | None) -> bool:
    """Whether a stream is read as it is written, or the same beats as vectors of another frame."""
    if written is None or written.frame == x.frame:
        return written == x
    return all(size > 0 for size in x.frame) and written.can_be_viewed(x.frame) and written.viewed(x.frame) == x


def ready_runs_through(writer: Component, stream: str, reader: Component, port: int) -> bool:
    """Whether a combinational ready would run through both, from an output of the reader to an input of the writer."""
    out = next(k for k, y in enumerate(writer.outputs) if y.name == stream)
    return any(path[0] == out for path in writer.ready_paths) and any(path[1] == port for path in reader.ready_paths)


def chained(writer: Component, stream: str, reader: Component, port: int) -> bool:
    """Whether a skid buffer has to stand between two components that are not of one run."""
    together = isinstance(writer, Pipe) and isinstance(reader, Pipe) and len(reader.inputs) == 1
    return not together and ready_runs_through(writer, stream, reader, port)


def _port(stream: Stream) -> tuple[int, str]:
    number = stream.name.rpartition("_")[2]
    return (int(number) if number.isdecimal() and len(number) < 10 else 0, stream.name)


def _bad_stream(stream: Stream) -> Iterator[str]:
    if not 1 <= stream.lanes <= stream.features or stream.features % stream.lanes:
        yield f"{stream.name}: {stream.lanes} lanes of {stream.features}"
    if not len(stream.lo) == len(stream.hi) == len(stream.step) == stream.features:
        yield f"{stream.name}: bounds of other features than {stream.features}"
    if any(size < 1 for size in stream.frame):
        yield f"{stream.name}: a frame of {stream.frame}"
    for lo, hi, step in zip(stream.lo, stream.hi, stream.step, strict=False):
        if lo > hi or not stream.fixed.holds(lo, hi):
            yield f"{stream.name}: {lo}..{hi} does not fit {stream.fixed}"
        if step < 0 or (step and (lo % (1 << step) or hi % (1 << step))):
            yield f"{stream.name}: {lo}..{hi} are no multiples of 2**{step}"


def _bad_meaning(component: Component) -> Iterator[str]:
    meaning = component.meaning()
    if meaning is None:
        return
    x = probe_vectors(component)
    stated, computed = meaning.evaluate(*x), component.execute(*x)
    if len(stated) != len(computed) or not all(map(np.array_equal, stated, computed)):
        yield f"{component.name}: its meaning is not what it computes"


def probe_vectors(component: Component) -> tuple[Integers, ...]:
    """The corners of every input, vectors that reach the accumulators' bounds, and random ones; whole samples.

    Where samples are frames, all that is drawn stands at random positions of as few samples as hold it.
    """
    rng = np.random.default_rng(0)
    ends = [stream.bounds for stream in component.inputs]
    parts = [[np.stack([lo, hi]), rng.integers(lo, hi, (CHECKED, len(lo)), endpoint=True)] for lo, hi in ends]
    extremes = component.extremes()
    if extremes is not None:
        for rows, more in zip(parts, extremes, strict=True):
            rows.append(more[:: max(1, len(more) // CHECKED)])
    found = [np.concatenate(rows) for rows in parts]
    samples = max(-(-len(rows) // x.positions) for rows, x in zip(found, component.inputs, strict=True))
    return tuple(_whole_samples(rng, x, rows, samples) for x, rows in zip(component.inputs, found, strict=True))


def _whole_samples(rng: np.random.Generator, stream: Stream, rows: Integers, samples: int) -> Integers:
    """The vectors in so many samples, with random ones between them where there are more positions than vectors."""
    count = samples * stream.positions
    if count == len(rows):
        return rows
    lo, hi = stream.bounds
    filled = rng.integers(lo, hi, (count, len(lo)), endpoint=True)
    filled[np.sort(rng.choice(count, len(rows), replace=False))] = rows
    return filled


def sample_counts(streams: Sequence[Stream], values: Sequence[Integers]) -> set[int]:
    """How many samples the vectors of each stream are; one number, if they fit together."""
    return {len(rows) // stream.positions for stream, rows in zip(streams, values, strict=True)}
