"""Images of bytes to samples: scaled to [0, 1], then normalised per channel with the training split's statistics."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from mase_hw.datasets.files import FileReader
from mase_hw.datasets.registry import DataRequest, Dataset, Labels, Samples, Statistics
from mase_hw.datasets.split import rounded, stratified

Bytes = npt.NDArray[np.uint8]

CLASSES = 10
_VALUES = np.arange(256) / 255  # what a byte stands for


def image_dataset(
    request: DataRequest, train: tuple[Bytes, Bytes | Labels], test: tuple[Bytes, Bytes | Labels]
) -> Dataset:
    """From the publisher's training and test images (count, channels, rows, columns); a tenth validates."""
    x, y = train[0], train[1].astype(np.int64)
    to_train, to_val, _ = stratified(y, val=10, test=0)
    statistics = _statistics(x[to_train])
    table = statistics.apply(_VALUES.reshape(-1, 1, 1, 1))[:, :, 0, 0]  # a byte has 256 values: each is computed once
    shape = x.shape[1:]
    if request.shape is not None and math.prod(request.shape) == math.prod(shape):
        shape = request.shape
        spread = (np.broadcast_to(value, x.shape[1:]).reshape(shape) for value in (statistics.mean, statistics.std))
        statistics = Statistics(*spread)
    parts = [
        (_samples(images, table).reshape(-1, *shape), labels.astype(np.int64))
        for images, labels in ((x[to_train], y[to_train]), (x[to_val], y[to_val]), test)
    ]
    (x_train, y_train), (x_val, y_val), (x_test, y_test) = parts
    return Dataset(request.name, x_train, y_train, x_val, y_val, x_test, y_test, statistics)


def check_labels(reader: FileReader, labels: npt.NDArray[np.integer]) -> None:
    wrong = np.flatnonzero((labels < 0) | (labels >= CLASSES))
    if len(wrong):
        text = f"{reader.path.name}: label {labels[wrong[0]]} of image {wrong[0]} is not one of 0 to {CLASSES - 1}"
        raise reader.refuse(text, "fetch the file again")


def _statistics(images: Bytes) -> Statistics:
    """Per channel, exact but for the last rounding: a byte's values are counted, not added one by one."""
    counts = np.stack([np.bincount(images[:, c].ravel(), minlength=256) for c in range(images.shape[1])])
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean = shares @ _VALUES
    std = np.sqrt((shares * (_VALUES - mean[:, None]) ** 2).sum(axis=1))
    return rounded(mean.reshape(-1, 1, 1), std.reshape(-1, 1, 1))


def _samples(images: Bytes, table: Samples) -> Samples:
    out = np.empty(images.shape, np.float32)
    for channel in range(images.shape[1]):
        out[:, channel] = table[:, channel][images[:, channel]]
    return out
