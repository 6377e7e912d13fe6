"""How windows lie on a frame: kernel, stride, dilation and zero padding, in one or two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from mase_hw.numerics.rounding import Integers

Frame = tuple[int, ...]  # positions of a sample: () one vector, (L,) a sequence, (H, W) an image
Pads = tuple[tuple[int, int], ...]  # for each dimension: positions of zeros before and after


@dataclass(frozen=True)
class Geometry:
    """Windows of `kernel` taps on a frame, `stride` positions apart. A padded position holds zeros."""

    frame: Frame
    kernel: Frame
    stride: Frame
    padding: Pads
    dilation: Frame

    @staticmethod
    def of(
        frame: Sequence[int],
        kernel: Sequence[int],
        stride: Sequence[int] | None = None,
        padding: Sequence[Sequence[int]] | None = None,
        dilation: Sequence[int] | None = None,
    ) -> Geometry:
        """What is left out is the usual: stride and dilation 1, no padding."""
        ones = (1,) * len(frame)
        pads: Pads = ((0, 0),) * len(frame)
        if padding is not None:
            pads = tuple((before, after) for before, after in padding)
        return Geometry(tuple(frame), tuple(kernel), tuple(stride or ones), pads, tuple(dilation or ones))

    @property
    def reach(self) -> Frame:
        """Positions from the first to the last tap of a window, in each dimension."""
        return tuple(dilation * (taps - 1) + 1 for taps, dilation in zip(self.kernel, self.dilation, strict=True))

    @property
    def out_frame(self) -> Frame:
        """One position for each window: torch's rule. A number below 1 means that no window fits."""
        sizes = zip(self.frame, self.padding, self.reach, self.stride, strict=True)
        return tuple((size + sum(pads) - reach) // stride + 1 for size, pads, reach, stride in sizes)

    @property
    def taps(self) -> int:
        return prod(self.kernel)

    @property
    def is_pointwise(self) -> bool:
        """Every window is the position that it stands at: no window is needed."""
        return self.taps == 1 and set(self.stride) == {1} and not any(map(any, self.padding))

    @property
    def begins_outside(self) -> bool:
        """The first windows of a row or a column are padding alone."""
        return any(before >= reach for (before, _), reach in zip(self.padding, self.reach, strict=True))

    @property
    def is_global(self) -> bool:
        """One window, and it is the whole frame."""
        return self.kernel == self.frame and not any(map(any, self.padding)) and set(self.dilation) == {1}

    @cached_property
    def plane(self) -> Geometry:
        """The same in two dimensions: a sequence is an image of one row."""
        if len(self.frame) == 2:
            return self
        ends = (self.frame, self.kernel, self.stride, self.dilation)
        frame, kernel, stride, dilation = ((1, *values) for values in ends)
        return Geometry(frame, kernel, stride, ((0, 0), *self.padding), dilation)

    @cached_property
    def sources(self) -> Integers:
        """[windows, taps]: the position of the frame under each tap, -1 where it is padding; rows first."""
        plane = self.plane
        inside: list[Integers] = []
        places: list[Integers] = []
        sides = zip(
            plane.frame, plane.out_frame, plane.kernel, plane.stride, plane.dilation, plane.padding, strict=True
        )
        for size, outs, taps, stride, dilation, (before, _) in sides:
            at = np.arange(outs)[:, None] * stride + np.arange(taps) * dilation - before
            places.append(at)
            inside.append((at >= 0) & (at < size))
        rows, columns = (places[0][:, None, :, None], places[1][None, :, None, :])
        within = inside[0][:, None, :, None] & inside[1][None, :, None, :]
        found = np.where(within, rows * plane.frame[1] + columns, -1)
        return np.ascontiguousarray(found.reshape(prod(plane.out_frame), plane.taps))

    @cached_property
    def padded_taps(self) -> tuple[bool, ...]:
        """For each tap, whether it lies on padding at some window."""
        return tuple(bool(np.any(column < 0)) for column in self.sources.T)


def windows(x: Integers, geometry: Geometry) -> Integers:
    """[samples * positions, features] to [samples * windows, taps * features], tap by tap, features fastest."""
    positions, features = prod(geometry.frame), x.shape[1]
    rows = x.reshape(-1, positions, features)
    padded = np.concatenate([rows, np.zeros_like(rows[:, :1])], axis=1)  # position -1 holds zeros
    taken = padded[:, geometry.sources]
    return np.ascontiguousarray(taken.reshape(-1, geometry.taps * features))
