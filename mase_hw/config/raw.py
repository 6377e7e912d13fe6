"""The configuration after defaults as plain JSON values: what the manifest of a build records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from mase_hw.config.hardware import HardwareConfig, HardwareSpec, HardwareTarget
from mase_hw.config.quantize import QuantizeConfig
from mase_hw.config.training import TrainingConfig


def raw_mapping(
    values: Mapping[str, Any],
    *,
    model: str,
    dataset: str | None,
    task: str,
    project: str,
    seed: int,
    load_name: str | None,
    load_type: str,
    training: TrainingConfig,
    quantize: QuantizeConfig,
    fuse_batch_norm: bool,
    hardware: HardwareConfig,
    target: HardwareTarget,
    search: Mapping[str, Any],
) -> dict[str, Any]:
    """Same TOML, same mapping, wherever the file lies: an absolute path keeps its last part only."""
    passes = values.get("passes")
    written = passes.get("quantize") if isinstance(passes, Mapping) else None
    raw: dict[str, Any] = {
        "model": _relative(model),
        "dataset": None if dataset is None else _relative(dataset),
        "task": task,
        "project": project,
        "seed": seed,
        "load_name": None if load_name is None else _relative(load_name),
        "load_type": load_type,
        **asdict(training),
        "passes": {
            "quantize": {
                "default": {"config": {"name": "NA"}},
                **(plain(written) if isinstance(written, Mapping) else {}),
                "by": quantize.by,
            },
            "fuse_batch_norm": {"enabled": fuse_batch_norm},
            "hardware": {
                "by": hardware.by,
                "default": _hardware(hardware.default),
                **{key: _hardware(spec) for key, spec in hardware.entries.items()},
            },
        },
        "hardware": {key: value for key, value in vars(target).items() if key != "places"},
    }
    if search:
        raw["search"] = plain(search)
    return raw


def plain(value: Any) -> Any:
    """A TOML value as JSON has it: dates and the numbers that JSON lacks become strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def _hardware(spec: HardwareSpec) -> dict[str, Any]:
    return {"config": asdict(spec)}


def _relative(path: str) -> str:
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).name
    return path
