"""A design: components joined by typed streams, its interpreter and its verifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.cost import Cost
from mase_hw.ir.cycles import Schedule, schedule
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers


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
    """A chain of components. The first reads stream `data_in_0`, the last writes `data_out_0`."""

    name: str
    components: tuple[Component, ...]
    nodes: tuple[BuiltNode, ...] = field(default=())

    @property
    def input(self) -> Stream:
        return self.components[0].input

    @property
    def output(self) -> Stream:
        return self.components[-1].output

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Every stream, from the input to the output."""
        return (self.input, *(component.output for component in self.components))

    @cached_property
    def schedule(self) -> Schedule:
        """Exact cycles of an unstalled run."""
        return schedule(self.components)

    def cost(self) -> Cost:
        """What the components take together, predicted; the top itself is wires and one gate for each run."""
        return sum((component.cost() for component in self.components), Cost())

    def component(self, name: str) -> Component:
        return next(component for component in self.components if component.name == name)

    def owner(self, component: str) -> str:
        """The node that a component was made for, or the component itself."""
        return next((node.name for node in self.nodes if component in node.components), component)

    def run(self, x: Integers) -> dict[str, Integers]:
        """The integers of every stream for the input vectors `x` [vectors, features]."""
        assert x.ndim == 2
        assert x.shape[1] == self.input.features
        values = {self.input.name: x}
        for component in self.components:
            values[component.output.name] = component.execute(values[component.input.name])
        return values

    def verify(self) -> None:
        """Check what lowering must have ensured, before anything is written."""
        signals = ["clk", "rst"]
        for stream in self.streams:
            signals += [stream.name, f"{stream.name}_valid", f"{stream.name}_ready"]
        for names in (signals, [component.name for component in self.components]):
            assert len(set(names)) == len(names), f"a name is used twice: {sorted(names)}"
        for before, after in zip(self.components, self.components[1:], strict=False):
            assert before.output == after.input, f"{before.name} does not drive {after.name}"
            chained = not before.registered_ready and not after.registered_ready
            chained = chained and not (isinstance(before, Pipe) and isinstance(after, Pipe))  # these share an enable
            assert not chained, f"a ready runs through both {before.name} and {after.name}"
        for component in self.components:
            step = getattr(component, "step", None)
            assert step is None or step.fixed == component.output.fixed, f"{component.name} rounds to another type"
        for stream in self.streams:
            assert stream.features % stream.lanes == 0, f"{stream.name}: {stream.lanes} lanes of {stream.features}"
            assert len(stream.lo) == len(stream.hi) == stream.features, stream.name
            for lo, hi in zip(stream.lo, stream.hi, strict=True):
                assert lo <= hi, stream.name
                assert stream.fixed.holds(lo, hi), f"{stream.name}: {lo}..{hi} does not fit {stream.fixed}"
