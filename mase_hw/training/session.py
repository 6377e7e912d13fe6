"""The steps of `mase-hw train` and `mase-hw test` on a configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mase_hw.checkpoints import load_checkpoint
from mase_hw.config import Config
from mase_hw.training.device import choose_device
from mase_hw.training.evaluate import Score, evaluate
from mase_hw.training.quantized import quantized_network, quantizes, training_notes
from mase_hw.training.result import TrainResult
from mase_hw.training.store import FOLDER
from mase_hw.training.task import TrainingTask, load_task
from mase_hw.training.train import train


def training_task(config: Config) -> TrainingTask:
    """The model to train, with start weights, and its data."""
    task = load_task(config, fresh=True)
    asked = config.training
    notes = [*task.notes]
    if asked.trainer_precision not in ("32", "32-true"):
        notes.append(f'trainer_precision = "{asked.trainer_precision}": training is in 32 bits here')
    if asked.num_devices > 1 or asked.num_nodes > 1:
        notes.append("num_devices and num_nodes: one device is used")
    if quantizes(config):
        notes += training_notes(config, task.model, task.shape)
    return replace(task, notes=tuple(notes))


def run_training(
    config: Config, task: TrainingTask, *, resume: bool = False, progress: bool = True
) -> tuple[TrainResult, Score]:
    """Trains into the project's folder; the result, and the score of the best weights on the test split."""
    through = quantized_network(config, task.shape) if quantizes(config) else None
    last: Path = config.output / FOLDER / "last.ckpt"
    result = train(
        task.model,
        task.data,
        config.training,
        seed=config.seed,
        out=config.output,
        resume=last if resume else None,
        progress=progress,
        through=through,
        record={"config": dict(config.raw)},
    )
    assert result.best is not None
    load_checkpoint(task.model, result.best, "pl")
    network = task.model if through is None else through(task.model)
    return result, evaluate(network, task.data.x_test, task.data.y_test)


def score_task(config: Config, task: TrainingTask) -> tuple[dict[str, Score], tuple[str, ...]]:
    """Scores on the test split: of the float model, and of the quantized one where the TOML quantizes; and notes."""
    device, note = choose_device(config.training.accelerator)
    model = task.model.to(device)
    x, y = task.data.x_test, task.data.y_test
    scores = {"float": evaluate(model, x, y)}
    if quantizes(config):
        scores["quantized"] = evaluate(quantized_network(config, task.shape)(model), x, y)
    return scores, (note,) if note else ()
