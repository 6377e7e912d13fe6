"""Seeded random weights: what a model gets when no checkpoint is named."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def random_parameters(module: nn.Module, seed: int) -> None:
    """Fills every parameter and batch-norm statistic of `module`; the global generator is not touched.

    Values are of the size that training makes: a layer keeps about the scale of its input, and every scale, shift, mean
    and variance of a batch norm differs, so that swapped or forgotten ones show.
    """
    draw = torch.Generator().manual_seed(seed)

    def uniform(tensor: Tensor | None, lo: float, hi: float) -> None:
        if tensor is not None:
            tensor.copy_(torch.rand(tensor.shape, generator=draw) * (hi - lo) + lo)

    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, _NORMS):
                uniform(layer.weight, 0.5, 1.5)
                uniform(layer.bias, -0.5, 0.5)
                uniform(layer.running_mean, -0.5, 0.5)
                uniform(layer.running_var, 0.25, 2.0)
                continue
            for parameter in layer.parameters(recurse=False):
                inputs = parameter[0].numel() if parameter.dim() > 1 else 0
                size = (3 / inputs) ** 0.5 if inputs else 0.5  # variance 1 / inputs, as the layer sums that many
                uniform(parameter, -size, size)
