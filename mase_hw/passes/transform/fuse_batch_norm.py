"""fuse_batch_norm_transform_pass: folds a batch norm into the linear layer or the convolution just before it.

With scale = gamma / sqrt(var + eps): weight' = weight * scale, bias' = (bias - mean) * scale + beta, in float64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn

from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_parent_name
from mase_hw.graph.opcodes import is_quantized_class
from mase_hw.passes.analysis.add_common_metadata import describe
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.analysis.operations import NORMS

Matrix = nn.Linear | nn.Conv1d | nn.Conv2d
Norm = nn.BatchNorm1d | nn.BatchNorm2d
_RANKS = {nn.Linear: 2, nn.Conv1d: 3, nn.Conv2d: 4}  # dimensions of a result whose second one has the outputs


def fuse_batch_norm_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """`info["fused"]` maps each batch norm taken out to its layer, `info["refused"]` each other one to the reason.

    The user's own modules are left alone: the graph gets a new layer. Shapes must be known (common metadata).
    """
    calls = Counter(str(node.target) for node in graph.fx_graph.nodes if node.op == "call_module")
    fused: dict[str, str] = {}
    refused: dict[str, str] = {}
    for node in list(graph.fx_graph.nodes):
        if get_mase_op(node) not in NORMS:
            continue
        linear = node.all_input_nodes[0]
        reason = _why_not(node, linear, calls, graph)
        if reason is not None:
            refused[node.name] = reason
            continue
        _fold(graph, linear, node)
        fused[node.name] = linear.name
    if fused:
        graph.model.recompile()
    return graph, {"fused": fused, "refused": refused}


def _why_not(norm: fx.Node, linear: fx.Node, calls: Counter[str], graph: MaseGraph) -> str | None:
    module, before = get_node_module(norm), get_node_module(linear)
    if not isinstance(module, Norm):
        return "only a batch norm module can be folded, not its functional form"
    if not isinstance(before, Matrix):
        return f"{linear.name} before it is not a Linear, Conv1d or Conv2d module"
    for node, called in ((norm, module), (linear, before)):
        if is_quantized_class(type(called)):
            return f"{node.name} is quantized already"
        if calls[str(node.target)] > 1:
            return f"{node.name} is a module that is called {calls[str(node.target)]} times"
    if len(linear.users) > 1:
        others = ", ".join(sorted(user.name for user in linear.users if user is not norm))
        return f"{linear.name} is also read by {others}"
    if module.training or module.running_mean is None:
        return f"{norm.name} uses the statistics of each batch: put the model in eval mode"
    shape = metadata_of(linear, graph).common.get("results", {}).get("data_out_0", {}).get("shape")
    if shape is None:
        return "shapes are not known yet: run add_common_metadata_analysis_pass first"
    rank = next(rank for kind, rank in _RANKS.items() if isinstance(before, kind))
    return None if len(shape) == rank else f"{linear.name} gives {len(shape)} dimensions, and only {rank} can be folded"


def folded(linear: Matrix, norm: Norm) -> tuple[Tensor, Tensor]:
    """Weight and bias of the one layer that does both, in the layer's float type; gradients pass through."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    mean, dtype = norm.running_mean.double(), linear.weight.dtype
    scale = 1.0 / torch.sqrt(norm.running_var.double() + norm.eps)
    if norm.weight is not None:
        scale = norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)
    start = -mean if linear.bias is None else linear.bias.double() - mean
    bias = start * scale if norm.bias is None else start * scale + norm.bias.double()
    per_output = scale.reshape(-1, *[1] * (linear.weight.dim() - 1))
    return (linear.weight.double() * per_output).to(dtype), bias.to(dtype)


def _alike(old: Matrix) -> Matrix:
    """A layer with a bias and the same options."""
    if isinstance(old, nn.Linear):
        return nn.Linear(old.in_features, old.out_features, True, "meta")
    kind: Any = nn.Conv1d if isinstance(old, nn.Conv1d) else nn.Conv2d
    windows = (old.kernel_size, old.stride, old.padding, old.dilation)
    new: Matrix = kind(old.in_channels, old.out_channels, *windows, old.groups, True, old.padding_mode, "meta")
    return new


def _fold(graph: MaseGraph, linear: fx.Node, norm: fx.Node) -> None:
    old, module = get_node_module(linear), get_node_module(norm)
    assert isinstance(old, Matrix)
    assert isinstance(module, Norm)
    with torch.no_grad():
        weight, bias = folded(old, module)
        new = _alike(old)
        new.weight = nn.Parameter(weight, old.weight.requires_grad)
        new.bias = nn.Parameter(bias, old.weight.requires_grad)
    new.train(old.training)
    parent, name = get_parent_name(str(linear.target))
    setattr(graph.model.get_submodule(parent), name, new)

    common, after = metadata_of(linear, graph).common, metadata_of(norm, graph).common
    add_value = "value" in common["results"]["data_out_0"]
    common["args"] |= {"weight": describe(new.weight, add_value), "bias": describe(new.bias, add_value)}
    common["results"] = after.get("results", common["results"])
    norm.replace_all_uses_with(linear)
    graph.fx_graph.erase_node(norm)
