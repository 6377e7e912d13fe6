"""What a configuration names: the model with its weights, and the data set that goes with it."""

from __future__ import annotations

import numpy as np
from torch import nn

from mase_hw.checkpoints import load_checkpoint, random_parameters
from mase_hw.config import Config
from mase_hw.config.user_code import is_onnx
from mase_hw.datasets import Dataset, load_dataset
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.models import input_shape, load_model
from mase_hw.models.fit import count_outputs


def load_weights(config: Config, made: nn.Module | None = None) -> tuple[nn.Module, tuple[str, ...]]:
    """The model with its checkpoint's weights, or with seeded random ones and a line that says so.

    An ONNX file has weights itself, and so has a class that says `has_weights = True`. `made` stands for the model that
    the configuration names.
    """
    model = (load_model(config.model, config.base, config.where("model")) if made is None else made).eval()
    if config.load_name is None and (is_onnx(config.model) or getattr(model, "has_weights", False) is True):
        return model, config.notes
    if config.load_name is None:
        random_parameters(model, config.seed)
        return model, (f"no load_name in {config.path.name}: the weights are random, from seed {config.seed}",)
    notes = load_checkpoint(model, config.load_name, config.load_type, config.where("load_name"))
    return model, (*config.notes, *notes)


def load_data(config: Config, model: nn.Module | None) -> Dataset | None:
    """The data set; one that is generated is made to fit the model."""
    if config.dataset is None:
        return None
    shape, classes = _wants(model)
    return load_dataset(config.dataset, config.base, config.seed, config.where("dataset"), shape=shape, classes=classes)


def check_labels(config: Config, dataset: Dataset, outputs: int) -> None:
    """Each label must have an output of the model; the first of a split that has none is a Problem."""
    with Collector() as problems:
        for split in ("train", "val", "test"):
            labels = getattr(dataset, f"y_{split}")
            wrong = np.flatnonzero((labels < 0) | (labels >= outputs))
            if len(wrong):
                first = int(wrong[0])
                text = f'dataset = "{config.dataset}": y_{split} has the label {int(labels[first])} in sample {first}, '
                text += f"and the model has {outputs} outputs"
                notes = (f"{len(wrong)} of {len(labels)} labels of y_{split} have no output",)
                hint = f"labels go from 0 to {outputs - 1}: correct the labels, or give the model more outputs"
                problems.add(text, config.where("dataset"), hint, notes if len(wrong) > 1 else ())


def _wants(model: nn.Module | None) -> tuple[tuple[int, ...] | None, int | None]:
    """Sample shape and class count of the model, as far as it tells them without data."""
    if model is None:
        return None, None
    try:
        shape = input_shape(model)
        return shape, count_outputs(model, shape)
    except ProblemsError:  # not told: the data decides, and `check_fit` reports what does not fit
        return None, None
