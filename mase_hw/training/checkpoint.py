"""Training checkpoints: Lightning's shape plus what an exact continuation needs; written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mase_hw.checkpoints import load_checkpoint
from mase_hw.checkpoints.read import LIGHTNING_PREFIX, load_torch, read_state
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.training.evaluate import Score
from mase_hw.training.result import Epoch

OURS = "mase_hw"  # the key that Lightning does not know
_SCHEMA = 1


@dataclass(frozen=True)
class Progress:
    """A run after a whole number of epochs, beside its weights: all plain values and tensors."""

    epochs: int
    step: int
    best: Epoch | None
    history: tuple[Epoch, ...]
    optimizer: dict[str, Any]
    random: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    record: dict[str, Any] = field(default_factory=dict)  # the configuration and the data's statistics


def save_checkpoint(path: Path, model: nn.Module, progress: Progress) -> None:
    """`torch.load(path, weights_only=True)` reads it, as does Lightning. The old file stays until it is whole."""
    own = {
        "schema": _SCHEMA,
        "epochs": progress.epochs,
        "best": None if progress.best is None else asdict(progress.best),
        "history": [asdict(epoch) for epoch in progress.history],
        "random": progress.random,
        "settings": progress.settings,
        "seed": progress.seed,
        "record": progress.record,
    }
    content = {
        "state_dict": {f"{LIGHTNING_PREFIX}{key}": value.cpu() for key, value in model.state_dict().items()},
        "epoch": progress.epochs - 1,  # Lightning counts from 0
        "global_step": progress.step,
        "optimizer_states": [progress.optimizer],
        "lr_schedulers": [],  # the rate is a function of the step
        OURS: own,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        torch.save(content, part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load_progress(path: Path, model: nn.Module) -> Progress:
    """Fills `model` from a checkpoint of ours and returns how far its run had come."""
    if not path.exists():
        text = f"checkpoint {Place(path)} does not exist: there is nothing to resume"
        raise ProblemsError(Problem(text, hint="train without --resume, or name the project it was trained under"))
    read_state(path, "pl")  # refuses what is damaged or holds code
    content = load_torch(path)
    own = content.get(OURS)
    if not isinstance(own, Mapping) or own.get("schema") != _SCHEMA:
        text = f"checkpoint {Place(path)} does not say how to continue its training"
        hint = "start from its weights instead: --load FILE, without --resume"
        raise ProblemsError(Problem(text, hint=hint))
    load_checkpoint(model, path, "pl")
    values = {name: value for name, value in own.items() if name != "schema"}
    values["best"] = None if own["best"] is None else _epoch(own["best"])
    values["history"] = tuple(_epoch(entry) for entry in own["history"])
    return Progress(step=content["global_step"], optimizer=content["optimizer_states"][0], **values)


def read_statistics(path: Path) -> dict[str, Tensor] | None:
    """Mean and standard deviation of the data that a checkpoint of ours was trained on; None for any other file."""
    content = load_torch(path) if path.suffix == ".ckpt" else {}
    own = content.get(OURS) if isinstance(content, Mapping) else None
    return own["record"].get("statistics") if isinstance(own, Mapping) else None


def _epoch(values: Mapping[str, Any]) -> Epoch:
    score = values["score"]
    return Epoch(**{**values, "score": None if score is None else Score(**score)})
