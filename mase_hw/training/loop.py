"""One epoch after the other: batches in a random order, gradients, steps, validation, a checkpoint."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config import TrainingConfig
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.interrupts import uninterrupted
from mase_hw.training.display import Display, Logs
from mase_hw.training.evaluate import check_logits, evaluate
from mase_hw.training.randomness import restore_random_state
from mase_hw.training.result import Epoch
from mase_hw.training.schedule import make_optimizer, rate_at, set_rate
from mase_hw.training.store import Store


class Loop:
    """The state of a run: weights, optimizer, epochs and steps so far. `model` holds the parameters of `network`."""

    def __init__(
        self,
        model: nn.Module,
        network: nn.Module,
        dataset: Dataset,
        settings: TrainingConfig,
        device: torch.device,
        store: Store,
    ) -> None:
        self._model, self._network, self._settings = model, network, settings
        self._dataset, self._device, self._store = dataset, device, store
        self._x, self._y = torch.from_numpy(dataset.x_train), torch.from_numpy(dataset.y_train)
        self.optimizer = make_optimizer(model, settings)
        before = store.before
        self.epochs = before.epochs if before else 0
        self.step = before.step if before else 0
        self.history = list(before.history) if before else []
        if before is not None:
            self._continue(before.optimizer)
            restore_random_state(before.random, device)
        self.batches = len(self._order(torch.arange(len(self._x))))
        steps = -(-self.batches // settings.accumulate_grad_batches) * settings.max_epochs
        self._total = min(steps, settings.max_steps) if settings.max_steps > 0 else steps

    @property
    def done(self) -> bool:
        return self.epochs >= self._settings.max_epochs or self.step >= self._total

    def epoch(self, display: Display, logs: Logs) -> None:
        """Trains one epoch, scores it, stores it and tells of it."""
        number = self.epochs + 1
        with uninterrupted():
            display.begin(number)
        self._network.train()
        batches = self._order(torch.randperm(len(self._x)))
        every = self._settings.accumulate_grad_batches
        loss, right, seen, rate = 0.0, 0, 0, 0.0
        for start in range(0, len(batches), every):
            if self.step >= self._total:
                break
            rate = rate_at(self.step, self._total, self._settings)
            group = batches[start : start + every]
            step_loss, step_right, step_seen = self._update(group, rate, number)
            loss, right, seen = loss + step_loss, right + step_right, seen + step_seen
            with uninterrupted():  # both have threads that would wait forever for a lock we were torn away from
                display.batches(number, len(group), loss / seen, right / seen)
                if self.step % self._settings.log_every_n_steps == 0:
                    logs.step(self.step, step_loss / step_seen, step_right / step_seen, rate)
        self._check_weights(number)
        score = None
        if len(self._dataset.x_val):
            score = evaluate(self._network, self._dataset.x_val, self._dataset.y_val)
            self._check(score.loss, number, "on the validation split")
        done = Epoch(number, self.step, rate, loss / seen, right / seen, score)
        with uninterrupted():
            self.history.append(done)
            better = self._store.save(done, self.history, self.optimizer, self._device)
            self.epochs = number
            display.end(done, better)
            logs.epoch(done)

    def _update(self, group: list[Tensor], rate: float, epoch: int) -> tuple[float, int, int]:
        """One optimizer step on some batches: the sum of the losses, how many labels were right, of how many."""
        set_rate(self.optimizer, rate)
        self.optimizer.zero_grad(set_to_none=True)
        count = sum(len(batch) for batch in group)
        total, right = 0.0, 0
        for batch in group:
            labels = self._y[batch].to(self._device)
            logits = check_logits(self._network(self._x[batch].to(self._device)), labels)
            loss = F.cross_entropy(logits, labels, reduction="sum")
            value = float(loss.detach())
            self._check(value, epoch, f"at step {self.step + 1}")
            (loss / count).backward()  # type: ignore[no-untyped-call]
            total += value
            right += int((logits.argmax(1) == labels).sum())
        self.optimizer.step()
        self.step += 1
        return total, right, count

    def _order(self, samples: Tensor) -> list[Tensor]:
        """Batches; a single sample left over is dropped, for a batch norm cannot take it."""
        batches = list(torch.split(samples, self._settings.batch_size))
        return batches[:-1] if len(batches) > 1 and len(batches[-1]) == 1 else batches

    def _continue(self, state: dict[str, object]) -> None:
        try:
            self.optimizer.load_state_dict(state)
        except (ValueError, KeyError) as error:
            text = f"the checkpoint's optimizer state does not fit: {error}"
            hint = "resume with the optimizer and the model that it was trained with, or start anew with --load"
            raise ProblemsError(Problem(text, hint=hint)) from None

    def _check_weights(self, epoch: int) -> None:
        for name, tensor in self._model.state_dict().items():
            if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
                raise self._stopped(f"{name} is no longer finite after epoch {epoch}, step {self.step}")

    def _check(self, loss: float, epoch: int, when: str) -> None:
        if not math.isfinite(loss):
            raise self._stopped(f"the loss is {loss} in epoch {epoch}, {when}")

    def _stopped(self, what: str) -> ProblemsError:
        last = self._store.last
        kept = f"epoch {self._store.epochs} is kept in {last}" if last else "no epoch was finished: nothing was written"
        hint = f"lower learning_rate (now {self._settings.learning_rate:g}), or check the data's range"
        return ProblemsError(Problem(f"training stopped: {what}", hint=hint, notes=(kept,)))
