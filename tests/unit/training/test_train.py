"""The loop: learns, repeats itself to the bit, resumes to the bit, keeps what was good."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from cases import SETTINGS, blobs, net, same_weights

from mase_hw.checkpoints import load_checkpoint
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import ProblemsError
from mase_hw.training import TrainingInterruptedError, evaluate, train
from mase_hw.training.display import Logs
from mase_hw.training.loop import Loop

DATA = blobs()
CKPTS = "training_ckpts"


def test_learns_and_scores_what_it_leaves_behind() -> None:
    model = net()
    before = evaluate(model, DATA.x_val, DATA.y_val)
    result = train(model, DATA, SETTINGS, seed=0, out=None, progress=False)
    assert (result.best, result.last) == (None, None)
    assert result.score == evaluate(model, DATA.x_val, DATA.y_val) == result.history[-1].score
    assert result.score.accuracy > 0.8 > before.accuracy
    assert [epoch.epoch for epoch in result.history] == [1, 2, 3, 4]
    assert [epoch.step for epoch in result.history] == [3, 6, 9, 12]  # the 97th sample, alone, is left out
    assert result.history[-1].loss < result.history[0].loss
    assert not model.training


def test_same_seed_same_weights_whatever_was_drawn_before() -> None:
    models = [net() for _ in range(3)]
    states = []
    for model, seed in zip(models, (5, 5, 6), strict=True):
        torch.rand(7)
        state = torch.get_rng_state()
        train(model, DATA, SETTINGS, seed=seed, out=None, progress=False)
        assert torch.equal(state, torch.get_rng_state()), "the caller's generator was moved"
        states.append(model)
    assert same_weights(states[0], states[1])
    assert not same_weights(states[0], states[2])


@pytest.mark.parametrize("optimizer", ["adam", "sgd", "adamw"])
@pytest.mark.parametrize("stop", [1, 3])
def test_interrupted_and_resumed_is_as_if_never_stopped(
    optimizer: str, stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(SETTINGS, training_optimizer=optimizer, weight_decay=0.01)
    whole = net()
    expected = train(whole, DATA, settings, seed=3, out=tmp_path / "whole", progress=False)

    update, steps = Loop._update, []

    def interrupting(*arguments: object) -> tuple[float, int, int]:
        steps.append(1)
        if len(steps) == 3 * stop + 2:  # in the middle of the epoch after
            raise KeyboardInterrupt
        return update(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "_update", interrupting)
        with pytest.raises(TrainingInterruptedError) as caught:
            train(net(), DATA, settings, seed=3, out=tmp_path / "cut", progress=False)
    last = tmp_path / "cut" / CKPTS / "last.ckpt"
    assert (caught.value.epochs, caught.value.last) == (stop, last)

    resumed = net(seed=9)  # its weights come from the checkpoint
    result = train(resumed, DATA, settings, seed=3, out=tmp_path / "cut", resume=last, progress=False)
    assert same_weights(whole, resumed)
    assert result.history == expected.history
    assert result.notes == ()
    for name in ("best.ckpt", "last.ckpt"):
        one, other = net(seed=7), net(seed=8)
        load_checkpoint(one, tmp_path / "whole" / CKPTS / name)
        load_checkpoint(other, tmp_path / "cut" / CKPTS / name)
        assert same_weights(one, other), name


def test_interrupted_in_the_first_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Loop, "_update", interrupted)
    with pytest.raises(TrainingInterruptedError) as caught:
        train(net(), DATA, SETTINGS, seed=0, out=tmp_path, progress=False)
    assert (caught.value.epochs, caught.value.last) == (0, None)
    assert not (tmp_path / CKPTS).exists()


@pytest.mark.parametrize(("step", "epochs"), [(1, 0), (3, 0), (4, 1)])
def test_ctrl_c_while_logging_waits_for_the_log(step: int, epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt inside TensorBoard's queue left its lock taken, and closing the log waited for it forever."""
    written: list[int] = []

    def interrupted(self: Logs, at: int, **scalars: float) -> None:
        if at == step:
            os.kill(os.getpid(), signal.SIGINT)
        written.append(at)

    monkeypatch.setattr(Logs, "_write", interrupted)
    settings = replace(SETTINGS, log_every_n_steps=1)
    with pytest.raises(TrainingInterruptedError) as caught:
        train(net(), DATA, settings, seed=0, out=None, progress=False)
    assert written[-1] == step
    assert caught.value.epochs == epochs


