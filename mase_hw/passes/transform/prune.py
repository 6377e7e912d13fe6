"""prune_transform_pass: the weights of least magnitude become zero, one by one or by whole neurons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn

from mase_hw.config.entries import BY
from mase_hw.config.table import Table, shown
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place
from mase_hw.modules.base import check_finite
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.analysis.tables import text_table
from mase_hw.passes.analysis.targets import find_targets
from mase_hw.passes.transform.pruned import mask_of, set_mask

PASS = "prune_transform_pass"
OPS = ("linear", "conv1d", "conv2d")
COLUMNS = ("node", "weights", "zeros", "sparsity", "neurons", "zero neurons")


def prune_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """`pass_args["weight"]`, as in MASE:

    - `sparsity`: the part to be zero, 0 to 1; `round(sparsity * count)` weights or neurons are.
    - `method`: "l1-norm" (the default, and the only one): the smallest magnitudes go first, the first of equals first.
    - `granularity`: "elementwise" (the default) or "neuron": whole rows of the weight (one output feature or channel),
      by the mean magnitude in the row. The bias of a pruned neuron stays.
    - `scope`: "local" (the default), the part of each layer, or "global", of all layers together.

    `by` and `target_weight_nodes` choose the layers; without them, every linear layer and convolution. What was pruned
    before stays pruned. Masks stay in the modules' `pruning_masks`, and training keeps the zeros. `info`: `sparsity` of
    all chosen layers, `layers` (rows of `COLUMNS`), `table`, `skipped` (functional forms, which hold no weights).
    """
    args = dict(pass_args or {})
    with Collector() as problems:
        table = Table(args, (PASS,), problems, None)
        table.only(("weight", "by", "target_weight_nodes"))
        by = table.choice("by", "type", BY)
        options = _options(table)
        key = "target_weight_nodes"
        nodes = find_targets(graph, table, key, by) if key in args else _all(graph)
        layers, skipped = _layers(nodes, key in args, problems)
    sparsity, granularity, scope = options
    with Collector() as problems:
        for node, module in layers.items():
            problems.attempt(lambda node=node, module=module: check_finite(node.name, {"weight": module.weight}))  # type: ignore[misc]
    scores = [_scores(module, granularity) for module in layers.values()]
    groups = [list(range(len(scores)))] if scope == "global" else [[k] for k in range(len(scores))]
    modules = list(layers.values())
    for group in groups:
        for k, kept in zip(group, _kept([scores[k] for k in group], sparsity), strict=True):
            _mask(modules[k], kept, granularity)
    rows = [_row(node, module, graph) for node, module in layers.items()]
    weights, zeros = sum(row[1] for row in rows), sum(row[2] for row in rows)
    info = {
        "sparsity": zeros / weights if weights else 0.0,
        "layers": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        "table": text_table("Pruning", COLUMNS, rows),
        "skipped": skipped,
    }
    return graph, info


def _options(table: Table) -> tuple[float, str, str]:
    inner = table.table("weight")
    if inner is None:
        if "weight" not in table.values:
            table.problem("weight is missing", hint='such as {"weight": {"sparsity": 0.5, "scope": "local"}}')
        return 0.0, "elementwise", "local"
    inner.only(("sparsity", "method", "granularity", "scope"))
    inner.choice("method", "l1-norm", ("l1-norm",))
    sparsity = inner.number("sparsity", None)
    if sparsity is None and "sparsity" not in inner.values:
        inner.problem("sparsity is missing", hint="a number from 0 (nothing) to 1 (everything)")
    if sparsity is not None and not 0 <= sparsity <= 1:
        inner.problem(f"sparsity = {shown(sparsity)} is out of range", "sparsity", hint="allowed: 0 to 1")
    granularity = inner.choice("granularity", "elementwise", ("elementwise", "neuron"))
    return sparsity or 0.0, granularity, inner.choice("scope", "local", ("local", "global"))


def _all(graph: MaseGraph) -> list[fx.Node]:
    return [node for node in graph.fx_graph.nodes if get_mase_op(node) in OPS]


def _layers(nodes: list[fx.Node], chosen: bool, problems: Collector) -> tuple[dict[fx.Node, nn.Module], list[str]]:
    """The first node of each module; a weight that two modules share is pruned once."""
    layers: dict[fx.Node, nn.Module] = {}
    skipped: list[str] = []
    weights: set[int] = set()
    for node in nodes:
        module = get_node_module(node)
        if get_mase_op(node) not in OPS:
            if chosen:
                text = f"{PASS}: target_weight_nodes: {node.name} ({get_mase_op(node)}) has no weights to prune"
                problems.add(text, get_node_place(node), f"only {' and '.join(OPS)} layers can be pruned")
        elif module is None:
            skipped.append(node.name)
        elif not isinstance(module.weight, nn.Parameter):
            text = f"{node.name}: its weight is computed by a parametrization or a pruning hook"
            hint = "make it permanent first: torch.nn.utils.parametrize.remove_parametrizations or prune.remove"
            problems.add(text, get_node_place(node), hint)
        elif id(module.weight) not in weights:
            weights.add(id(module.weight))
            layers[node] = module
    return layers, skipped


def _weight(module: nn.Module) -> Tensor:
    assert isinstance(module.weight, Tensor)
    return module.weight.detach()


def _scores(module: nn.Module, granularity: str) -> Tensor:
    """What the smallest of are pruned. What already is comes before every magnitude, so that it is counted first."""
    magnitudes = _weight(module).abs().double().cpu()
    mask = mask_of(module)
    kept = torch.ones_like(magnitudes, dtype=torch.bool) if mask is None else mask.cpu() != 0
    if granularity == "neuron":
        return torch.where(kept.flatten(1).any(1), magnitudes.flatten(1).mean(1), -1.0)
    return torch.where(kept, magnitudes, -1.0).flatten()


def _kept(scores: list[Tensor], sparsity: float) -> list[Tensor]:
    """For each of `scores`, which of its entries are not among the smallest of all."""
    joined = torch.cat(scores)
    kept = torch.ones(len(joined), dtype=torch.bool)
    kept[torch.argsort(joined, stable=True)[: round(sparsity * len(joined))]] = False
    return list(torch.split(kept, [len(part) for part in scores]))


def _mask(module: nn.Module, kept: Tensor, granularity: str) -> None:
    weight = _weight(module)
    shape = (-1, *([1] * (weight.dim() - 1))) if granularity == "neuron" else weight.shape
    mask = kept.reshape(shape).expand(weight.shape).to(weight.device)
    before = mask_of(module)
    set_mask(module, (mask if before is None else mask & (before != 0)).to(weight.dtype))


def _row(node: fx.Node, module: nn.Module, graph: MaseGraph) -> tuple[str, int, int, float, int, int]:
    weight = _weight(module)
    zeros, rows = int((weight == 0).sum()), int((weight == 0).flatten(1).all(1).sum())
    arguments = metadata_of(node, graph).software.setdefault("args", {})
    arguments.setdefault("weight", {"stat": {}})["sparsity"] = zeros / weight.numel()
    common = metadata_of(node, graph).common.get("args", {}).get("weight", {})
    if "value" in common:
        common["value"] = weight.clone()
    return node.name, weight.numel(), zeros, zeros / weight.numel(), len(weight), rows
