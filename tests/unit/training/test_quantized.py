"""Training through quantizers: the float model learns, its keys stay, and what was scored is what is built."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from cases import SETTINGS, Functional, Net, blobs, net
from torch import nn

from mase_hw.checkpoints import load_checkpoint
from mase_hw.config import Config
from mase_hw.config_file import load_config
from mase_hw.flow import compile_model
from mase_hw.models.fit import check_fit
from mase_hw.training import evaluate, train
from mase_hw.training.quantized import quantized_network, quantizes, training_notes

DATA = blobs()
WIDTHS = "\n".join(['name = "integer"', *(f"{a}_width = 5\n{a}_frac_width = 2" for a in ("data_in", "weight", "bias"))])
NARROW = f'model = "x"\n[passes.quantize]\nby = "type"\n[passes.quantize.linear.config]\n{WIDTHS}\n'
NORM = f"[passes.quantize.batch_norm1d.config]\n{WIDTHS}\n"
FUSE = "[passes.fuse_batch_norm]\n"


def config(tmp_path: Path, text: str) -> Config:
    (tmp_path / "q.toml").write_text(text)
    return load_config(tmp_path / "q.toml")


def scored_as_built(model: nn.Module, asked: Config) -> float:
    """The accuracy of what `emit` builds from the model's weights."""
    compiled = compile_model(
        model,
        (6,),
        asked.raw["passes"]["quantize"],
        {"config": asked.hardware, "quantize": asked.quantize},
        fuse_batch_norm=asked.fuse_batch_norm,
    )
    with torch.inference_mode():
        scores = compiled.graph.model.eval()(torch.from_numpy(DATA.x_val))
    return float(np.mean(scores.argmax(1).numpy() == DATA.y_val))


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Net, NARROW + NORM), (Net, NARROW + FUSE), (Functional, NARROW + NORM)],
    ids=["modules", "fused", "functional"],
)
def test_learns_through_the_quantizers(kind: type[nn.Module], text: str, tmp_path: Path) -> None:
    asked = config(tmp_path, text)
    model = net(kind=kind)
    start = {key: value.clone() for key, value in model.state_dict().items()}
    through = quantized_network(asked, (6,))
    before = evaluate(through(model), DATA.x_val, DATA.y_val)
    result = train(model, DATA, SETTINGS, seed=0, out=tmp_path / "out", progress=False, through=through)
    assert result.score.accuracy > max(0.6, before.accuracy)
    assert result.score == evaluate(through(model), DATA.x_val, DATA.y_val)
    assert list(model.state_dict()) == list(start)
    moved = [key for key, value in model.state_dict().items() if not torch.equal(value, start[key])]
    assert set(moved) >= {name for name, _ in model.named_parameters()} - {"fc1.bias"}

    fresh = net(seed=5, kind=kind)  # the checkpoint goes back into the float model
    assert result.last is not None
    load_checkpoint(fresh, result.last)
    assert scored_as_built(fresh, asked) == result.score.accuracy


def test_gradients_are_those_of_the_quantized_network(tmp_path: Path) -> None:
    """Two bits: the float network would learn otherwise."""
    asked = config(tmp_path, NARROW + NORM)
    one, other = net(), net()
    train(one, DATA, SETTINGS, seed=0, out=None, progress=False)
    train(other, DATA, SETTINGS, seed=0, out=None, progress=False, through=quantized_network(asked, (6,)))
    assert not torch.equal(one.fc1.weight, other.fc1.weight)  # type: ignore[arg-type,union-attr]


def test_statistics_move_but_for_folded_norms(tmp_path: Path) -> None:
    for text, moves in ((NARROW + NORM, True), (NARROW, True), (NARROW + FUSE, False)):
        model = net()
        through = quantized_network(config(tmp_path, text), (6,))
        train(model, DATA, SETTINGS, seed=0, out=None, progress=False, through=through)
        mean = model.bn.running_mean  # type: ignore[union-attr]
        assert bool((mean != 0).all()) == moves, text  # type: ignore[union-attr,operator]


def test_whether_anything_is_quantized(tmp_path: Path) -> None:
    assert quantizes(config(tmp_path, NARROW))
    assert not quantizes(config(tmp_path, 'model = "x"\n'))
    none = 'model = "x"\n[passes.quantize]\nby = "type"\n[passes.quantize.default.config]\nname = "NA"\n'
    assert not quantizes(config(tmp_path, none))


def test_notes(tmp_path: Path) -> None:
    first = "training through the quantizers of [passes.quantize]; the checkpoints hold the float weights"
    assert training_notes(config(tmp_path, NARROW), net(), (6,)) == (first,)
    assert training_notes(config(tmp_path, NARROW + NORM), net(kind=Functional), (6,)) == (first,)
    notes = training_notes(config(tmp_path, NARROW + FUSE), net(kind=Functional), (6,))
    assert notes == (
        first,
        "fuse_batch_norm: folded batch norms train with the running statistics that they start with",
        "batch_norm: written as a function, so it stays in eval mode while training; use a module instead",
    )


def test_a_model_with_more_outputs_than_classes() -> None:
    notes = check_fit(nn.Sequential(nn.Linear(6, 4)), DATA)
    assert notes == ("the model gives 4 classes, blobs has 3: the others are never right",)
