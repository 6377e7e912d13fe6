"""What torch's convolutions and pools say of their windows, and the geometry that they have on a frame of some size."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from mase_hw.geometry import Frame, Geometry, Pads
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class WindowOptions:
    """Options as torch takes them, one number for each dimension. The rules are torch's."""

    kernel: Frame
    stride: Frame
    padding: Pads
    dilation: Frame
    ceil_mode: bool = False  # of a pool: the last window may reach over the end of the padding
    count_include_pad: bool = True  # of an average: padded positions count
    divisor_override: int | None = None  # of an average

    @staticmethod
    def whole(frame: Frame) -> WindowOptions:
        """One window over everything."""
        ones = (1,) * len(frame)
        return WindowOptions(frame, ones, ((0, 0),) * len(frame), ones)

    def geometry(self, frame: Frame) -> Geometry:
        """The windows on a frame. What `ceil_mode` adds at the end is padding after it."""
        plain = Geometry.of(frame, self.kernel, self.stride, self.padding, self.dilation)
        if not self.ceil_mode:
            return plain
        pads = []
        for size, (before, after), reach, stride in zip(frame, self.padding, plain.reach, self.stride, strict=True):
            outs = -(-(size + before + after - reach) // stride) + 1
            if (outs - 1) * stride >= size + before:
                outs -= 1  # a window starts inside the frame, or in the padding before it
            pads.append((before, max(after, (outs - 1) * stride + reach - size - before)))
        return Geometry.of(frame, self.kernel, self.stride, pads, self.dilation)

    def divisors(self, frame: Frame) -> Integers:
        """What each window's sum is divided by, in the order of the windows.

        Padding counts unless `count_include_pad` is off; what `ceil_mode` adds behind the padding never does.
        """
        geometry = self.geometry(frame)
        if self.divisor_override is not None:
            return np.full(prod(geometry.out_frame), self.divisor_override, np.int64)
        counts = np.ones(1, np.int64)
        sides = zip(frame, geometry.out_frame, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        for size, outs, taps, stride, (before, after), dilation in sides:
            at = np.arange(outs)[:, None] * stride + np.arange(taps) * dilation - before
            lo, hi = (-before, size + after) if self.count_include_pad else (0, size)
            counts = np.outer(counts, ((at >= lo) & (at < hi)).sum(1)).ravel()
        return counts