def test_checkpoints_have_lightnings_shape_and_hold_no_code(tmp_path: Path) -> None:
    model = net()
    result = train(model, DATA, SETTINGS, seed=0, out=tmp_path, progress=False, record={"config": {"model": "x"}})
    assert result.last == tmp_path / CKPTS / "last.ckpt"
    content = torch.load(result.last, weights_only=True)
    assert list(content) == ["state_dict", "epoch", "global_step", "optimizer_states", "lr_schedulers", "mase_hw"]
    assert list(content["state_dict"]) == [f"model.{key}" for key in model.state_dict()]
    assert (content["epoch"], content["global_step"]) == (3, 12)
    own = content["mase_hw"]
    assert own["record"] == {"config": {"model": "x"}, "dataset": "blobs", "statistics": None}
    assert own["settings"]["learning_rate"] == 1e-2
    assert sorted(path.name for path in (tmp_path / CKPTS).iterdir()) == ["best.ckpt", "last.ckpt"]
    fresh = net(seed=5)
    load_checkpoint(fresh, result.last)
    assert same_weights(fresh, model)


def test_best_is_the_epoch_of_the_highest_validation_accuracy(tmp_path: Path) -> None:
    result = train(
        net(), DATA, replace(SETTINGS, learning_rate=0.3, max_epochs=6), seed=1, out=tmp_path, progress=False
    )
    scores = [epoch.score for epoch in result.history]
    assert result.best is not None
    stored = torch.load(result.best, weights_only=True)["epoch"]
    expected = max(range(6), key=lambda k: (scores[k].accuracy, -scores[k].loss))  # type: ignore[union-attr]
    assert stored == expected
    assert stored != 5, "choose a case in which the last epoch is not the best"
    model = net(seed=2)
    load_checkpoint(model, result.best)
    assert evaluate(model, DATA.x_val, DATA.y_val) == scores[expected]


def test_without_a_validation_split_the_training_loss_decides(tmp_path: Path) -> None:
    data = Dataset("blobs", DATA.x_train, DATA.y_train, DATA.x_val[:0], DATA.y_val[:0], DATA.x_test, DATA.y_test)
    model = net()
    result = train(model, data, SETTINGS, seed=0, out=tmp_path, progress=False)
    assert all(epoch.score is None for epoch in result.history)
    assert result.best is not None
    losses = [epoch.loss for epoch in result.history]
    assert torch.load(result.best, weights_only=True)["epoch"] == losses.index(min(losses))
    assert result.score == evaluate(model, data.x_train, data.y_train)


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_good_epoch(tmp_path: Path) -> None:
    model = net()
    train(model, DATA, replace(SETTINGS, max_epochs=2), seed=0, out=tmp_path, progress=False)
    last = tmp_path / CKPTS / "last.ckpt"
    before = last.read_bytes()
    wild = replace(SETTINGS, learning_rate=1e30, training_optimizer="sgd", lr_schedule="none", max_epochs=5)
    with pytest.raises(ProblemsError) as caught:
        train(net(), DATA, replace(wild, training_optimizer="adam"), seed=0, out=tmp_path, resume=last, progress=False)
    (problem,) = caught.value.problems
    assert problem.message.startswith("training stopped: ")
    assert "epoch 3" in problem.message
    assert problem.hint == "lower learning_rate (now 1e+30), or check the data's range"
    assert problem.notes == (f"epoch 2 is kept in {last}",)
    assert last.read_bytes() == before


def test_the_checkpoints_of_an_earlier_run_are_moved_aside(tmp_path: Path) -> None:
    first = train(net(), DATA, SETTINGS, seed=0, out=tmp_path, progress=False)
    assert first.best is not None
    kept = first.best.read_bytes()
    for count in (1, 2):
        result = train(net(), DATA, SETTINGS, seed=count, out=tmp_path, progress=False)
        assert result.notes == (f"the checkpoints of an earlier run were moved to {tmp_path / CKPTS}.{count}",)
    assert (tmp_path / f"{CKPTS}.1" / "best.ckpt").read_bytes() == kept


