"""Who goes to which split, and the statistics of the training one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mase_hw.datasets.registry import Labels, Statistics

_SEED = 2024  # its own: the same split whatever the configuration's seed, so that accuracies compare


def stratified(y: Labels, val: int = 10, test: int = 20) -> list[npt.NDArray[np.int64]]:
    """The indices to train, to validate and to test with: of each class the same shares (in percent), in order."""
    draw = np.random.RandomState(_SEED)  # numpy promises never to change this generator's stream
    parts: list[list[npt.NDArray[np.int64]]] = [[], [], []]
    for label in range(int(y.max(initial=-1)) + 1):
        members = draw.permutation(np.flatnonzero(y == label))
        to_test, to_val = len(members) * test // 100, len(members) * val // 100
        parts[2].append(members[:to_test])
        parts[1].append(members[to_test : to_test + to_val])
        parts[0].append(members[to_test + to_val :])
    return [np.sort(np.concatenate([np.zeros(0, np.int64), *part])) for part in parts]


def statistics_of(x_train: npt.NDArray[np.floating]) -> Statistics:
    """Of each feature, in double precision. A feature that never changes keeps its scale, and becomes 0."""
    wide = x_train.astype(np.float64)
    return rounded(wide.mean(axis=0), wide.std(axis=0))


def rounded(mean: npt.NDArray[np.float64], std: npt.NDArray[np.float64]) -> Statistics:
    """In single precision, as they are applied and stored: whoever reads them gets the same samples."""
    still = std <= 1e-12 * np.maximum(1.0, np.abs(mean))  # what is left of a constant after rounding
    return Statistics(mean.astype(np.float32), np.where(still, 1.0, std).astype(np.float32))
