"""What each pass costs: microseconds per node at 50, 200 and 800 layers, and the ratio of the last to the first.

A pass whose cost is linear keeps the ratio near 1. Run it with `python bench/passes.py`.
"""

from __future__ import annotations

import contextlib
import gc
import io
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from mase_hw import MaseGraph, passes
from mase_hw.graph import deepcopy_mase_graph

LAYERS = (50, 200, 800)
FEATURES = 8
REPEATS = 2

_TYPES = {"name": "integer", "data_in_width": 8, "weight_width": 8, "bias_width": 8}
_FRACS = {"data_in_frac_width": 4, "weight_frac_width": 4, "bias_frac_width": 4}
QUANTIZE = {"by": "type", "linear": {"config": {**_TYPES, **_FRACS}}}
CALIBRATE = {"by": "type", "linear": {"config": _TYPES}}


def make(layers: int) -> MaseGraph:
    """Linear layers with batch norms and ReLUs, `layers` in all."""
    torch.manual_seed(0)
    kinds = (lambda: nn.Linear(FEATURES, FEATURES), lambda: nn.BatchNorm1d(FEATURES), nn.ReLU)
    graph = MaseGraph(nn.Sequential(*(kinds[k % 3]() for k in range(layers))).eval())
    graph, _ = passes.init_metadata_analysis_pass(graph)
    graph, _ = passes.add_common_metadata_analysis_pass(graph, {"dummy_in": {"input": torch.zeros(2, FEATURES)}})
    return passes.add_software_metadata_analysis_pass(graph)[0]


def samples() -> dict[str, Any]:
    torch.manual_seed(0)
    return {"input_generator": iter([torch.randn(8, FEATURES)]), "num_samples": 8}


def profile_args() -> dict[str, Any]:
    wanted = {"variance_online": {}, "range_quantile": {"quantile": 0.97}}
    nodes = {"target_weight_nodes": ["linear"], "target_activation_nodes": ["linear", "relu"]}
    return {**nodes, "weight_statistics": wanted, "activation_statistics": wanted, **samples()}


def redefine_args(layers: int) -> dict[str, Any]:
    names = [f"_{k}" for k in range(0, layers, 3)]
    modes = {name: {"config": {"name": "both", "channel_multiplier": 2}} for name in names}
    modes[names[0]] = {"config": {"name": "output_only", "channel_multiplier": 2}}
    modes[names[-1]] = {"config": {"name": "input_only"}}
    return {"config": modes}


def calls(layers: int) -> dict[str, Callable[[MaseGraph], object]]:
    """Every pass, on a graph that it may change."""
    dummy = {"dummy_in": {"input": torch.zeros(2, FEATURES)}}
    original = make(layers)
    return {
        "add_common_metadata": lambda graph: passes.add_common_metadata_analysis_pass(graph, dummy),
        "add_software_metadata": passes.add_software_metadata_analysis_pass,
        "report_graph": passes.report_graph_analysis_pass,
        "report_node_meta_param": passes.report_node_meta_param_analysis_pass,
        "summarize_quantization": lambda graph: passes.summarize_quantization_analysis_pass(original, graph),
        "profile_statistics": lambda graph: passes.profile_statistics_analysis_pass(graph, profile_args()),
        "count_flops": passes.count_flops_analysis_pass,
        "count_bitops": passes.count_bitops_analysis_pass,
        "quantize": lambda graph: passes.quantize_transform_pass(graph, QUANTIZE),
        "calibrate": lambda graph: passes.calibrate_transform_pass(graph, {**CALIBRATE, **samples()}),
        "redefine_linear": lambda graph: passes.redefine_linear_transform_pass(graph, redefine_args(layers)),
        "prune": lambda graph: passes.prune_transform_pass(graph, {"weight": {"sparsity": 0.5, "scope": "global"}}),
        "fuse_batch_norm": passes.fuse_batch_norm_transform_pass,
        "remove_identity": passes.remove_identity_transform_pass,
        "deepcopy_mase_graph": deepcopy_mase_graph,
    }


def microseconds_per_node(layers: int) -> dict[str, float]:
    """CPU time, which other work on the machine does not stretch, without Python's garbage collector, which walks
    through all graphs alive and not only through the one at hand."""
    found = {}
    original = make(layers)
    for name, call in calls(layers).items():
        taken = []
        for _ in range(REPEATS):
            graph = deepcopy_mase_graph(original)
            gc.collect()
            gc.disable()
            with contextlib.redirect_stdout(io.StringIO()):
                started = time.process_time()
                call(graph)
                taken.append(time.process_time() - started)
            gc.enable()
        found[name] = min(taken) / (layers + 2) * 1e6
    return found


def main() -> None:
    torch.set_num_threads(1)
    table = Table(title="microseconds per node", title_justify="left")
    table.add_column("pass", no_wrap=True)
    for layers in LAYERS:
        table.add_column(f"{layers} layers", justify="right")
    table.add_column("ratio", justify="right")
    columns = [microseconds_per_node(layers) for layers in LAYERS]
    for name in columns[0]:
        values = [column[name] for column in columns]
        table.add_row(name, *(f"{value:,.1f}" for value in values), f"{values[-1] / values[0]:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
