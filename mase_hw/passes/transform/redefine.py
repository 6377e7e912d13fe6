"""redefine_linear_transform_pass, redefine_vgg_transform_pass: layers made wider by channel multipliers.

First everything is checked, then the graph is changed: a problem leaves it as it was. The result depends on the config
and on the model as the user wrote it, not on redefinitions before: applying one twice changes nothing.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from itertools import chain
from typing import Any

import torch
from torch import nn

from mase_hw.config.entries import PerNode, parse_entries
from mase_hw.config.quantize import UNQUANTIZED
from mase_hw.config.table import Table, nearest, shown
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_parent_name
from mase_hw.graph.opcodes import known
from mase_hw.modules import QuantizedMixin
from mase_hw.passes.analysis.add_common_metadata import add_common_metadata_analysis_pass
from mase_hw.passes.analysis.add_software_metadata import add_software_metadata_analysis_pass
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.transform.channels import Layer, Norm, Plan, Redefinition, plan_sizes, sizes_of

MODES = ("output_only", "both", "input_only")


def redefine_linear_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Widens linear layers. `pass_args["config"]` has an entry for each layer to change:

        {"by": "name", "default": {"config": {"name": None}},
         "seq_blocks_2": {"config": {"name": "output_only", "channel_multiplier": 2}},
         "seq_blocks_4": {"config": {"name": "input_only"}}}

    `output_only` and `both` multiply the layer's original outputs; `both` and `input_only` say that its input is that
    of a widened layer. The inputs of all layers and the batch norms follow by themselves. Layers that change size get
    new weights, drawn from `pass_args["seed"]` (default 0) and the node's name; all others keep theirs. Shapes in the
    metadata are brought up to date. `info["changed"]` maps nodes to their sizes before and after.
    """
    return _redefine(graph, pass_args, ("linear",))


def redefine_vgg_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """The same for networks of convolutions: `conv2d` and `linear` layers can be named."""
    return _redefine(graph, pass_args, ("conv2d", "linear"))


def _redefine(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None, ops: tuple[str, ...]
) -> tuple[MaseGraph, dict[str, Any]]:
    args = dict(pass_args or {})
    seed, places = args.pop("seed", 0), args.pop("places", None)
    with Collector() as problems:
        if isinstance(seed, bool) or not isinstance(seed, int):
            problems.add(f"passes.redefine: seed = {shown(seed)} is not an integer")
        mapping = args.pop("config") if "config" in args else args
        if not isinstance(mapping, Mapping):
            problems.add(f"passes.redefine: config = {shown(mapping)} is not a table")
            mapping = {}
        by, default, entries = parse_entries({"by": "name", **mapping}, problems, places, "passes.redefine", _parse)
        config = PerNode(by, default or Redefinition(), entries, "passes.redefine", places)
        problems.raise_if_any()
        _check_entries(graph, config, ops, problems)
        plan = plan_sizes(graph, config, problems)
    views = {node: node.args for node in plan.views}
    before = _apply(graph, plan, seed)
    if before:
        try:
            _refresh(graph)
        except ProblemsError:  # a layer that no rule here foresaw does not fit
            for target, module in before.items():
                _set_module(graph, target, module)
            for node, arguments in views.items():
                node.args = arguments
            graph.model.recompile()
            raise
    sizes = {target: (sizes_of(module), plan.sizes[target]) for target, module in before.items()}
    names = {node.name: sizes[str(node.target)] for node in graph.fx_graph.nodes if str(node.target) in sizes}
    return graph, {"changed": names}


def _parse(config: Table) -> Redefinition:
    config.only(("name", "channel_multiplier"))
    mode, names = config.values.get("name"), (*MODES, *UNQUANTIZED)
    if mode is not None and mode not in names:
        config.problem(f"name = {shown(mode)} is unknown", "name", hint=nearest(str(mode), names, "allowed"))
    multiplier = config.integer("channel_multiplier", None, 1)
    if mode in ("output_only", "both") and "channel_multiplier" not in config.values:
        text = f"name = {shown(mode)} needs a channel_multiplier"
        config.problem(text, "name", hint="add channel_multiplier = 2, or another positive integer")
    # A multiplier beside input_only says nothing: searches that write one for every layer are taken as they are.
    return Redefinition(mode, multiplier or 1) if mode in MODES else Redefinition()


