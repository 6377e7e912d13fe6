"""A design: components joined by typed streams, its interpreter and its verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.ir.component import Component
from mase_hw.ir.cycles import Schedule, schedule
from mase_hw.ir.layout import Group, groups
from mase_hw.ir.progress import Progress, progress
from mase_hw.ir.stream import Stream
from mase_hw.ir.wellformed import complaints
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers

AT_ONCE = 1 << 22  # integers of all streams together that `results` has in memory: 32 MB


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
        for complaint in complaints(self):
            raise DesignError(complaint)


def _port(stream: Stream) -> tuple[int, str]:
    number = stream.name.rpartition("_")[2]
    return (int(number) if number.isdecimal() and len(number) < 10 else 0, stream.name)


def sample_counts(streams: Sequence[Stream], values: Sequence[Integers]) -> set[int]:
    """How many samples the vectors of each stream are; one number, if they fit together."""
    return {len(rows) // stream.positions for stream, rows in zip(streams, values, strict=True)}
