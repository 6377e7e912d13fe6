"""`evaluate`: loss and accuracy of a classifier on labelled samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.models.fit import logits_of
from mase_hw.models.modes import device_of, evaluating


@dataclass(frozen=True)
class Score:
    """Mean cross entropy and share of right labels over `samples` samples."""

    loss: float
    accuracy: float
    samples: int

    def better_than(self, other: Score | None) -> bool:
        """Higher accuracy; at equal accuracy the lower loss."""
        return other is None or (self.accuracy, -self.loss) > (other.accuracy, -other.loss)


def evaluate(
    model: nn.Module, x: np.ndarray, y: np.ndarray, *, batch_size: int = 1024, num_samples: int | None = None
) -> Score:
    """The model in eval mode, on its own device, without gradients; each module's mode is restored after.

    `num_samples` takes the first so many samples only.
    """
    count = len(x) if num_samples is None else min(num_samples, len(x))
    if count == 0:
        raise ProblemsError(Problem("there are no samples to evaluate on", hint="the split is empty: choose another"))
    where = device_of(model)
    loss, right = 0.0, 0
    with evaluating(model), torch.inference_mode():
        for start in range(0, count, batch_size):
            stop = min(start + batch_size, count)
            labels = torch.from_numpy(y[start:stop]).to(where)
            logits = check_logits(model(torch.from_numpy(x[start:stop]).to(where)), labels)
            loss += float(F.cross_entropy(logits.double().cpu(), labels.cpu(), reduction="sum"))
            right += int((logits.argmax(1) == labels).sum())
    return Score(loss / count, right / count, count)


def check_logits(result: object, labels: Tensor) -> Tensor:
    """The model's output, or the first of several, if it is one number per class for every label; else a Problem."""
    hint = "a classifier gives one number per class for each sample: (samples, classes)"
    logits = logits_of(result)
    if logits is None or len(logits) != len(labels):
        gave = f"shape {tuple(result.shape)}" if isinstance(result, Tensor) else f"a {type(result).__name__}"
        raise ProblemsError(Problem(f"the model gives {gave} for {len(labels)} samples", hint=hint))
    largest = int(labels.max())
    if largest >= logits.shape[1]:
        text = f"the model gives {logits.shape[1]} classes, and the data has the label {largest}"
        raise ProblemsError(Problem(text, hint="labels count from 0; choose a model with as many outputs as classes"))
    return logits
