"""`train`: a plain loop over tensors in memory: cross entropy, checkpoints after each epoch, exact continuation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mase_hw.config import TrainingConfig
from mase_hw.datasets import Dataset
from mase_hw.models.fit import check_fit, check_training_data
from mase_hw.passes.transform.pruned import keep_zeros
from mase_hw.training.checkpoint import load_progress
from mase_hw.training.device import choose_device
from mase_hw.training.display import Display, Logs
from mase_hw.training.evaluate import evaluate
from mase_hw.training.loop import Loop
from mase_hw.training.randomness import reproducible
from mase_hw.training.result import TrainingInterruptedError, TrainResult
from mase_hw.training.store import Store

# Settings that may change when a run is resumed without changing what it learns.
_FREE = ("accelerator", "max_epochs", "max_steps", "log_every_n_steps", "num_workers", "log_level")


def train(
    model: nn.Module,
    dataset: Dataset,
    settings: TrainingConfig,
    *,
    seed: int,
    out: Path | None,
    resume: Path | None = None,
    progress: bool = True,
    through: Callable[[nn.Module], nn.Module] | None = None,
    record: Mapping[str, Any] | None = None,
) -> TrainResult:
    """Trains `model` in place. Same model, data, settings and seed: the same weights, to the bit.

    `out` gets training_ckpts/best.ckpt and last.ckpt after each epoch, and TensorBoard logs; None writes nothing.
    `resume` is a last.ckpt: the run goes on as if it had not been interrupted. `through` makes, from the model, the
    network to train through (one with quantizers) on the model's own parameters: the checkpoints keep the model's
    keys. `record` goes into the checkpoints. Ctrl-C raises TrainingInterruptedError; a loss that is not finite is a
    Problem.
    """
    check_training_data(model, dataset, settings)
    notes = [*check_fit(model, dataset)]
    device, note = choose_device(settings.accelerator)
    notes += [note] if note else []
    with reproducible(seed, device, model):
        model.to(device)
        keep_zeros(model)  # of a pruned model: a copy of one has lost its hooks
        before = None if resume is None else load_progress(resume, model)
        if before is not None:
            notes += _changed(before.settings, before.seed, settings, seed)
        network = model if through is None else through(model)
        store = Store(out, model, settings, seed, _record(dataset, record), before, resume)
        loop = Loop(model, network, dataset, settings, device, store)
        with (
            Logs(None if out is None else out / "tensorboard", None if before is None else before.step) as logs,
            Display(settings.max_epochs, loop.batches, progress) as display,
        ):
            notes += [logs.note] if logs.note else []
            try:
                while not loop.done:
                    loop.epoch(display, logs)
            except KeyboardInterrupt:
                raise TrainingInterruptedError(store.epochs, store.last) from None
            finally:
                model.eval()
                network.eval()
        if before is not None and loop.epochs == before.epochs:
            notes.append(f"{before.epochs} epochs were done already: nothing to train; raise max_epochs to go on")
        score = loop.history[-1].score if loop.history else None
        score = score or evaluate(network, dataset.x_train, dataset.y_train)
        return TrainResult(store.best, store.last, score, tuple(loop.history), (*notes, *store.notes))


def _record(dataset: Dataset, record: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the checkpoint says of the data, beside the caller's own."""
    found: dict[str, Any] = {**(record or {}), "dataset": dataset.name, "statistics": None}
    if dataset.statistics is not None:
        mean, std = dataset.statistics.mean, dataset.statistics.std
        found["statistics"] = {"mean": torch.from_numpy(mean.copy()), "std": torch.from_numpy(std.copy())}
    return found


def _changed(old: Mapping[str, Any], old_seed: int, settings: TrainingConfig, seed: int) -> list[str]:
    """A note for each setting that makes the continuation differ from one long run."""
    pairs = [(name, old.get(name), value) for name, value in asdict(settings).items() if name not in _FREE]
    pairs.append(("seed", old_seed, seed))
    if settings.lr_schedule == "cosine":
        pairs.append(("max_epochs", old.get("max_epochs"), settings.max_epochs))
    return [f"resumed with {name} = {new}, it was {was}" for name, was, new in pairs if was != new]
