"""The jet-substructure networks (16 features, 5 classes) that MASE and its labs use, by their names there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from mase_hw.models.registry import register

FEATURES = 16
CLASSES = 5


class SeqBlocks(nn.Module):
    """Layers one after the other under `seq_blocks`, so that nodes are named `seq_blocks_0`, `seq_blocks_1`, ..."""

    input_shape: tuple[int, ...] = (FEATURES,)

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.seq_blocks = nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.seq_blocks(x)
        return out


def _normed(widths: Sequence[int]) -> list[nn.Module]:
    """Batch norm and ReLU on the input and after each linear layer."""
    layers: list[nn.Module] = [nn.BatchNorm1d(widths[0]), nn.ReLU()]
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
    return layers


def _plain(widths: Sequence[int]) -> list[nn.Module]:
    """Batch norm on the input alone; a ReLU after it and after each linear layer."""
    layers: list[nn.Module] = [nn.BatchNorm1d(widths[0]), nn.ReLU()]
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return layers


def _blocks(name: str, build: Callable[[Sequence[int]], list[nn.Module]], *hidden: int) -> Callable[..., SeqBlocks]:
    def make(num_features: int = FEATURES, num_classes: int = CLASSES) -> SeqBlocks:
        model = SeqBlocks(*build((num_features, *hidden, num_classes)))
        model.input_shape = (num_features,)
        return model

    return register(name)(make)


get_jsc_tiny = _blocks("jsc-tiny", _plain)
get_jsc_toy = _blocks("jsc-toy", _normed, 8, 8)
get_test_hhy = _blocks("test-hhy", _normed, 32, 16, 8)
get_jsc_d = _blocks("jsc-d", _plain, 16, 16)
get_jsc_txl = _blocks("jsc-txl", _normed, 64, 64, 32)
get_jsc_trt = _blocks("jsc-trt", _normed, 32, 64, 32)


@register("jsc-s")
class JscS(nn.Module):
    """Five blocks in a list: linear, batch norm, ReLU; the first also norms and rectifies its input."""

    def __init__(self, num_features: int = FEATURES, num_classes: int = CLASSES) -> None:
        super().__init__()
        self.input_shape = (num_features,)
        blocks: list[nn.Module] = []
        for before, after in pairwise((num_features, 64, 32, 32, 32, num_classes)):
            layers: list[nn.Module] = [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
            if not blocks:
                layers = [nn.BatchNorm1d(before), nn.ReLU(), *layers]
            blocks.append(nn.Sequential(*layers))
        self.module_list = nn.ModuleList(blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.module_list:
            x = block(x)
        return x
