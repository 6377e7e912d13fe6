"""The steps of `mase-hw transform`: passes, what they changed, scores, and a folder that `emit` can take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor, nn

from mase_hw.config import Config
from mase_hw.config.user_code import is_onnx, is_user_code
from mase_hw.config.write import toml_text
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.flow import with_metadata
from mase_hw.graph import MaseGraph, deepcopy_mase_graph
from mase_hw.passes import fuse_batch_norm_transform_pass, quantize_transform_pass, remove_identity_transform_pass
from mase_hw.passes.layers import layer_graph_of
from mase_hw.training.device import choose_device
from mase_hw.training.evaluate import Score, evaluate
from mase_hw.training.quantized import quantizes
from mase_hw.training.task import TrainingTask

FOLDER = "transform"


@dataclass(frozen=True)
class Transformed:
    """The graph before and after; `scores` are empty where there is no data."""

    before: MaseGraph
    after: MaseGraph
    scores: Mapping[str, Score]
    notes: tuple[str, ...]


def transform(config: Config, task: TrainingTask) -> Transformed:
    """The TOML's passes in the order in which `emit` applies them."""
    device, note = choose_device(config.training.accelerator)
    model = task.model.to(device).eval()
    notes = [note] if note else []
    before = with_metadata(MaseGraph(model), task.shape)
    after = with_metadata(MaseGraph(model), task.shape)
    if config.fuse_batch_norm:
        after, info = fuse_batch_norm_transform_pass(after)
        notes += [f"{norm} was folded into {linear}" for norm, linear in info["fused"].items()]
        notes += [f"{norm} was not folded: {reason}" for norm, reason in info["refused"].items()]
        after = with_metadata(after, task.shape)
        before = deepcopy_mase_graph(after)  # the table of changes compares node by node
    after, _ = quantize_transform_pass(after, {**config.raw["passes"]["quantize"], "places": config.places})
    changed = config.fuse_batch_norm or quantizes(config)
    if not changed:
        notes.append("[passes.quantize] names no quantizer and nothing is fused: the model stays as it is")
    scores = {}
    if task.dataset is not None:
        x, y = task.dataset.x_test, task.dataset.y_test
        scores["float"] = scores["transformed"] = evaluate(model, x, y)
        if changed:
            scores["transformed"] = evaluate(after.model, x, y)
    return Transformed(before, after, scores, tuple(notes))


def not_ready(done: Transformed) -> str | None:
    """Why `emit` would refuse the transformed graph; None where it would not for a reason that is known here."""
    try:
        with Collector() as problems:
            graph, _ = remove_identity_transform_pass(deepcopy_mase_graph(done.after))  # as `emit` does
            layer_graph_of(graph, problems)
    except ProblemsError as error:
        first, more = error.problems[0].message, len(error.problems) - 1
        return f"{first} (and {more} more)" if more else first
    return None


def show_changes(done: Transformed) -> None:
    """Prints the transformed graph and the table of what was quantized."""
    from mase_hw.passes import report_graph_analysis_pass, summarize_quantization_analysis_pass

    report_graph_analysis_pass(done.after)
    summarize_quantization_analysis_pass(done.before, done.after, save_dir=None)


def save_transformed(config: Config, task: TrainingTask, done: Transformed) -> Path:
    """Weights, the transformed graph's state and the configuration; the TOML that ties them together."""
    folder = config.output / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "model.safetensors", save(_state(task.model)))
    _write(folder / "transformed.safetensors", save(_state(done.after.model)))
    values: dict[str, Any] = dict(config.raw)
    values |= {"load_name": "model.safetensors", "load_type": "safetensors"}
    values |= {key: _found_from_anywhere(values[key], getattr(config, key), config) for key in ("model", "dataset")}
    toml = folder / "transform.toml"
    _write(toml, toml_text(values).encode())
    return toml


def _state(model: nn.Module) -> dict[str, Tensor]:
    """The state dict in memory of its own, as safetensors wants it: a tensor used twice is stored twice."""
    return {key: value.detach().cpu().contiguous().clone() for key, value in model.state_dict().items()}


def _found_from_anywhere(shown: Any, name: str | None, config: Config) -> Any:
    """A user's file by its whole path: the TOML is written to another folder than the one it was read from."""
    if name is not None and is_onnx(name):
        return str((config.base / name).resolve())
    if name is None or not is_user_code(name):
        return shown
    file, _, attribute = name.rpartition(":")
    return f"{(config.base / file).resolve()}:{attribute}"


def _write(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
