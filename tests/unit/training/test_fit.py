"""Models and data that do not fit are told before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from cases import SETTINGS, blobs, net
from torch import Tensor, nn

from mase_hw.datasets import Dataset
from mase_hw.diagnostics import ProblemsError
from mase_hw.training import train

DATA = blobs()
NO_TRAIN = Dataset("blobs", DATA.x_train[:0], DATA.y_train[:0], DATA.x_val, DATA.y_val, DATA.x_test, DATA.y_test)


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 3)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"a": self.fc(x)}


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (nn.Linear(6, 2), "error: the model gives 2 classes, blobs has 3"),
        (
            nn.Linear(5, 3),
            "error: Linear does not take samples of blobs, of shape (6,): "
            "mat1 and mat2 shapes cannot be multiplied (2x6 and 5x3)",
        ),
        (Named(), "error: Named gives a dict for 2 samples"),
        (nn.Sequential(nn.Linear(6, 3), nn.Flatten(0)), "error: Sequential gives shape (6,) for 2 samples"),
        (nn.Flatten(), "error: Flatten has no parameters to train"),
    ],
)
def test_refused_before_training(model: nn.Module, said: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemsError) as caught:
        train(model, DATA, SETTINGS, seed=0, out=tmp_path / "out", progress=False)
    assert str(caught.value).splitlines()[0] == said
    assert not (tmp_path / "out").exists()


def test_a_stated_shape_that_differs() -> None:
    data = Dataset("wide", *(a.repeat(2, axis=1) if a.ndim > 1 else a for a in _arrays(DATA)))
    with pytest.raises(ProblemsError, match=r"Net takes samples of shape \(6,\), those of wide are \(12,\)"):
        train(net(), data, SETTINGS, seed=0, out=None, progress=False)


def test_nothing_to_train_on() -> None:
    with pytest.raises(ProblemsError, match="blobs has no samples to train on"):
        train(net(), NO_TRAIN, SETTINGS, seed=0, out=None, progress=False)


def test_one_sample_cannot_be_normed() -> None:
    single = replace(SETTINGS, batch_size=1)
    with pytest.raises(ProblemsError, match="a batch of 1 sample cannot be normed in training"):
        train(net(), DATA, single, seed=0, out=None, progress=False)
    torch.manual_seed(0)
    train(nn.Linear(6, 3), blobs(train=4), single, seed=0, out=None, progress=False)


def _arrays(data: Dataset) -> tuple:  # type: ignore[type-arg]
    return data.x_train, data.y_train, data.x_val, data.y_val, data.x_test, data.y_test
