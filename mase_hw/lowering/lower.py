"""From layers to a design: types of every result, components, width adapters, FIFOs, skid buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from mase_hw.config.hardware import HardwareTarget
from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.design import BuiltNode, Design
from mase_hw.ir.plumbing import SkidBuffer
from mase_hw.ir.stream import Stream, full_range
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.layers import Chain, Layer
from mase_hw.lowering.parts import Options, layer_parts, merges, own_part, wanted_types


def lower(top: str, chain: Chain, choices: Sequence[Choice], target: HardwareTarget | None = None) -> Design:
    """The design of a chain of layers, legal and verified."""
    options = Options.of(target)
    wanted = wanted_types(chain.layers)
    first = wanted[0]
    assert first is not None, "the input has no type"
    x = full_range("data_in_0", chain.features, choices[0].data_in_parallelism, first.fixed)
    components: list[Component] = []
    nodes = []
    names = {layer.name for layer in chain.layers}
    for k, (layer, choice) in enumerate(zip(chain.layers, choices, strict=True)):
        if components and merges(layer, choice, x, wanted[k + 1]) and (merged := components[-1].rectified()):
            components[-1] = merged
            x = merged.output
            nodes.append(replace(_node(layer, choice, x, []), implementation="merged"))
            continue
        make = partial(own_part, layer, choice, wanted=wanted[k + 1], options=options)
        made = _named(layer_parts(layer, choice, x, wanted[k + 1], make), layer.name, names)
        nodes.append(_node(layer, choice, x, made))
        components += made
        x = components[-1].output if components else x
    if not components:  # every layer does nothing: the design still hands its input on
        components.append(SkidBuffer("pass", (x,), (x.renamed("pass_out"),)))
    design = Design(top, _legal(components, names), tuple(nodes))
    design.verify()
    return design


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
            if chained(before, component):
                name = _free(f"{component.name}_skid", names)
                legal.append(SkidBuffer(name, (before.output,), (before.output.renamed(f"{name}_out"),)))
            component = replace(component, inputs=(legal[-1].output,))
        legal.append(component)
    legal[-1] = replace(legal[-1], outputs=(legal[-1].output.renamed("data_out_0"),))
    return tuple(legal)


def chained(before: Component, after: Component) -> bool:
    """Whether a ready would run through both, so that a skid buffer has to stand between them."""
    together = isinstance(before, Pipe) and isinstance(after, Pipe)  # these share an enable
    return bool(before.ready_paths) and bool(after.ready_paths) and not together


def _node(layer: Layer, choice: Choice, x: Stream, made: Sequence[Component]) -> BuiltNode:
    out = made[-1].output if made else x
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
        out.fixed,
        tuple(component.name for component in made),
        f"{layer.place.path.name}:{layer.place.line}" if layer.place else None,
    )
