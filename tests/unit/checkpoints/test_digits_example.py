"""The committed digits checkpoint is what its TOML and its README say."""

from __future__ import annotations

from pathlib import Path

import torch

from mase_hw.checkpoints import load_checkpoint
from mase_hw.config_file import load_config
from mase_hw.datasets import load_dataset
from mase_hw.models import input_shape, load_model

EXAMPLE = Path(__file__).parents[3] / "examples" / "digits"


def test_float_accuracy() -> None:
    config = load_config(EXAMPLE / "model.toml")
    assert config.load_name is not None
    assert config.dataset is not None
    assert config.load_name.stat().st_size < 40_000
    model = load_model(config.model, config.base).eval()
    assert load_checkpoint(model, config.load_name, config.load_type) == ()
    data = load_dataset(config.dataset, config.base, config.seed)
    assert input_shape(model, data) == (64,)
    right = model(torch.from_numpy(data.x_test)).argmax(dim=1) == torch.from_numpy(data.y_test)
    assert int(right.sum()) == 347
    assert "97.75 %" in (EXAMPLE / "README.md").read_text()


def test_every_operator_is_quantized_and_both_implementations_are_shown() -> None:
    config = load_config(EXAMPLE / "model.toml")
    for op in ("linear", "batch_norm1d", "relu"):
        assert config.quantize.for_node("x", op).quantized
    chosen = [config.hardware.for_node(f"fc{i}", "linear").implementation for i in (1, 2, 3)]
    assert chosen == ["folded", "unrolled", "unrolled"]
