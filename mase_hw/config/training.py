"""The keys at the top of a TOML that say how to train and run; the names and the meanings are MASE's."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from mase_hw.config.table import Table

ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps")
OPTIMIZERS = ("adam", "adamw", "sgd")
LR_SCHEDULES = ("cosine", "none")
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; -1 steps means that the epochs decide."""

    max_epochs: int = 20
    max_steps: int = -1
    batch_size: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    training_optimizer: str = "adam"
    lr_schedule: str = "cosine"
    trainer_precision: str = "32"
    accumulate_grad_batches: int = 1
    log_every_n_steps: int = 50
    accelerator: str = "auto"
    strategy: str = "auto"
    num_devices: int = 1
    num_nodes: int = 1
    num_workers: int = 0
    max_token_len: int = 512
    is_pretrained: bool = False
    is_to_auto_requeue: bool = False
    disable_dataset_cache: bool = False
    github_ci: bool = False
    to_debug: bool = False
    profile: bool = False
    log_level: str = "info"


KEYS = (*(item.name for item in fields(TrainingConfig)), "cpu")

_LEAST = {"max_epochs": 1, "max_steps": -1, "num_workers": 0}
_CHOICES = {
    "accelerator": ACCELERATORS,
    "training_optimizer": OPTIMIZERS,
    "lr_schedule": LR_SCHEDULES,
    "log_level": LOG_LEVELS,
}


def parse_training(table: Table) -> TrainingConfig:
    """Reads every key of `TrainingConfig` from the top table; `cpu` is MASE's other name of `num_workers`."""
    values: dict[str, Any] = {}
    for item in fields(TrainingConfig):
        key, default = item.name, item.default
        if isinstance(default, bool):
            values[key] = table.boolean(key, default)
        elif isinstance(default, int):
            values[key] = table.integer(key, default, _LEAST.get(key, 1))
        elif isinstance(default, float):
            values[key] = _rate(table, key, default)
        elif key in _CHOICES:
            values[key] = table.choice(key, str(default), _CHOICES[key])
        else:
            values[key] = _word(table, key, str(default))
    if "cpu" in table.values:
        if "num_workers" in table.values:
            table.problem("cpu and num_workers are the same setting", "cpu", hint="keep one of them")
        values["num_workers"] = table.integer("cpu", 0, 0)
    return TrainingConfig(**values)


def _rate(table: Table, key: str, default: float) -> float:
    value = table.number(key, default)
    assert value is not None
    if not math.isfinite(value) or value < 0 or (value == 0 and default > 0):
        bound = "above 0" if default > 0 else "0 or more"
        table.problem(f"{key} = {value} is out of range", key, hint=f"allowed: {bound}")
        return default
    return float(value)


def _word(table: Table, key: str, default: str) -> str:
    """A string; a bare number is taken too, because MASE's precision is 16 as often as "16"."""
    value = table.values.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return table.string(key, default) or default
