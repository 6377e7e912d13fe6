"""From a graph of layers to a design: components, width adapters, forks, FIFOs, skid buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mase_hw.config.hardware import HardwareTarget
from mase_hw.ir.branches import fork
from mase_hw.ir.component import Component
from mase_hw.ir.design import BuiltNode, Design
from mase_hw.ir.plumbing import Fifo, SkidBuffer
from mase_hw.ir.stream import Stream, full_range
from mase_hw.ir.wellformed import chained
from mase_hw.layers import Layer, LayerGraph
from mase_hw.lowering.parts import Place, after, before, does_nothing, merges, own_parts, sites
from mase_hw.lowering.types import types_of
from mase_hw.ops.choice import Choice
from mase_hw.ops.operator import Options

Edge = tuple[str, int]  # a layer and which of its inputs
BUFFERED = True  # a fork whose ready comes from a register, unless a plan says otherwise


@dataclass(frozen=True)
class Branching:
    """What is decided where streams part, meet and wait: how forks are built; FIFOs before joins and windows."""

    forks: Mapping[str, bool] = field(default_factory=dict)  # by result: whether its fork is buffered
    depths: Mapping[Edge, int] = field(default_factory=dict)  # beats that wait in front of an input; 0: no FIFO


def places(graph: LayerGraph, target: HardwareTarget | None = None) -> list[Place]:
    """Every layer with the streams that reach it and the type of its result."""
    types, options = types_of(graph), Options.of(target)
    return [Place(site, types.results[site.layer.name], options) for site in sites(graph, types)]


def lower(
    top: str,
    graph: LayerGraph,
    choices: Sequence[Choice],
    target: HardwareTarget | None = None,
    branching: Branching | None = None,
    *,
    verified: bool = True,
) -> Design:
    """The design of a graph of layers, legal and, unless it is only tried, verified."""
    maker = _Maker(graph, branching or Branching())
    for place, choice in zip(places(graph, target), choices, strict=True):
        maker.layer(place, choice)
    design = Design(top, maker.finished(), tuple(maker.nodes))
    if verified:
        design.verify()
    return design


class _Maker:
    """Components so far, and for every result the streams that its readers have not taken yet."""

    def __init__(self, graph: LayerGraph, branching: Branching) -> None:
        self.graph, self.branching = graph, branching
        self.components: list[Component] = []
        self.nodes: list[BuiltNode] = []
        self.names = {layer.name for layer in graph.layers}
        self.ends: dict[str, list[Stream]] = {}
        self._streams: dict[str, Stream] = {}  # those of the last layer, by the names they had before they were unique
        self._first: dict[str, int] = {x.name: k for k, x in enumerate(graph.inputs)}
        self._types = types_of(graph).inputs

    def layer(self, place: Place, choice: Choice) -> None:
        layer = place.layer
        own_lanes = place.operator.lanes(place.site, choice)[0]
        several = len(layer.inputs) > 1
        given = [
            self._take(name, own_lanes[port] if several else choice.data_in_parallelism).viewed(layer.frame)
            for port, name in enumerate(layer.inputs)
        ]
        if len(given) == 1 and self._merge(place, choice, given[0]):
            return
        made: list[Component] = []
        reach = []
        for port, x in enumerate(given):
            front = self._fifo((layer.name, port), x)
            front += before(place, choice, front[-1].output if front else x, port)
            made += front
            reach.append(front[-1].output if front else x)
        y = reach[0]
        if not does_nothing(place, reach):
            made += own_parts(place, choice, reach)
            y = made[-1].output
        ending = after(place, choice, y)
        made += ending
        made = self._named(made, layer.name)
        y = self._renamed(ending[-1].output if ending else y)
        self.nodes.append(_node(layer, choice, given[0], y, made))
        self.components += made
        self._give(layer.name, y)

    def _merge(self, place: Place, choice: Choice, x: Stream) -> bool:
        """A layer that the component before it can do in its requantize."""
        at = next((k for k, c in enumerate(self.components) if c.outputs[0].name == x.name), None)
        if at is None or not merges(place, choice, x):
            return False
        merged = self.components[at].rectified()
        if merged is None:
            return False
        self.components[at] = merged
        self.nodes.append(
            replace(_node(place.layer, choice, merged.output, merged.output, []), implementation="merged")
        )
        self._give(place.layer.name, merged.output)
        return True

    def _take(self, name: str, lanes: int) -> Stream:
        """The next reader's stream of a result. An input of the model has the lanes of its first reader."""
        if name in self._first:
            x = next(x for x in self.graph.inputs if x.name == name)
            port = f"data_in_{self._first.pop(name)}"
            self._give(name, full_range(port, x.features, lanes, self._types[name].fixed, x.frame))
        return self.ends[name].pop(0)

    def _give(self, name: str, y: Stream) -> None:
        """Hands a result to all its readers: where there are several, through a fork."""
        count = len(self.graph.readers[name]) + self.graph.outputs.count(name)
        if count == 1:
            self.ends[name] = [y]
            return
        title = self._free(f"{name}_fork")
        made = fork(title, y, count, buffered=self.branching.forks.get(name, BUFFERED))
        self.components.append(made)
        self.ends[name] = list(made.outputs)

    def _fifo(self, edge: Edge, x: Stream) -> list[Component]:
        depth = self.branching.depths.get(edge, 0)
        name = fifo_name(self.graph, edge)
        return [Fifo(name, (x,), (x.renamed(f"{name}_out"),), depth)] if depth else []

    def finished(self) -> tuple[Component, ...]:
        """All components: results that the model returns named as ports, skid buffers where they are needed."""
        for k, name in enumerate(self.graph.outputs):
            y = self.ends[name].pop(0)
            if y.name not in {each.name for c in self.components for each in c.outputs}:  # an input, handed on
                title = self._free("pass")
                self.components.append(SkidBuffer(title, (y,), (y.renamed(f"{title}_out"),)))
                y = self.components[-1].output
            self._rename(y.name, f"data_out_{k}")
        return legal(self.components, self._free)

    def _rename(self, old: str, new: str) -> None:
        def renamed(streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
            return tuple(s.renamed(new) if s.name == old else s for s in streams)

        for k, c in enumerate(self.components):
            if any(s.name == old for s in (*c.inputs, *c.outputs)):
                self.components[k] = replace(c, inputs=renamed(c.inputs), outputs=renamed(c.outputs))

    def _named(self, made: Sequence[Component], layer: str) -> list[Component]:
        """The components with names that no layer and no other one has; only the layer's own is called as it is."""
        renamed: list[Component] = []
        streams: dict[str, Stream] = {}
        for component in made:
            name = component.name if component.name == layer else self._free(component.name)
            outputs = component.outputs
            if name != component.name:
                outputs = tuple(y.renamed(f"{name}_out") for y in outputs)
            inputs = tuple(streams.get(x.name, x).viewed(x.frame) for x in component.inputs)
            renamed.append(replace(component, name=name, inputs=inputs, outputs=outputs))
            streams |= {old.name: new for old, new in zip(component.outputs, outputs, strict=True)}
        self._streams = streams
        return renamed

    def _renamed(self, y: Stream) -> Stream:
        return self._streams.get(y.name, y)

    def _free(self, name: str) -> str:
        """`name`, or with as many underscores as it takes, and from now on taken."""
        while name in self.names:
            name += "_"
        self.names.add(name)
        return name


def legal(components: Sequence[Component], free: Callable[[str], str]) -> tuple[Component, ...]:
    """With skid buffers where a ready would run through two components; `free` makes their names unique."""
    made: list[Component] = []
    writers: dict[str, Component] = {}
    for component in components:
        inputs = []
        for port, x in enumerate(component.inputs):
            writer = writers.get(x.name)
            if writer is not None and chained(writer, x.name, component, port):
                several = str(port) if len(component.inputs) > 1 else ""
                name = free(f"{component.name}_skid{several}")
                made.append(SkidBuffer(name, (x,), (x.renamed(f"{name}_out"),)))
                x = made[-1].output
            inputs.append(x)
        same = all(x.name == y.name for x, y in zip(inputs, component.inputs, strict=True))
        made.append(component if same else replace(component, inputs=tuple(inputs)))
        writers |= {y.name: made[-1] for y in component.outputs}
    return tuple(made)


def fifo_name(graph: LayerGraph, edge: Edge) -> str:
    """The FIFO in front of an input of a join, or in front of a layer that reads windows."""
    name, port = edge
    return f"{name}_skip{port}" if len(graph.by_name[name].inputs) > 1 else f"{name}_ahead"


def _node(layer: Layer, choice: Choice, x: Stream, y: Stream, made: Sequence[Component]) -> BuiltNode:
    main = next((component for component in made if component.name == layer.name), None)
    return BuiltNode(
        layer.name,
        layer.op,
        choice.implementation if main is not None else "none",
        choice.data_in_parallelism,
        choice.data_out_parallelism,
        main.input.fixed if main is not None else x.fixed,
        layer.spec.weight if layer.integers else None,
        layer.spec.bias if "bias" in layer.integers or "shift" in layer.integers else None,
        y.fixed,
        tuple(component.name for component in made),
        f"{layer.place.path.name}:{layer.place.line}" if layer.place else None,
    )
