"""What training hands back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mase_hw.training.evaluate import Score


@dataclass(frozen=True)
class Epoch:
    """One epoch: its number from 1, optimizer steps so far, and what was measured. `score` is of the validation split,
    None when that is empty."""

    epoch: int
    step: int
    learning_rate: float
    loss: float
    accuracy: float
    score: Score | None


@dataclass(frozen=True)
class TrainResult:
    """Checkpoints (None when nothing was to be written), and the score of the weights that the model now has."""

    best: Path | None
    last: Path | None
    score: Score
    history: tuple[Epoch, ...]
    notes: tuple[str, ...] = ()


class TrainingInterruptedError(KeyboardInterrupt):
    """Ctrl-C: `epochs` are finished and stored in `last`."""

    def __init__(self, epochs: int, last: Path | None) -> None:
        self.epochs = epochs
        self.last = last
        super().__init__(f"interrupted after {epochs} epochs")
