"""Windows on frames, against torch's own unfold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from mase_hw.geometry import Geometry, windows

CASES = [
    Geometry.of((5, 7), (3, 3)),
    Geometry.of((5, 7), (3, 2), (2, 3), ((1, 0), (0, 2))),
    Geometry.of((6, 6), (3, 3), (1, 1), ((2, 2), (2, 2)), (2, 2)),
    Geometry.of((4, 4), (4, 4)),
    Geometry.of((3, 9), (1, 5), (1, 2), ((0, 0), (3, 1)), (1, 2)),
    Geometry.of((2, 2), (1, 1), (1, 1), ((1, 1), (1, 1))),
]


@pytest.mark.parametrize("geometry", CASES, ids=str)
def test_windows_are_those_of_torch(geometry: Geometry) -> None:
    rng = np.random.default_rng(0)
    height, width = geometry.frame
    x = rng.integers(-9, 9, (2, 3, height, width))
    (top, bottom), (left, right) = geometry.padding
    padded = F.pad(torch.tensor(x, dtype=torch.float64), (left, right, top, bottom))
    unfolded = F.unfold(padded, geometry.kernel, geometry.dilation, 0, geometry.stride)  # [2, 3 * taps, windows]
    assert unfolded.shape[2] == np.prod(geometry.out_frame)
    wanted = unfolded.reshape(2, 3, geometry.taps, -1).permute(0, 3, 2, 1).reshape(-1, geometry.taps * 3)
    rows = x.transpose(0, 2, 3, 1).reshape(-1, 3)
    assert np.array_equal(windows(rows, geometry), wanted.numpy().astype(np.int64))


def test_a_sequence_is_an_image_of_one_row() -> None:
    line = Geometry.of((9,), (3,), (2,), ((1, 1),), (2,))
    assert line.out_frame == (4,)
    assert line.plane == Geometry.of((1, 9), (1, 3), (1, 2), ((0, 0), (1, 1)), (1, 2))
    x = np.arange(1, 10)[:, None]
    assert windows(x, line).tolist() == [[0, 2, 4], [2, 4, 6], [4, 6, 8], [6, 8, 0]]


def test_padded_taps_and_special_windows() -> None:
    assert Geometry.of((3, 3), (3, 3), None, ((1, 0), (0, 0))).padded_taps == (True,) * 3 + (False,) * 6
    assert Geometry.of((3, 3), (1, 1)).is_pointwise
    assert not Geometry.of((3, 3), (1, 1), (2, 2)).is_pointwise
    assert Geometry.of((3, 3), (3, 3)).is_global
    assert Geometry.of((3, 3), (5, 5)).out_frame == (-1, -1)
