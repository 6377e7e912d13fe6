"""The checkpoints of one run: last.ckpt after each epoch, best.ckpt when it is better; former ones are kept aside."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mase_hw.config import TrainingConfig
from mase_hw.training.checkpoint import Progress, save_checkpoint
from mase_hw.training.randomness import random_state
from mase_hw.training.result import Epoch

FOLDER = "training_ckpts"


class Store:
    """Knows which epoch was the best, writes when there is a folder to write to."""

    def __init__(
        self,
        out: Path | None,
        model: nn.Module,
        settings: TrainingConfig,
        seed: int,
        record: dict[str, Any],
        before: Progress | None,
        resumed: Path | None,
    ) -> None:
        self.folder = None if out is None else out / FOLDER
        self.before = before
        self.notes: list[str] = []
        self.epochs = before.epochs if before else 0
        self.best_epoch = before.best if before else None
        self._model, self._settings, self._seed, self._record = model, settings, seed, record
        self._fresh = resumed is None or self.folder is None or resumed.parent.resolve() != self.folder.resolve()
        self._source = None if resumed is None else resumed.parent / "best.ckpt"
        self.best: Path | None = None if self._fresh else self._present("best.ckpt")
        self.last: Path | None = None if self._fresh else self._present("last.ckpt")

    def save(self, done: Epoch, history: list[Epoch], optimizer: torch.optim.Optimizer, device: torch.device) -> bool:
        """Stores the run after an epoch; whether it is the best so far."""
        better = _better(done, self.best_epoch)
        self.best_epoch = done if better else self.best_epoch
        if self.folder is not None:
            self._make_room()
            progress = Progress(
                epochs=done.epoch,
                step=done.step,
                best=self.best_epoch,
                history=tuple(history),
                optimizer=optimizer.state_dict(),
                random=random_state(device),
                settings=asdict(self._settings),
                seed=self._seed,
                record=self._record,
            )
            if better:  # first: a last.ckpt that knows of a better epoch must find its file
                save_checkpoint(self.folder / "best.ckpt", self._model, progress)
                self.best = self.folder / "best.ckpt"
            save_checkpoint(self.folder / "last.ckpt", self._model, progress)
            self.last = self.folder / "last.ckpt"
        self.epochs = done.epoch
        return better

    def _make_room(self) -> None:
        """Before a new run's first checkpoint: another run's are renamed, and a resumed run brings its best along."""
        assert self.folder is not None
        if not self._fresh:
            return
        self._fresh = False
        source = self._source
        if self.folder.exists():
            count = 1
            while (aside := self.folder.with_name(f"{FOLDER}.{count}")).exists():
                count += 1
            if source is not None and source.parent.resolve() == self.folder.resolve():
                source = aside / source.name
            self.folder.rename(aside)
            self.notes.append(f"the checkpoints of an earlier run were moved to {aside}")
        self.folder.mkdir(parents=True)
        if source is not None and source.exists():
            shutil.copy2(source, self.folder / "best.ckpt")
            self.best = self.folder / "best.ckpt"

    def _present(self, name: str) -> Path | None:
        assert self.folder is not None
        path = self.folder / name
        return path if path.exists() else None


def _better(done: Epoch, best: Epoch | None) -> bool:
    if best is None:
        return True
    if done.score is None or best.score is None:
        return done.loss < best.loss
    return done.score.better_than(best.score)
