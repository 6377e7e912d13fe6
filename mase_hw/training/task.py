"""From a configuration to what `train`, `test` and `transform` work on: a model with weights, and data that fits it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import nn

from mase_hw.config import Config
from mase_hw.config.user_code import is_onnx
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Collector
from mase_hw.loading import load_data, load_weights
from mase_hw.models import Shape, Shapes, input_shape, input_shapes, load_model
from mase_hw.models.fit import check_fit
from mase_hw.training.checkpoint import read_statistics


@dataclass(frozen=True)
class TrainingTask:
    """What there is to work on; `shape` is that of one sample, or a tuple of shapes for a model with several inputs."""

    model: nn.Module
    dataset: Dataset | None
    shape: Shape | Shapes
    notes: tuple[str, ...]

    @property
    def data(self) -> Dataset:
        assert self.dataset is not None
        return self.dataset


def load_task(config: Config, *, fresh: bool = False, needs_data: bool = True) -> TrainingTask:
    """The model and the data that the configuration names, checked against each other.

    Without `load_name` a `fresh` model has torch's own start weights, drawn from the seed; otherwise random ones in
    every parameter and statistic, as `emit` has them.
    """
    with Collector() as problems:
        loaded = problems.attempt(
            lambda: _start(config) if fresh and config.load_name is None else load_weights(config)
        )
        if config.dataset is None and needs_data:
            hint = 'add dataset = "digits" to the TOML, or name it on the command line after the model'
            problems.add("dataset is missing", config.where(), hint)
        dataset = problems.attempt(lambda: load_data(config, None if loaded is None else loaded[0]))
    assert loaded is not None
    model, notes = loaded
    if dataset is None:
        return TrainingTask(model, None, input_shapes(model, None, config.where("model")), notes)
    fits = check_fit(model, dataset, config.where("dataset"))
    shape = input_shape(model, dataset, config.where("dataset"))
    return TrainingTask(model, dataset, shape, (*notes, *fits, *_other_statistics(config, dataset)))


def _start(config: Config) -> tuple[nn.Module, tuple[str, ...]]:
    model = load_model(config.model, config.base, config.where("model"), seed=config.seed)
    if is_onnx(config.model):
        return model, (*config.notes, f"the weights start as those of {config.model}")
    return model, (f"the weights start at random, from seed {config.seed}",)


def _other_statistics(config: Config, dataset: Dataset) -> tuple[str, ...]:
    """A note when the checkpoint was trained on data that was standardised otherwise."""
    if config.load_name is None:
        return ()
    stored = read_statistics(config.load_name)
    own = dataset.statistics
    if stored is None or (own is not None and np.array_equal(stored["mean"].numpy(), own.mean)):
        return ()
    return (f"{config.load_name.name} was trained on data standardised with other statistics than {dataset.name}'s",)
