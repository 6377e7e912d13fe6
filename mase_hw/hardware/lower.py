"""From layers to a design: types of every result, components, width adapters, FIFOs, skid buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mase_hw.hardware.choose import Choice
from mase_hw.hardware.component import Component
from mase_hw.hardware.design import Design, Node
from mase_hw.hardware.layers import Chain, Layer
from mase_hw.hardware.plumbing import Fifo, SkidBuffer, adapters
from mase_hw.hardware.stream import Stream, full_range
from mase_hw.numerics import Rounding
from mase_hw.ops import Result, batch_norm1d, cast, linear, relu


def lower(top: str, chain: Chain, choices: Sequence[Choice]) -> Design:
    """The design of a chain of layers, legal and verified."""
    wanted = wanted_types(chain.layers)
    first = wanted[0]
    assert first is not None, "the input has no type"
    x = full_range("data_in_0", chain.features, choices[0].data_in_parallelism, first.fixed)
    components: list[Component] = []
    nodes = []
    names = {layer.name for layer in chain.layers}
    for k, (layer, choice) in enumerate(zip(chain.layers, choices, strict=True)):
        made = _named(_layer(layer, choice, x, wanted[k + 1]), layer.name, names)
        nodes.append(_node(layer, choice, x, made))
        components += made
        x = components[-1].output if components else x
    if not components:  # every layer does nothing: the design still hands its input on
        components.append(SkidBuffer("pass", (x,), (x.renamed("pass_out"),)))
    design = Design(top, _legal(components, names), tuple(nodes))
    design.verify()
    return design


def wanted_types(layers: Sequence[Layer]) -> list[Result | None]:
    """For each layer, and for the output, the type in which its input is wanted; None where nothing says.

    A layer that is left unquantized hands on what its reader wants.
    """
    wanted: list[Result | None] = [None]
    for layer in reversed(layers):
        spec = layer.spec
        if spec.rounding is not None:
            assert spec.data_in is not None
            wanted.append(Result(spec.data_in, spec.rounding))
        else:
            wanted.append(wanted[-1])
    return wanted[::-1]


def _layer(layer: Layer, choice: Choice, x: Stream, wanted: Result | None) -> list[Component]:
    """The components of one layer, reading `x`; none where it changes nothing."""
    spec = layer.spec
    if spec.rounding is not None and spec.data_out is not None:
        wanted = Result(spec.data_out, spec.rounding)
    nothing = _does_nothing(layer, x, wanted)
    made: list[Component] = []

    def add(components: Sequence[Component]) -> Stream:
        made.extend(components)
        return made[-1].output if made else x

    x = add(adapters(f"{layer.name}_in", x, choice.data_in_parallelism))
    if choice.data_in_fifo_depth:
        x = add([Fifo(f"{layer.name}_fifo", (x,), (x.renamed(f"{layer.name}_fifo_out"),), choice.data_in_fifo_depth)])
    if spec.rounding is not None and spec.data_in is not None and spec.data_in != x.fixed:
        x = add([cast(f"{layer.name}_cast", x, Result(spec.data_in, spec.rounding))])
    if layer.op == "linear":
        unrolled = choice.implementation == "unrolled"
        if unrolled:
            x = add(adapters(f"{layer.name}_all", x, layer.in_features))
        assert spec.weight is not None
        out_lanes = layer.out_features if unrolled else choice.data_out_parallelism
        bias = layer.integers.get("bias")
        bias_fixed = spec.bias if bias is not None else None
        weight = layer.integers["weight"]
        x = add(
            [
                linear(
                    layer.name,
                    x,
                    weight,
                    bias,
                    spec.weight,
                    bias_fixed,
                    wanted,
                    out_lanes=out_lanes,
                    folded=not unrolled,
                )
            ]
        )
    elif layer.op == "batch_norm1d":
        assert spec.weight is not None
        assert spec.bias is not None
        scale, shift = layer.integers["scale"], layer.integers["shift"]
        x = add([batch_norm1d(layer.name, x, scale, shift, spec.weight, spec.bias, wanted)])
    elif not nothing:
        assert layer.op == "relu", layer.op
        x = add([relu(layer.name, x, wanted or _kept(x))])
    add(adapters(f"{layer.name}_out", x, choice.data_out_parallelism))
    return made


def _kept(x: Stream) -> Result:
    return Result(x.fixed, Rounding.FLOOR)  # nothing is dropped, so the rule does not matter


def _does_nothing(layer: Layer, x: Stream, wanted: Result | None) -> bool:
    """A ReLU of what is never negative, in the type it already has."""
    if layer.op != "relu" or min(x.lo) < 0 or (wanted is not None and wanted.fixed != x.fixed):
        return False
    return layer.spec.data_in is None or layer.spec.data_in == x.fixed


def _named(made: Sequence[Component], layer: str, names: set[str]) -> list[Component]:
    """The components with names that no layer and no other component has; only the layer's own is called as it is."""
    renamed: list[Component] = []
    for component in made:
        name = component.name if component.name == layer else _free(component.name, names)
        x = renamed[-1].output if renamed else component.input
        y = component.output if name == component.name else component.output.renamed(f"{name}_out")
        renamed.append(replace(component, name=name, inputs=(x,), outputs=(y,)))
    return renamed


def _free(name: str, names: set[str]) -> str:
    """`name`, or with as many underscores as it takes, and from now on taken."""
    while name in names:
        name += "_"
    names.add(name)
    return name


def _legal(components: Sequence[Component], names: set[str]) -> tuple[Component, ...]:
    """Skid buffers where a ready would run through two components; the last stream named `data_out_0`."""
    legal: list[Component] = []
    for component in components:
        if legal:
            before = legal[-1]
            if not before.registered_ready and not component.registered_ready:
                name = _free(f"{component.name}_skid", names)
                legal.append(SkidBuffer(name, (before.output,), (before.output.renamed(f"{name}_out"),)))
            component = replace(component, inputs=(legal[-1].output,))
        legal.append(component)
    legal[-1] = replace(legal[-1], outputs=(legal[-1].output.renamed("data_out_0"),))
    return tuple(legal)


def _node(layer: Layer, choice: Choice, x: Stream, made: Sequence[Component]) -> Node:
    out = made[-1].output if made else x
    main = next((component for component in made if component.name == layer.name), None)
    return Node(
        layer.name,
        layer.op,
        choice.implementation if main is not None else "none",
        choice.data_in_parallelism,
        choice.data_out_parallelism,
        main.input.fixed if main is not None else x.fixed,
        layer.spec.weight if layer.integers else None,
        layer.spec.bias if "bias" in layer.integers or "shift" in layer.integers else None,
        out.fixed,
        tuple(component.name for component in made),
        f"{layer.place.path.name}:{layer.place.line}" if layer.place else None,
    )
