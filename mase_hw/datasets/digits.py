"""`digits`: the 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn."""

from __future__ import annotations

import numpy as np

from mase_hw.datasets.registry import DataRequest, Dataset, register
from mase_hw.datasets.split import stratified

_LARGEST_PIXEL = 16


@register("digits")
def digits(request: DataRequest) -> Dataset:
    """Pixels in [0, 1]; of each digit 70 % to train, 10 % to validate, 20 % to test, in the order of the source."""
    from sklearn.datasets import load_digits  # slow to import, so only when asked for

    source = load_digits()
    x = (source.data / _LARGEST_PIXEL).astype(np.float32)
    y = source.target.astype(np.int64)
    parts = stratified(y)
    return Dataset("digits", *(array[part] for part in parts for array in (x, y)))
