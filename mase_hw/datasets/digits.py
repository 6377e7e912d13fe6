"""`digits`: the 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn."""

from __future__ import annotations

import numpy as np

from mase_hw.datasets.registry import Dataset, register

_SPLIT_SEED = 2024  # its own: the same split whatever the configuration's seed, so that accuracies compare
_LARGEST_PIXEL = 16


@register("digits")
def digits(seed: int) -> Dataset:
    """Pixels in [0, 1]; of each digit 70 % to train, 10 % to validate, 20 % to test, in the order of the source."""
    from sklearn.datasets import load_digits  # slow to import, so only when asked for

    source = load_digits()
    x = (source.data / _LARGEST_PIXEL).astype(np.float32)
    y = source.target.astype(np.int64)
    parts = _split(y)
    return Dataset("digits", *(array[part] for part in parts for array in (x, y)))


def _split(y: np.ndarray) -> list[np.ndarray]:
    draw = np.random.RandomState(_SPLIT_SEED)  # numpy promises never to change this generator's stream
    parts: list[list[int]] = [[], [], []]
    for label in range(10):
        members = draw.permutation(np.flatnonzero(y == label)).tolist()
        test, val = len(members) * 2 // 10, len(members) // 10
        parts[2] += members[:test]
        parts[1] += members[test : test + val]
        parts[0] += members[test + val :]
    return [np.array(sorted(part)) for part in parts]
