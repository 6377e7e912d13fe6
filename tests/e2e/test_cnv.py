"""examples/cnv: the network gives what the file that it is made from says, on a file of random integers."""

from __future__ import annotations

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mase_hw.config_file import load_config
from mase_hw.flow import prepare
from mase_hw.samples import quantize_inputs

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "cnv" / "cnv.py"
CHANNELS = (3, 4, 4, 6, 6, 8, 8)
FEATURES = (8, 12, 12, 10)  # after the last convolution one position is left


@pytest.fixture
def cnv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example's module, with a file of random integers in the place of the published one."""
    draw = np.random.default_rng(5)
    arrays = {}
    for k, (a, b) in enumerate(pairwise(CHANNELS)):
        arrays[f"W{k}"] = draw.choice([-1, 1], (b, a, 3, 3))
        arrays[f"T{k}"] = draw.integers(-400, 400, (b, 1)) if k == 0 else draw.integers(3 * a, 6 * a, (b, 1))
    for k, (a, b) in enumerate(pairwise(FEATURES), start=6):
        arrays[f"W{k}"] = draw.choice([-1, 1], (b, a))
        arrays[f"T{k}"] = draw.integers(a // 3, 2 * a // 3, (b, 1))
    np.savez(tmp_path / "cnv_w1a1.npz", **arrays)
    images = draw.integers(0, 256, (3, 3, 32, 32)).astype(np.uint8)
    np.savez(tmp_path / "cifar10_test.npz", x_test=images, y_test=np.arange(3))
    monkeypatch.setenv("MASE_HW_DATA", str(tmp_path))
    spec = importlib.util.spec_from_file_location("cnv_example", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_the_file_says(arrays: dict[str, np.ndarray], x: torch.Tensor) -> torch.Tensor:
    """With activations of -1 and +1. A layer counts the products that are +1; the first one takes twice its sum."""
    for k in range(9):
        weight = torch.from_numpy(arrays[f"W{k}"]).double()
        total = F.conv2d(x, weight) if k < 6 else F.linear(x.flatten(1), weight)
        if k == 8:
            return total
        counted = 2 * total if k == 0 else (weight[0].numel() + total) / 2
        limit = torch.from_numpy(arrays[f"T{k}"]).double().reshape(1, -1, *([1, 1] if k < 6 else []))
        x = torch.where(counted > limit, 1.0, -1.0).double()
        if k in (1, 3):
            x = F.max_pool2d(x, 2)
    raise AssertionError


def test_scores_are_those_of_the_file(cnv: ModuleType) -> None:
    x = torch.from_numpy(np.random.default_rng(6).integers(-128, 128, (40, 3, 32, 32))).double()
    wanted = as_the_file_says(cnv.stored("cnv_w1a1.npz"), x)
    assert len(wanted.unique()) > 5  # the thresholds do not decide everything before the last layer
    assert torch.equal(cnv.CNV().double()(x), wanted)


@pytest.mark.nightly
def test_the_hardware_has_the_weights_of_the_file(cnv: ModuleType) -> None:
    prepared = prepare(load_config(SOURCE.parent / "model.toml"))
    assert prepared.notes == ()
    assert prepared.dataset is not None
    design, images = prepared.compiled.design, prepared.dataset.x_test
    assert design.schedule.interval <= 270_000
    (scores,) = design.results(*quantize_inputs(prepared.compiled.layers, images))
    wanted = as_the_file_says(cnv.stored("cnv_w1a1.npz"), torch.from_numpy(images).double())
    assert np.array_equal(scores * 2.0 ** -design.outputs[0].fixed.frac, wanted.numpy())
    assert len(np.unique(scores)) > 3


def test_a_missing_file_is_named(cnv: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MASE_HW_DATA", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match=r"cnv_w1a1\.npz"):
        cnv.CNV()
