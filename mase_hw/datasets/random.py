"""`random`: generated samples for dry runs, shaped like the jet-substructure task."""

from __future__ import annotations

import numpy as np

from mase_hw.datasets.registry import Dataset, register

FEATURES = 16
CLASSES = 5
_SIZES = {"train": 3500, "val": 500, "test": 1000}


@register("random")
def random(seed: int) -> Dataset:
    """Normally distributed features; the label is the largest of five noisy random projections, so it can be learnt."""
    draw = np.random.default_rng(seed)
    projection = draw.normal(size=(FEATURES, CLASSES))
    splits = []
    for size in _SIZES.values():
        x = draw.normal(size=(size, FEATURES)).astype(np.float32)
        y = np.argmax(x @ projection + draw.normal(size=(size, CLASSES)), axis=1).astype(np.int64)
        splits += [x, y]
    return Dataset("random", *splits)
