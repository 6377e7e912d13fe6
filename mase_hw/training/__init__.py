"""Training and scoring: a plain torch loop, deterministic, resumable, through quantizers where the TOML asks."""

from mase_hw.training.device import choose_device
from mase_hw.training.evaluate import Score, evaluate
from mase_hw.training.result import Epoch, TrainingInterruptedError, TrainResult
from mase_hw.training.train import train

__all__ = ["Epoch", "Score", "TrainResult", "TrainingInterruptedError", "choose_device", "evaluate", "train"]
