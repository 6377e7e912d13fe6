"""Whether a model and its data fit, before anything is trained or scored."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mase_hw.config import TrainingConfig
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Collector, Place, Problem, ProblemsError
from mase_hw.models.load import input_shape
from mase_hw.models.modes import device_of, evaluating
from mase_hw.modules.codes import ToCodes

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_FORWARD_ERRORS = (RuntimeError, ValueError, TypeError, IndexError)  # what torch raises for a shape it cannot take


def check_fit(model: nn.Module, dataset: Dataset, where: Place | None = None) -> tuple[str, ...]:
    """The model must take the data's samples and have an output for each class; notes for the user."""
    shape = input_shape(model, dataset, where)
    outputs = count_outputs(model, shape, where, f"samples of {dataset.name}, of shape {shape},")
    if outputs < dataset.classes:
        text = f"the model gives {outputs} classes, {dataset.name} has {dataset.classes}"
        raise ProblemsError(Problem(text, where, "choose a model with as many outputs as the data has classes"))
    if outputs > dataset.classes:
        return (f"the model gives {outputs} classes, {dataset.name} has {dataset.classes}: the others are never right",)
    return ()


def count_outputs(model: nn.Module, shape: tuple[int, ...], where: Place | None = None, what: str = "") -> int:
    """How many classes the model tells apart, from a run on two samples of zeros."""
    subject = what or f"samples of shape {shape}"
    try:
        with evaluating(model), torch.no_grad():
            result = model(torch.zeros(2, *shape, device=device_of(model)))
    except _FORWARD_ERRORS as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        text = f"{type(model).__name__} does not take {subject}: {said}".replace(",:", ":")
        raise ProblemsError(Problem(text, where, "choose a data set that fits the model's first layer")) from error
    logits = logits_of(result)
    if logits is None or len(logits) != 2:
        gave = f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"
        text = f"{type(model).__name__} gives {gave} for 2 samples"
        raise ProblemsError(Problem(text, where, "a classifier gives (samples, classes)"))
    return int(logits.shape[1])


def logits_of(result: object) -> Tensor | None:
    """One number per class: the result, or the first of several, without positions where there is one; else None."""
    first = result[0] if isinstance(result, tuple | list) and result else result
    if not isinstance(first, Tensor) or first.dim() < 2 or any(size != 1 for size in first.shape[2:]):
        return None
    return first.flatten(1)


def check_training_data(model: nn.Module, dataset: Dataset, settings: TrainingConfig) -> None:
    """There must be samples to train on, and enough in a batch."""
    normed = any(isinstance(module, _NORMS) for module in model.modules())
    with Collector() as problems:
        if not len(dataset.x_train):
            hint = "return x_train and y_train too, or choose another data set"
            problems.add(f"{dataset.name} has no samples to train on", hint=hint)
        elif min(settings.batch_size, len(dataset.x_train)) == 1 and normed:
            hint = "a batch norm needs at least two samples: raise batch_size"
            problems.add("a batch of 1 sample cannot be normed in training", hint=hint)
        if any(isinstance(module, ToCodes) for module in model.modules()):
            text = f"{type(model).__name__} computes with the integers of its file, which have no gradients"
            problems.add(text, hint="train it where it was made, and export it again")
        if not any(parameter.requires_grad for parameter in model.parameters()):
            problems.add(f"{type(model).__name__} has no parameters to train", hint="is requires_grad off?")
