"""The samples of a build: stored in as few bytes as they need, read as int64 whatever they are stored in."""

from __future__ import annotations

import numpy as np
import pytest

from mase_hw.emit import Samples

ENDS = [
    (0, 255, np.uint8),
    (0, 256, np.uint16),
    (-1, 127, np.int8),
    (-1, 128, np.int16),
    (-129, 0, np.int16),
    (-(2**31), 2**31 - 1, np.int32),
    (-(2**40), 1, np.int64),
]


def _samples(lo: int, hi: int) -> Samples:
    x = np.array([[lo, hi], [hi, lo]])
    labels = np.array([0, 1])
    return Samples((x,), (x[:, :1],), labels, labels[::-1])


@pytest.mark.parametrize(("lo", "hi", "kind"), ENDS)
def test_stored_in_the_narrowest_type_and_read_as_they_were(lo: int, hi: int, kind: type) -> None:
    samples = _samples(lo, hi)
    stored = samples.arrays()
    assert stored["x"].dtype == kind
    assert stored["labels"].dtype == np.uint8
    again = Samples.of(stored, 1, 1)
    for one, other in zip(
        (*samples.inputs, *samples.outputs, samples.labels, samples.float_labels),
        (*again.inputs, *again.outputs, again.labels, again.float_labels),
        strict=True,
    ):
        assert other.dtype == np.int64
        assert np.array_equal(one, other)


def test_samples_of_a_build_that_has_int64_are_read() -> None:
    samples = _samples(-3, 200)
    wide = {name: rows.astype(np.int64) for name, rows in samples.arrays().items()}
    assert np.array_equal(Samples.of(wide, 1, 1).x, samples.x)


def test_floats_are_not_made_integers() -> None:
    stored = _samples(0, 3).arrays() | {"x": np.array([[0.5, 1.0], [1.0, 0.5]])}
    assert Samples.of(stored, 1, 1).x.dtype == np.float64  # refused where the build is checked
