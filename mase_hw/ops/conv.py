"""conv1d, conv2d: a linear layer over each window of a frame. Their declarations."""

from __future__ import annotations

from typing import ClassVar

from mase_hw.geometry import Geometry
from mase_hw.ir import Component, full_range
from mase_hw.ops.convolution import Convolution
from mase_hw.ops.examples import IN, READER
from mase_hw.ops.pages import Built, Page
from mase_hw.ops.window import window


class Conv2dOperator(Convolution):
    """A constant matrix times each window."""

    name = "conv2d"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.Conv2d",)
    functions: ClassVar[tuple[str, ...]] = ("torch.nn.functional.conv2d",)
    signature = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
    quantized = "mase_hw.modules.conv:Conv2dInteger"

    def page(self) -> Page:
        rank = "12"["2d" in self.name]
        return Page(
            self.name,
            f"nn.Conv{rank}d, F.conv{rank}d: stride, zero padding, dilation, groups",
            ("y_j = requantize(sum over taps t and channels i of x_ti * w_jti + b_j), for each window",),
            ("data_in, weight, bias as of linear; a padded position is the integer 0", READER),
            (
                Built(
                    "window",
                    "a line buffer, read tap by tap; behind it a matrix, unrolled, serial or folded, as of linear",
                    "of a window: taps * channels / lanes, or what the matrix takes",
                    "until the last tap of the first window is there, and 1",
                    _example,
                ),
            ),
        )


def _example() -> Component:
    x = full_range("data_in_0", 2, 2, IN, (4, 4))
    return window("window", x, Geometry.of((4, 4), (3, 3), None, ((1, 1), (1, 1))))


class Conv1dOperator(Conv2dOperator):
    """The same on a sequence."""

    name = "conv1d"
    modules = ("torch.nn.Conv1d",)
    functions = ("torch.nn.functional.conv1d",)
    quantized = "mase_hw.modules.conv:Conv1dInteger"