def _check_entries(graph: MaseGraph, config: PerNode[Redefinition], ops: tuple[str, ...], problems: Collector) -> None:
    """Entries that rule no node, and modes for nodes that have no channels."""
    nodes = {node.name: get_mase_op(node) for node in graph.fx_graph.nodes}
    config.check_keys(nodes, {*nodes.values(), *known().types}, problems, offered=ops)
    told: set[str] = set()
    for node in graph.fx_graph.nodes:
        key, op = config.key_for(node.name, nodes[node.name]), nodes[node.name]
        if key == "default" or key in told or config.for_node(node.name, op).mode is None:
            continue
        if op not in ops or not isinstance(get_node_module(node), nn.Linear | nn.Conv2d):
            told.add(key)
            what = f"{node.name} is no {' or '.join(ops)} module but {op}"
            problems.add(f"passes.redefine.{key}: {what}", config.place_of(key), "take this entry out, or name = NA")


def _apply(graph: MaseGraph, plan: Plan, seed: int) -> dict[str, Layer | Norm]:
    """Puts the new modules in; returns the old ones by target."""
    before: dict[str, Layer | Norm] = {}
    for node in graph.fx_graph.nodes:
        module = get_node_module(node)
        if node in plan.views:
            _resize_view(node, plan.views[node])
        if not isinstance(module, nn.Linear | nn.Conv2d | nn.BatchNorm1d | nn.BatchNorm2d):
            continue
        target = str(node.target)
        if sizes_of(module) == plan.sizes[target]:
            continue
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(zlib.crc32(f"{seed} {node.name}".encode()))  # the same whatever else is redefined
            new = _resized(module, plan.sizes[target])
        before[target] = module
        _set_module(graph, target, new.train(module.training))
    graph.model.recompile()
    return before


def _set_module(graph: MaseGraph, target: str, module: nn.Module) -> None:
    parent, name = get_parent_name(target)
    setattr(graph.model.get_submodule(parent), name, module)


def _resized(module: Layer | Norm, sizes: tuple[int, ...]) -> nn.Module:
    """A new module like `module`, of other sizes, made on the CPU so that a seed gives the same weights everywhere."""
    like = next(chain(module.parameters(), module.buffers()), None)
    new: nn.Module
    if isinstance(module, nn.Linear):
        new = nn.Linear(sizes[0], sizes[1], module.bias is not None)
    elif isinstance(module, nn.Conv2d):
        shape = module.kernel_size, module.stride, module.padding, module.dilation
        bias = module.bias is not None
        new = nn.Conv2d(sizes[0], sizes[1], *shape, bias=bias, padding_mode=module.padding_mode)  # type: ignore[arg-type]
    else:
        kind = nn.BatchNorm1d if isinstance(module, nn.BatchNorm1d) else nn.BatchNorm2d
        new = kind(sizes[0], module.eps, module.momentum, module.affine, module.track_running_stats)
    return new if like is None else new.to(like.device, like.dtype)


def _resize_view(node: Any, features: int) -> None:
    if len(node.args) == 2:  # x.view((n, features)), torch.reshape(x, (n, features))
        sizes = list(node.args[1])
        sizes[1] = features
        node.args = (node.args[0], tuple(sizes))
    else:
        node.args = (*node.args[:2], features, *node.args[3:])


def _refresh(graph: MaseGraph) -> None:
    """Shapes again, on an input like the one that the metadata came from; quantized nodes keep their types."""
    device = next((parameter.device for parameter in graph.model.parameters()), None)
    dummy: dict[str, Any] = {}
    add_value = True
    for node in graph.fx_graph.nodes:
        if node.op != "placeholder":
            continue
        known = metadata_of(node, graph).common.get("results", {}).get("data_out_0")
        if known is None:
            return
        if "value" in known:
            dummy[str(node.target)] = known["value"]
        else:
            dummy[str(node.target)] = torch.zeros(known["shape"], dtype=known["torch_dtype"], device=device)
            add_value = False
    types = _types(graph)
    add_common_metadata_analysis_pass(graph, {"dummy_in": dummy, "add_value": add_value})
    for (side, name, node), kept in types:
        metadata_of(node, graph).common[side].get(name, {}).update(kept)
    add_software_metadata_analysis_pass(graph)


def _types(graph: MaseGraph) -> list[tuple[tuple[str, str, Any], dict[str, Any]]]:
    """What quantization wrote, which a run in floats does not show."""
    kept = []
    for node in graph.fx_graph.nodes:
        if isinstance(get_node_module(node), QuantizedMixin):
            for side in ("args", "results"):
                for name, entry in metadata_of(node, graph).common.get(side, {}).items():
                    if "signed" in entry:
                        told = {key: entry[key] for key in ("type", "precision", "signed")}
                        kept.append(((side, name, node), told))
    return kept
