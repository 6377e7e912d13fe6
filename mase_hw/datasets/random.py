"""`random`: generated samples of any shape for dry runs; by default they look like the jet-substructure task's."""

from __future__ import annotations

import math

import numpy as np

from mase_hw.datasets.registry import DataRequest, Dataset, Samples, register

FEATURES = 16
CLASSES = 5
_SIZES = (3500, 500, 1000)  # to train, to validate, to test
_DISTANCE = (
    4.0  # between the means of two classes, in standard deviations of the noise: a good fit errs on a few percent
)
_LEAST = 0.5  # of a mean's own spread: what a convolution sees of many weak pixels would drown in the noise
_CELLS = 4  # a mean is constant over a quarter of each axis of an image, so that pooling keeps it


@register("random")
def random(request: DataRequest) -> Dataset:
    """Normal noise around a mean of each class's own, in equal shares: a net of any kind can learn it."""
    shape = request.shape or (FEATURES,)
    classes = request.classes or CLASSES
    draw = np.random.default_rng(request.seed)
    means = _means(draw, shape, classes)
    splits = []
    for size in _SIZES:
        y = draw.permutation(np.arange(size, dtype=np.int64) % classes)
        x = draw.standard_normal(size=(size, *shape), dtype=np.float32)
        x += means[y]
        splits.append((x, y))
    (x_train, y_train), (x_val, y_val), (x_test, y_test) = splits
    return Dataset("random", x_train, y_train, x_val, y_val, x_test, y_test)


def _means(draw: np.random.Generator, shape: tuple[int, ...], classes: int) -> Samples:
    spread = max(_DISTANCE / math.sqrt(2 * math.prod(shape)), _LEAST)
    # The first axis of an image is its channels; a vector has only features. Neither is coarsened.
    coarse = (shape[0], *(min(size, _CELLS) for size in shape[1:]))
    means = draw.normal(scale=spread, size=(classes, *coarse)).astype(np.float32)
    for axis, size in enumerate(shape[1:], start=2):
        means = means.take(np.arange(size) * means.shape[axis] // size, axis=axis)
    return means
