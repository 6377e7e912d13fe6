"""The components of one layer, from its input streams to its output stream, for a choice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mase_hw.ir.component import Component
from mase_hw.ir.finish import Result
from mase_hw.ir.plumbing import Fifo, adapters
from mase_hw.ir.stream import Stream, full_range
from mase_hw.layers import Layer, LayerGraph
from mase_hw.lowering.types import Types
from mase_hw.ops.cast import cast
from mase_hw.ops.choice import Choice
from mase_hw.ops.operator import Operator, Options, Site, operator_of

_REMEMBERED = 256
_solved: OrderedDict[bytes, tuple[str, list[Component]]] = OrderedDict()  # with the layer's name in them


@dataclass(frozen=True)
class Place:
    """A layer in its graph: what it is, the type of its result, and the streams that reach it."""

    site: Site
    result: Result | None
    options: Options

    @property
    def layer(self) -> Layer:
        return self.site.layer

    @property
    def operator(self) -> Operator:
        return operator_of(self.site.layer.op)


def sites(graph: LayerGraph, types: Types) -> list[Site]:
    """Each layer with streams of one lane that have the bounds of its inputs.

    Bounds do not depend on how layers are built, so the smallest variant of each layer is built once to learn them.
    """
    ends = {x.name: full_range("x", x.features, 1, types.inputs[x.name].fixed, x.frame) for x in graph.inputs}
    found = []
    for layer in graph.layers:
        operator, result = operator_of(layer.op), types.results[layer.name]
        inputs = [ends[name].with_lanes("x", 1).viewed(layer.frame) for name in layer.inputs]
        wanted = operator.casts(layer, inputs, result)
        cast_inputs = tuple(
            cast("cast", x, want).output if want is not None and want.fixed != x.fixed else x
            for x, want in zip(inputs, wanted, strict=True)
        )
        site = Site(layer, cast_inputs)
        found.append(site)
        if operator.does_nothing(layer, cast_inputs, result):
            ends[layer.name] = cast_inputs[0]
        else:
            ends[layer.name] = operator.parts(layer, operator.smallest, cast_inputs, result, Options())[-1].output
    return found


def before(place: Place, choice: Choice, x: Stream, port: int) -> list[Component]:
    """What stands between a stream and an input of the layer's own component: width adapters, a FIFO, a cast."""
    layer, several = place.layer, len(place.site.inputs) > 1
    tail = f"{port}" if several else ""
    made: list[Component] = []

    def add(components: Sequence[Component]) -> Stream:
        made.extend(components)
        return made[-1].output if made else x

    own = place.operator.lanes(place.site, choice)[0][port]
    y = add(adapters(f"{layer.name}_in{tail}", x, own if several else choice.data_in_parallelism))
    if choice.data_in_fifo_depth and not several:
        y = add([Fifo(f"{layer.name}_fifo", (y,), (y.renamed(f"{layer.name}_fifo_out"),), choice.data_in_fifo_depth)])
    want = place.operator.casts(layer, place.site.inputs, place.result)[port]
    if want is not None and want.fixed != y.fixed:
        y = add([cast(f"{layer.name}_cast{tail}", y, want)])
    add(adapters(f"{layer.name}_all{tail}", y, own))
    return made


def after(place: Place, choice: Choice, x: Stream) -> list[Component]:
    return adapters(f"{place.layer.name}_out", x, choice.data_out_parallelism)


def does_nothing(place: Place, inputs: Sequence[Stream]) -> bool:
    return place.operator.does_nothing(place.layer, inputs, place.result)


def may_merge(place: Place, x: Stream) -> bool:
    """Whether the component before the layer can do its work, whatever the choice is."""
    return len(place.site.inputs) == 1 and place.operator.may_merge(place.layer, x, place.result)


def merges(place: Place, choice: Choice, x: Stream) -> bool:
    """Where nothing has to stand between the two, it does."""
    lanes = (choice.data_in_parallelism, choice.data_out_parallelism)
    return may_merge(place, x) and not choice.data_in_fifo_depth and lanes == (x.lanes, x.lanes)


def own_parts(place: Place, choice: Choice, inputs: Sequence[Stream]) -> list[Component]:
    """The layer's own components. Adder graphs, which take long to find, are found once in a process."""
    layer, result, options = place.layer, place.result, place.options
    if not place.operator.solves(place.site, choice):
        return place.operator.parts(layer, choice, inputs, result, options)
    key = _key(place, choice, inputs)
    if key not in _solved:
        _solved[key] = (layer.name, place.operator.parts(layer, choice, inputs, result, options))
        if len(_solved) > _REMEMBERED:
            _solved.popitem(last=False)
    _solved.move_to_end(key)
    return _renamed(*_solved[key], layer.name, tuple(inputs))


def _renamed(old: str, parts: Sequence[Component], new: str, inputs: tuple[Stream, ...]) -> list[Component]:
    """Remembered parts of a layer that was called `old`, for another one with other names of streams."""
    streams = dict(zip((x.name for x in parts[0].inputs), inputs, strict=True))
    found = []
    for part in parts:
        outputs = tuple(y.renamed(new + y.name.removeprefix(old)) for y in part.outputs)
        ends = tuple(streams[x.name].viewed(x.frame) for x in part.inputs)
        found.append(replace(part, name=new + part.name.removeprefix(old), inputs=ends, outputs=outputs))
        streams |= {y.name: z for y, z in zip(part.outputs, outputs, strict=True)}
    return found


def _key(place: Place, choice: Choice, inputs: Sequence[Stream]) -> bytes:
    layer = place.layer
    digest = hashlib.blake2b(digest_size=16)
    for name, values in sorted(layer.integers.items()):
        digest.update(f"{name}{values.shape}".encode() + values.tobytes())
    for x in inputs:
        digest.update(np.stack(x.bounds).tobytes())
    built = replace(choice, data_in_parallelism=1, data_out_parallelism=1, data_in_fifo_depth=0)
    ends = [(x.lanes, x.fixed, x.frame) for x in inputs]
    shape = (layer.geometry, layer.groups, layer.factor)
    digest.update(repr((layer.op, ends, layer.spec, shape, built, place.result, place.options)).encode())
    return digest.digest()
