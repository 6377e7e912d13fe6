"""Thresholds as a multiplication: `(x * factor + offset) >> shift` that crosses its levels at the very same numbers.

For every channel the factors that do are those of one interval: a threshold says where a level begins, and that it does
not begin one number before. Constants are as narrow as they can be: the least shift with which every channel has some.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mase_hw.numerics.rounding import Integers

MOST = 320  # thresholds of a channel: every two of them are compared
MAX_SHIFT = 30
_FAR = np.int64(1) << 40
_Stored = tuple[bytes, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Crossing:
    """`clamp((x * factor + offset) >> shift)` for each channel."""

    factor: Integers
    offset: Integers
    shift: int

    def levels(self, x: Integers) -> Integers:
        """Not clamped, for numbers [..., channels]."""
        return x * self.factor + self.offset >> self.shift


def crossing_at(
    limits: Integers, first: int, lo: Integers, hi: Integers, clamped: tuple[bool, bool]
) -> Crossing | None:
    """Constants for thresholds [channels, count], of which the one in place `k` begins the level `first + 1 + k`.

    Numbers lie within `lo..hi`; a threshold of `lo` is always reached, one of `hi + 1` never. `clamped`: whether
    results below `first`, and above the last level, are brought there.
    """
    if limits.shape[1] > MOST:
        return None
    return _remembered(*((side.astype(np.int64).tobytes(), side.shape) for side in (limits, lo, hi)), first, clamped)


@lru_cache(maxsize=64)
def _remembered(limits: _Stored, lo: _Stored, hi: _Stored, first: int, clamped: tuple[bool, bool]) -> Crossing | None:
    """Asked for again for every candidate."""
    rows, least, most = (np.frombuffer(raw, np.int64).reshape(shape) for raw, shape in (limits, lo, hi))
    return _found(rows, first, least, most, clamped)


def _found(limits: Integers, first: int, lo: Integers, hi: Integers, clamped: tuple[bool, bool]) -> Crossing | None:
    reached, missed = _facts(limits, first, lo, hi, clamped)
    for shift in range(MAX_SHIFT):
        least, most = _factors(reached, missed, shift)
        if (least <= most).all():
            factor = _roundest(least, most)
            unit = np.int64(1) << shift
            below = np.where(reached[2], reached[1] * unit - factor[:, None] * reached[0], -_FAR * 4).max(1)
            above = np.where(missed[2], missed[1] * unit - 1 - factor[:, None] * missed[0], _FAR * 4).min(1)
            offset = _roundest(np.maximum(below, -_FAR), np.minimum(above, _FAR))
            found = Crossing(factor, offset, shift)
            return found if _same(found, limits, first, lo, hi, clamped) else None
    return None


_Facts = tuple[Integers, Integers, Integers]  # numbers, levels, and whether it is a fact; [channels, count]


def _facts(
    limits: Integers, first: int, lo: Integers, hi: Integers, clamped: tuple[bool, bool]
) -> tuple[_Facts, _Facts]:
    """Numbers that reach a level, and numbers that do not."""
    levels = np.broadcast_to(first + 1 + np.arange(limits.shape[1]), limits.shape)
    last = first + limits.shape[1]
    low, high = lo[:, None], hi[:, None]
    ends = np.full(low.shape, first), np.full(low.shape, last + 1)
    reached = (
        np.concatenate([limits, low], 1),
        np.concatenate([levels, ends[0]], 1),
        np.concatenate([limits <= high, np.full(low.shape, not clamped[0])], 1),
    )
    missed = (
        np.concatenate([limits - 1, high], 1),
        np.concatenate([levels, ends[1]], 1),
        np.concatenate([limits > low, np.full(low.shape, not clamped[1])], 1),
    )
    return reached, missed


def _factors(reached: _Facts, missed: _Facts, shift: int) -> tuple[Integers, Integers]:
    """The least and the greatest factor with which some offset does: every reached number against every missed one."""
    least, most = np.zeros(len(reached[0]), np.int64), np.full(len(reached[0]), _FAR >> 8)
    unit = np.int64(1) << shift
    for channel in range(len(least)):
        x, k = (side[channel][reached[2][channel]] for side in reached[:2])
        y, j = (side[channel][missed[2][channel]] for side in missed[:2])
        if not len(x) or not len(y):
            continue
        away = y[None] - x[:, None]  # factor * away <= (j - k) * unit - 1
        room = (j[None] - k[:, None]) * unit - 1
        up, down = away > 0, away < 0
        if ((away == 0) & (room < 0)).any():
            most[channel] = -1
            continue
        if up.any():
            most[channel] = min(most[channel], int((room[up] // away[up]).min()))
        if down.any():
            least[channel] = max(least[channel], int((-(room[down] // -away[down])).max()))
    return least, most


def _roundest(least: Integers, most: Integers) -> Integers:
    """The number of each interval that ends in the most zeros."""
    found = least.copy()
    for bits in range(1, 41):
        up = -(-least >> bits) << bits
        found = np.where(up <= most, up, found)
    return found


def _same(
    found: Crossing, limits: Integers, first: int, lo: Integers, hi: Integers, clamped: tuple[bool, bool]
) -> bool:
    """Whether every level is reached from its threshold on: as both rise, that is so for every number."""
    reached, missed = _facts(limits, first, lo, hi, clamped)
    low, high = found.levels(reached[0].T).T, found.levels(missed[0].T).T
    wrong = ((low < reached[1]) & reached[2].astype(bool)).any(), ((high >= missed[1]) & missed[2].astype(bool)).any()
    return not any(wrong)
