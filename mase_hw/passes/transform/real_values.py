"""The real values that calibration fits types to: parameters as hardware uses them, activations as they were seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx

from mase_hw.graph import MaseGraph, get_node_module
from mase_hw.graph.joins import operands
from mase_hw.graph.opcodes import arguments
from mase_hw.modules.base import check_finite
from mase_hw.modules.mul import constant_tensor
from mase_hw.passes.analysis.operations import MATRIX, NORMS
from mase_hw.passes.analysis.sampling import run_samples
from mase_hw.passes.analysis.tensors import activations_of, parameters_of, stat_of
from mase_hw.passes.transform.best_frac import Reals

RANGES = ("range_min_max", "range_quantile", "range_n_sigma")


@dataclass(frozen=True)
class Seen:
    """Values of an activation. `whole` False: only the ends of its range are known."""

    values: Reals
    source: str
    whole: bool = True


def reals(tensor: Tensor) -> Reals:
    return tensor.detach().cpu().double().numpy().reshape(-1)


def constants(node: fx.Node, op: str) -> dict[str, Reals]:
    """`weight` and `bias` as the quantized layer computes with them: of a batch norm, the scale and the shift."""
    tensors: dict[str, Tensor] = {name: tensor.detach() for name, tensor in parameters_of(node).items()}
    check_finite(node.name, dict(tensors))
    module = get_node_module(node)
    if op in MATRIX:
        mask = getattr(module, "pruning_masks", None)
        if isinstance(mask, Tensor):
            tensors["weight"] = tensors["weight"] * mask
        return {name: reals(tensors[name]) for name in ("weight", "bias") if name in tensors}
    if op == "mul":
        number = operands(node, op).constant if module is None else None
        if isinstance(number, int | float):
            tensors["weight"] = constant_tensor(node.name, number)
        return {"weight": reals(tensors["weight"])}
    if op not in NORMS or "running_var" not in tensors:
        return {}
    eps: Any = arguments(node, op).get("eps", 1e-5) if module is None else module.eps
    mean, root = tensors["running_mean"].double(), torch.sqrt(tensors["running_var"].double() + eps)
    scale = tensors["weight"].double() / root if "weight" in tensors else 1.0 / root
    shift = -mean * scale if "bias" not in tensors else tensors["bias"].double() - mean * scale
    return {"weight": reals(scale), "bias": reals(shift)}


def from_samples(
    graph: MaseGraph, args: Mapping[str, Any], wanted: set[tuple[fx.Node, str]], asker: str
) -> tuple[dict[tuple[fx.Node, str], Seen], tuple[str, ...]]:
    """Runs the samples and keeps what the wanted activations (`data_in`, `data_out`) were."""
    parts: dict[tuple[fx.Node, str], list[Reals]] = {}

    def watch(node: fx.Node, side: str, name: str, value: Tensor) -> None:
        key = node, name.rpartition("_")[0]  # one type for all inputs: data_in
        if key in wanted:
            parts.setdefault(key, []).append(reals(value.clone()))  # a later in-place layer may overwrite it

    _, notes = run_samples(graph, args, {node for node, _ in wanted}, watch, asker)
    return {key: Seen(np.concatenate(seen), "samples") for key, seen in parts.items()}, notes


def from_statistics(graph: MaseGraph, node: fx.Node, argument: str) -> Seen | None:
    """What profile_statistics_analysis_pass left: all values (`save`), or the ends of a range; of all inputs alike."""
    names = [f"{argument}_0"] if argument == "data_out" else list(activations_of(node))
    stats = [stat_of(node, graph, "results" if argument == "data_out" else "args", name) for name in names]
    if all("save" in stat for stat in stats):
        return Seen(np.concatenate([reals(stat["save"]["data"]) for stat in stats]), "save")
    for name in RANGES:
        if all(name in stat for stat in stats):
            ends = [stat[name][end] for stat in stats for end in ("min", "max")]
            flat = [torch.as_tensor(end, dtype=torch.float64).reshape(-1) for end in ends]
            return Seen(reals(torch.cat(flat)), name, whole=False)
    return None
