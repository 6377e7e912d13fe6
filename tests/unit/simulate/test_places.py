"""What a failure calls an element of a stream."""

from __future__ import annotations

import numpy as np
import pytest
from support import by_type, randomized, spec
from torch import nn

from mase_hw.flow import compile_model
from mase_hw.numerics import Fixed
from mase_hw.simulate.places import axes, place
from sim.job import Stream

PIXEL = ("row", "column", "channel")


@pytest.mark.parametrize(
    ("vector", "element", "frame", "names", "said"),
    [
        (7, 2, (), (), "vector 7 element 2"),
        (7, 2, (5,), ("position", "channel"), "sample 1 position 2 channel 2"),
        (0, 0, (4, 6), PIXEL, "sample 0 row 0 column 0 channel 0"),
        (24 + 13, 3, (4, 6), PIXEL, "sample 1 row 2 column 1 channel 3"),
        (2 * 24 - 1, 3, (2, 3, 4), ("row", "column", "group", "element"), "sample 1 row 1 column 2 group 3 element 3"),
    ],
)
def test_both_sides_say_the_same(
    vector: int, element: int, frame: tuple[int, ...], names: tuple[str, ...], said: str
) -> None:
    assert place(vector, element, frame, names) == said
    values = np.zeros((1, 4), np.int64)
    stream = Stream("y", "s_y", "y", "output", 1, 8, True, 0, list(frame), list(names), values, None)
    assert stream.place(vector, element) == said


def test_names_of_the_axes() -> None:
    byte = Fixed(8, 4)
    entry = spec(data_in=byte, weight=byte, bias=byte)
    net = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(6, 2))
    design = compile_model(randomized(net, 0), (2, 3, 4), by_type(conv2d=entry, linear=entry)).design
    found = {stream.name: axes(design, stream) for stream in design.streams}
    assert found["data_in_0"] == PIXEL
    assert found["_0_window_out"] == ("row", "column", "element")
    assert found["data_out_0"] == ()
    assert PIXEL in [names for name, names in found.items() if name.startswith("_0") and "window" not in name]
