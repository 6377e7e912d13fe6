"""Codes: how the real numbers of an input become integers by a scale that need not be a power of two.

`n = clamp(round(x / scale + shift) + zero_point)`, exactly: the quotient is a rational, and is rounded once. Float64
inputs are compared with the least float64 that reaches each integer, so no float is divided.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.numerics.crossing import Mode, crossing
from mase_hw.numerics.rounding import Integers

Ratio = tuple[int, int]  # of a Fraction, for JSON


@dataclass(frozen=True)
class Codes:
    """The integers `lo..hi` of an input port, and the numbers that become them."""

    scale: Fraction
    shift: Fraction  # added before rounding
    zero_point: int  # added behind it
    lo: int
    hi: int
    mode: Mode = Mode.HALF_EVEN

    @cached_property
    def limits(self) -> npt.NDArray[np.float64]:
        """The least float64 that becomes each of `lo + 1 .. hi`."""
        found = []
        for n in range(self.lo + 1, self.hi + 1):
            at, reached = crossing(n - self.zero_point, self.mode)
            found.append(least_float((at - self.shift) * self.scale, reached=reached))
        return np.array(found, np.float64)

    def integers(self, x: npt.ArrayLike) -> Integers:
        """The integers that real numbers become; NaN is the caller's to refuse."""
        return self.lo + np.searchsorted(self.limits, np.asarray(x, np.float64), side="right").astype(np.int64)

    def steps(self, x: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Real numbers in units of the integers, not rounded: to show how far these are from them."""
        values = self.values
        return np.asarray((np.asarray(x, np.float64) - values.offset[0]) / values.scale[0], np.float64)

    @property
    def values(self) -> Affine:
        """The numbers that the integers stand for."""
        scale, zero = self.scale, self.zero_point + self.shift
        if self.mode is Mode.SIGN:  # 0 and 1 are -scale and +scale
            scale, zero = 2 * scale, zero / 2 + Fraction(1, 2)
        return Affine((float(scale),), (float(-scale * zero),))

    def manifest(self) -> dict[str, Any]:
        ratios = {"scale": self.scale, "shift": self.shift}
        shown: dict[str, Any] = {key: [value.numerator, value.denominator] for key, value in ratios.items()}
        return {**shown, "zero_point": self.zero_point, "lo": self.lo, "hi": self.hi, "mode": self.mode.value}

    @staticmethod
    def of(noted: Mapping[str, Any]) -> Codes:
        scale, shift = (Fraction(*noted[key]) for key in ("scale", "shift"))
        return Codes(scale, shift, noted["zero_point"], noted["lo"], noted["hi"], Mode(noted["mode"]))


@dataclass(frozen=True)
class Affine:
    """What the integers of a port stand for: `scale * n + offset`; one pair, or one for each feature or channel."""

    scale: tuple[float, ...]
    offset: tuple[float, ...]

    def values(self, n: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Real numbers for rows in the model's order, where a channel's positions follow one another."""
        rows = np.asarray(n, np.float64)
        times = rows.shape[-1] // len(self.scale)
        scale, offset = (np.repeat(np.array(side, np.float64), times) for side in (self.scale, self.offset))
        return np.asarray(rows * scale + offset, np.float64)

    def manifest(self) -> dict[str, list[float]]:
        return {"scale": list(self.scale), "offset": list(self.offset)}

    @staticmethod
    def of(noted: Mapping[str, Any]) -> Affine:
        return Affine(tuple(map(float, noted["scale"])), tuple(map(float, noted["offset"])))

    @property
    def zero_point(self) -> tuple[float, ...]:
        """The numbers are `scale * (n - zero_point)`."""
        return tuple(-offset / scale for scale, offset in zip(self.scale, self.offset, strict=True))

    def port(self) -> dict[str, Any]:
        """What a port says of it: one number, or one for each feature or channel."""
        sides = {"scale": list(self.scale), "zero_point": [zero + 0.0 for zero in self.zero_point]}
        return {key: side[0] if len(side) == 1 else side for key, side in sides.items()}

    @property
    def uniform(self) -> bool:
        """Whether larger integers are larger numbers, across features too."""
        return len(set(self.scale)) == 1 and len(set(self.offset)) == 1


def least_float(at: Fraction, *, reached: bool) -> float:
    """The least float64 that is not below a number; without `reached`, the least above it."""
    try:
        near = at.numerator / at.denominator  # the nearest float64
    except OverflowError:  # beyond all of them
        return math.inf if at > 0 else -math.inf
    exact = Fraction(near)
    if exact < at or (exact == at and not reached):
        return math.nextafter(near, math.inf)
    return near
