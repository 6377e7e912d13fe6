"""The optimizer, and the learning rate as a function of the step."""

from __future__ import annotations

import math

import torch
from torch import nn

from mase_hw.config import TrainingConfig


def make_optimizer(model: nn.Module, settings: TrainingConfig) -> torch.optim.Optimizer:
    """`training_optimizer` over all parameters that learn."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    rate, decay = settings.learning_rate, settings.weight_decay
    match settings.training_optimizer:
        case "sgd":
            return torch.optim.SGD(parameters, rate, momentum=0.9, weight_decay=decay)
        case "adamw":
            return torch.optim.AdamW(parameters, rate, weight_decay=decay)
        case other:
            assert other == "adam"
            return torch.optim.Adam(parameters, rate, weight_decay=decay)


def rate_at(step: int, total: int, settings: TrainingConfig) -> float:
    """The learning rate of a step counted from 0: no state, so that a resumed run needs none."""
    if settings.lr_schedule == "none":
        return settings.learning_rate
    return settings.learning_rate * (1 + math.cos(math.pi * step / total)) / 2


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = rate
