"""How wide every layer becomes when some of them are widened: sizes follow the data through the graph.

Each layer scales the sizes it had in the model as the user wrote it, which its node remembers. What flows between
layers is described by one number, its scale: how many times wider than in that model. It passes unchanged through ReLU,
pooling and flatten (a flattened image scales like its channels); batch norms and the inputs of layers follow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, fx, nn

from mase_hw.config.entries import PerNode
from mase_hw.diagnostics import Collector, Place
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place
from mase_hw.modules import QuantizedMixin
from mase_hw.passes.analysis.tensors import asks_shape

Mode = Literal["output_only", "both", "input_only"]
Layer = nn.Linear | nn.Conv2d
Norm = nn.BatchNorm1d | nn.BatchNorm2d
ORIGINAL = "original_sizes"  # of node.meta: what the layer was before the first redefinition
_RESHAPES = ("view", "reshape")
_CALLED = ("call_module", "call_function", "call_method")


@dataclass(frozen=True)
class Redefinition:
    """What a config asks of one layer. `mode` None: nothing, but its input still follows."""

    mode: Mode | None = None
    channel_multiplier: int = 1

    @property
    def widens(self) -> bool:
        return self.mode in ("output_only", "both")


@dataclass(frozen=True)
class Flow:
    """What a node hands on: its scale, and the layer that gave it (None: the model's input)."""

    scale: int = 1
    source: str | None = None
    widened: bool = False  # by a layer that was asked to, if only by 1


@dataclass
class Plan:
    """The sizes that modules must have, by target, and the constant sizes in views, by node."""

    sizes: dict[str, tuple[int, ...]]
    views: dict[fx.Node, int]


def plan_sizes(graph: MaseGraph, config: PerNode[Redefinition], problems: Collector) -> Plan:
    """Walks the graph once. Every contradiction is a problem."""
    plan = Plan({}, {})
    flows: dict[fx.Node, Flow] = {}
    for node in graph.fx_graph.nodes:
        asked = config.for_node(node.name, get_mase_op(node))
        where = config.where(node.name, get_mase_op(node)) or get_node_place(node)
        flow = _joined(node, flows, problems)
        module = get_node_module(node)
        if isinstance(module, nn.Linear | nn.Conv2d):
            _check(node, asked, flow, where, problems)
            scale = asked.channel_multiplier if asked.widens else 1
            ins, outs = original_sizes(node, module)
            _set(plan, node, module, (ins * flow.scale, outs * scale), where, problems)
            flow = Flow(scale, node.name, asked.widens)
        elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            _set(plan, node, module, (original_sizes(node, module)[0] * flow.scale,), where, problems)
        elif flow.scale != 1 and _has_size(node, module):
            text = f"{node.name}: {get_mase_op(node)} cannot follow {flow.source}, which is {flow.scale} times as wide"
            problems.add(text, where, "only Linear, Conv2d, BatchNorm1d and BatchNorm2d modules can be resized")
        elif get_mase_op(node) in _RESHAPES:
            features = _constant(node)
            if features is not None:
                plan.views[node] = features * flow.scale
        elif node.op == "output" and flow.scale != 1:
            text = f"{flow.source}: the model's result would be {flow.scale} times as wide as it is"
            problems.add(text, where, f"nobody reads {flow.source}: let its name be input_only")
        flows[node] = flow
    return plan


def original_sizes(node: fx.Node, module: Layer | Norm) -> tuple[int, ...]:
    """(inputs, outputs) of a layer, (features,) of a batch norm, before anything was redefined."""
    known = node.meta.get(ORIGINAL)
    if known is None:
        known = node.meta[ORIGINAL] = sizes_of(module)
    assert isinstance(known, tuple)
    return known


def sizes_of(module: Layer | Norm) -> tuple[int, ...]:
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    return (module.in_channels, module.out_channels) if isinstance(module, nn.Conv2d) else (module.num_features,)


def _joined(node: fx.Node, flows: dict[fx.Node, Flow], problems: Collector) -> Flow:
    """What a node reads. Several tensors must have the same scale."""
    if asks_shape(node):
        return Flow()
    sources = node.all_input_nodes
    if get_mase_op(node) in _RESHAPES:
        sources = sources[:1]  # the others are numbers
    # Tensors of the model's own are looked at where they are used: see _has_size.
    read = [flows[source] for source in sources if source.op != "get_attr" and not asks_shape(source)]
    if not read:
        return Flow()
    first = read[0]
    for other in read[1:]:
        if other.scale != first.scale:
            text = f"{node.name}: joins {_told(first)} with {_told(other)}"
            problems.add(text, get_node_place(node), "give both the same channel_multiplier")
    return first


def _told(flow: Flow) -> str:
    return f"{flow.source or 'what no layer made'} ({flow.scale} times as wide)"


def _check(node: fx.Node, asked: Redefinition, flow: Flow, where: Place | None, problems: Collector) -> None:
    """Whether the mode says of the layer's input what the layer before makes of it."""
    before = flow.source or "the model's input"
    if asked.mode in ("both", "input_only") and not flow.widened:
        text = f"{node.name}: name = {asked.mode} widens its input, but {before} before it is not widened"
        fix = "output_only" if asked.mode == "both" else "NA"
        other = f"{flow.source} output_only or both" if flow.source else ""
        problems.add(text, where, f"make it {fix}" + (f", or {other}" if other else ""))
    if asked.mode == "output_only" and flow.widened:
        text = f"{node.name}: name = output_only keeps its input, but {before} before it is widened"
        problems.add(text, where, "make it both")


def _set(
    plan: Plan, node: fx.Node, module: Layer | Norm, sizes: tuple[int, ...], where: Place | None, problems: Collector
) -> None:
    target = str(node.target)
    if plan.sizes.setdefault(target, sizes) != sizes:
        text = f"{node.name}: its module {target} is called twice, and would have to be {_shown(plan.sizes[target])}"
        problems.add(f"{text} and {_shown(sizes)}", where, "a module that is called twice has one size: leave it alone")
    if sizes == sizes_of(module):
        return
    if isinstance(module, QuantizedMixin):
        text = f"{node.name}: is quantized already and cannot become {_shown(sizes)}"
        problems.add(text, where, "redefine first, quantize then")
    if isinstance(module, nn.Conv2d) and module.groups != 1:
        text = f"{node.name}: a convolution with groups = {module.groups} cannot become {_shown(sizes)}"
        problems.add(text, where, "only convolutions with groups = 1 can be redefined")


def _shown(sizes: tuple[int, ...]) -> str:
    return " -> ".join(str(size) for size in sizes)


def _has_size(node: fx.Node, module: nn.Module | None) -> bool:
    """Whether the node computes with tensors of its own, whose size would be wrong."""
    if module is not None:
        return any(True for _ in module.parameters())
    return node.op in _CALLED and any(source.op == "get_attr" for source in node.all_input_nodes)


def _constant(node: fx.Node) -> int | None:
    """The second size in `x.view(n, 8192)` as the user wrote it; None when it is computed or -1."""
    sizes = node.args[1] if len(node.args) == 2 and isinstance(node.args[1], tuple | list) else node.args[1:]
    assert not isinstance(sizes, Tensor)
    if not isinstance(sizes, tuple | list) or len(sizes) < 2 or not isinstance(sizes[1], int) or sizes[1] < 1:
        return None
    known = node.meta.setdefault(ORIGINAL, (sizes[1],))
    return int(known[0])
