"""Weights into a model: from a checkpoint, or random ones when there is none."""

from mase_hw.checkpoints.load import load_checkpoint
from mase_hw.checkpoints.random import random_parameters

__all__ = ["load_checkpoint", "random_parameters"]
