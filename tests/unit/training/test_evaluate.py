"""Scores: against a computation by hand, modes restored, mistakes told; and the choice of a device."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from cases import blobs, net
from torch import nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.training import Score, choose_device, evaluate


def test_loss_and_accuracy_over_uneven_batches() -> None:
    model, data = net().eval(), blobs()
    with torch.no_grad():
        logits = model(torch.from_numpy(data.x_test))
    labels = torch.from_numpy(data.y_test)
    score = evaluate(model, data.x_test, data.y_test, batch_size=7)
    assert score.samples == 60
    assert score.accuracy == int((logits.argmax(1) == labels).sum()) / 60
    assert score.loss == pytest.approx(float(nn.functional.cross_entropy(logits, labels)), rel=1e-5)


def test_num_samples_takes_the_first() -> None:
    model, data = net(), blobs()
    assert evaluate(model, data.x_test, data.y_test, num_samples=10) == evaluate(
        model, data.x_test[:10], data.y_test[:10]
    )
    assert evaluate(model, data.x_test, data.y_test, num_samples=1000).samples == 60


def test_eval_mode_within_and_every_mode_restored() -> None:
    model, data = net().train(), blobs()
    model.drop.eval()  # type: ignore[union-attr]
    before = {name: module.training for name, module in model.named_modules()}
    mean = model.bn.running_mean.clone()  # type: ignore[union-attr,operator]
    evaluate(model, data.x_test, data.y_test)
    assert {name: module.training for name, module in model.named_modules()} == before
    assert torch.equal(model.bn.running_mean, mean)  # type: ignore[union-attr,arg-type]


def test_what_cannot_be_scored() -> None:
    model, data = net(), blobs()
    with pytest.raises(ProblemsError, match="there are no samples to evaluate on"):
        evaluate(model, data.x_test[:0], data.y_test[:0])
    with pytest.raises(ProblemsError, match="the model gives 3 classes, and the data has the label 5"):
        evaluate(model, data.x_test, data.y_test + 3)
    with pytest.raises(ProblemsError, match=r"the model gives shape \(360,\) for 60 samples"):
        evaluate(nn.Flatten(0), data.x_test, data.y_test)


def test_better() -> None:
    good, worse = Score(0.5, 0.9, 10), Score(0.4, 0.8, 10)
    assert good.better_than(None)
    assert good.better_than(worse)
    assert not worse.better_than(good)
    assert Score(0.4, 0.9, 10).better_than(good)
    assert not good.better_than(good)


@pytest.mark.parametrize("accelerator", ["gpu", "cuda"])
def test_no_gpu_falls_back_with_a_note(accelerator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    device, note = choose_device(accelerator)
    assert device == torch.device("cpu")
    assert note == f'accelerator = "{accelerator}": no such device here, the CPU is used'
    assert choose_device("auto") == choose_device("cpu") == (torch.device("cpu"), None)


def test_a_gpu_is_taken_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == choose_device("gpu") == (torch.device("cuda"), None)
    assert choose_device("cpu") == (torch.device("cpu"), None)


def test_arrays_are_not_changed() -> None:
    data = blobs()
    before = data.x_test.copy()
    evaluate(net(), data.x_test, data.y_test)
    assert np.array_equal(before, data.x_test)
