"""Looks at the values in a trained network and writes a TOML with a fixed-point type for each of its tensors.

    python calibrate.py --config float.toml --load best.ckpt --width 8 --project digits-8bit --out 8bit.toml

Widths are given, fractional widths are found: those with the smallest mean squared error on training samples.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from mase_hw.config import Config, Option
from mase_hw.config.write import toml_text
from mase_hw.config_file import load_config
from mase_hw.graph import MaseGraph
from mase_hw.passes import calibrate_transform_pass, profile_statistics_analysis_pass
from mase_hw.pipeline.graphs import with_metadata
from mase_hw.training.task import TrainingTask, load_task

LAYERS = ["linear", "batch_norm1d", "relu"]
SAMPLES = 512
BATCH = 64


def batches(task: TrainingTask) -> Iterator[torch.Tensor]:
    """Training samples: the test split is for the end alone."""
    return iter(torch.split(torch.from_numpy(task.data.x_train), BATCH))


def profile(graph: MaseGraph, task: TrainingTask) -> None:
    """Prints the range of every weight and of everything that a layer reads."""
    everything = {"range_min_max": {"device": "cpu", "dims": "all"}}
    arguments = {
        "by": "type",
        "target_weight_nodes": ["linear", "batch_norm1d"],
        "target_activation_nodes": LAYERS,
        "weight_statistics": everything,
        "activation_statistics": everything,
        "input_generator": batches(task),
        "num_samples": SAMPLES,
    }
    graph, info = profile_statistics_analysis_pass(graph, arguments)
    print(f"ranges over {info['samples']} training samples")
    for node in graph.fx_graph.nodes:
        for name, found in node.meta["mase"].parameters["software"].get("args", {}).items():
            if span := found["stat"].get("range_min_max"):
                print(f"  {node.name:<6} {name:<10} {span['min']:9.4f} to {span['max']:9.4f}")


def calibrate(graph: MaseGraph, task: TrainingTask, width: int) -> dict[str, Any]:
    """[passes.quantize] by node name, with the fractional widths that fit best."""
    widths = {"name": "integer", "data_in_width": width, "weight_width": width, "bias_width": width}
    arguments = {
        "by": "type",
        "linear": {"config": widths},
        "batch_norm1d": {"config": widths},
        "relu": {"config": {"name": "integer", "data_in_width": width}},
        "input_generator": batches(task),
        "num_samples": SAMPLES,
        "apply": False,  # the types are all that is wanted here: `mase-hw transform` applies them
    }
    _, info = calibrate_transform_pass(graph, arguments)
    print(info["table"])
    quantize: dict[str, Any] = info["quantize"]
    return quantize


def write(config: Config, quantize: dict[str, Any], project: str, out: Path) -> None:
    """The TOML that was read, with a name of its own, the checkpoint and the quantizers."""
    assert config.load_name is not None
    values = tomllib.loads(config.path.read_text(encoding="utf-8"))
    values["project"] = project
    values["load_name"] = os.path.relpath(config.load_name, out.parent)
    values["passes"] = {"quantize": quantize, **values.get("passes", {})}
    out.write_text(toml_text(values), encoding="utf-8")
    print(f"written: {out}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--config", type=Path, required=True, help="a TOML without quantizers")
    options.add_argument("--load", required=True, help="the trained checkpoint")
    options.add_argument("--width", type=int, default=8, help="bits of every tensor (default 8)")
    options.add_argument("--project", required=True, help="the project of the TOML that is written")
    options.add_argument("--out", type=Path, required=True, help="the TOML to write")
    chosen = options.parse_args()
    config = load_config(chosen.config, {"load_name": Option("--load", chosen.load)})
    task = load_task(config)
    graph = with_metadata(MaseGraph(task.model.eval()), task.shape)
    profile(graph, task)
    write(config, calibrate(graph, task, chosen.width), chosen.project, chosen.out)


if __name__ == "__main__":
    main()