def test_steps_limit_and_accumulation() -> None:
    result = train(net(), DATA, replace(SETTINGS, max_steps=5), seed=0, out=None, progress=False)
    assert [epoch.step for epoch in result.history] == [3, 5]
    result = train(net(), DATA, replace(SETTINGS, accumulate_grad_batches=2), seed=0, out=None, progress=False)
    assert [epoch.step for epoch in result.history] == [2, 4, 6, 8]


def test_accumulated_batches_are_one_large_batch() -> None:
    """Without batch norm and dropout; the sums differ in their order alone."""
    plain = [torch.nn.Sequential(torch.nn.Linear(6, 3)) for _ in range(2)]
    plain[1].load_state_dict(plain[0].state_dict())
    data = blobs(train=64)
    whole = replace(SETTINGS, batch_size=64, training_optimizer="sgd")
    train(plain[0], data, whole, seed=0, out=None, progress=False)
    halves = replace(whole, batch_size=32, accumulate_grad_batches=2)
    train(plain[1], data, halves, seed=0, out=None, progress=False)
    assert torch.allclose(plain[0][0].weight, plain[1][0].weight, rtol=1e-5)  # type: ignore[arg-type]


def test_cosine_falls_to_zero_and_none_stays() -> None:
    rates = [e.learning_rate for e in train(net(), DATA, SETTINGS, seed=0, out=None, progress=False).history]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[-1] < 0.1 * SETTINGS.learning_rate
    flat = train(net(), DATA, replace(SETTINGS, lr_schedule="none"), seed=0, out=None, progress=False)
    assert {epoch.learning_rate for epoch in flat.history} == {SETTINGS.learning_rate}


def test_resuming_says_what_changed_and_when_nothing_is_left(tmp_path: Path) -> None:
    train(net(), DATA, SETTINGS, seed=0, out=tmp_path, progress=False)
    last = tmp_path / CKPTS / "last.ckpt"
    done = train(net(), DATA, SETTINGS, seed=0, out=tmp_path, resume=last, progress=False)
    assert done.notes == ("4 epochs were done already: nothing to train; raise max_epochs to go on",)
    assert done.best == tmp_path / CKPTS / "best.ckpt"
    more = replace(SETTINGS, max_epochs=5, batch_size=16)
    result = train(net(), DATA, more, seed=0, out=tmp_path, resume=last, progress=False)
    assert result.notes == (
        "resumed with batch_size = 16, it was 32",
        "resumed with max_epochs = 5, it was 4",
    )
    assert len(result.history) == 5


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    missing = tmp_path / "last.ckpt"
    with pytest.raises(ProblemsError, match="does not exist: there is nothing to resume"):
        train(net(), DATA, SETTINGS, seed=0, out=tmp_path, resume=missing, progress=False)
    torch.save({"state_dict": {f"model.{k}": v for k, v in net().state_dict().items()}}, missing)
    with pytest.raises(ProblemsError, match="does not say how to continue its training"):
        train(net(), DATA, SETTINGS, seed=0, out=tmp_path, resume=missing, progress=False)


def test_tensorboard_logs_one_folder_for_each_run(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    for _ in range(2):
        train(net(), DATA, SETTINGS, seed=0, out=tmp_path, progress=False)
    last = tmp_path / CKPTS / "last.ckpt"
    train(net(), DATA, replace(SETTINGS, max_epochs=5), seed=0, out=tmp_path, resume=last, progress=False)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert sorted(path.name for path in (tmp_path / "tensorboard").iterdir()) == ["version_0", "version_1"]
    events = EventAccumulator(str(tmp_path / "tensorboard" / "version_1")).Reload()
    assert [event.step for event in events.Scalars("val_acc_epoch")] == [3, 6, 9, 12, 15]


def test_without_tensorboard_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    result = train(net(), DATA, replace(SETTINGS, max_epochs=1), seed=0, out=tmp_path, progress=False)
    assert result.notes == ("no TensorBoard logs: `pip install 'mase-hw[train]'` to have them",)


def test_lines_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    train(net(), DATA, replace(SETTINGS, max_epochs=2), seed=0, out=None)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("epoch 1/2  loss ")
    assert lines[0].endswith("best so far")
