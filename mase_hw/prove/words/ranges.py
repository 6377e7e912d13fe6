"""Exact bounds of sums over the single bits of numbers that lie in ranges: not every pattern of bits is met.

A range is cut into blocks of numbers that share their upper bits and have every pattern below: at most two for each bit
of the number. Within a block the bits below are free, so a sum over the bits has its greatest value where each of them
is as its factor's sign says. The numbers are independent of each other, so the bounds of the whole add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mase_hw.numerics.rounding import Integers


class BitRanges:
    """The bits of several numbers, `width` variables for each, of which the lowest `used` are its own."""

    def __init__(self, ranges: Sequence[tuple[int, int]], used: Sequence[int], width: int) -> None:
        self.least = np.array([lo for lo, _ in ranges])
        self.used = np.array(used)
        blocks = [list(_blocks(lo, hi, bits)) for (lo, hi), bits in zip(ranges, used, strict=True)]
        most = max(map(len, blocks))
        self.fixed = np.zeros((len(blocks), most, width), np.float64)
        self.free = np.zeros_like(self.fixed)
        for i, (found, bits) in enumerate(zip(blocks, used, strict=True)):
            for k in range(most):  # a block more than once changes nothing
                start, low = found[k % len(found)]
                self.fixed[i, k] = [(start >> n) & 1 for n in range(width)]
                self.free[i, k, : min(low, bits)] = 1
        sizes = [hi - lo + 1 for lo, hi in ranges]
        self.partial = np.array([size < 1 << bits for size, bits in zip(sizes, used, strict=True)])
        self._partial = np.flatnonzero(self.partial)
        self.width = width
        same = (self.free == 0).all(axis=1) & (self.fixed == self.fixed[:, :1]).all(axis=1)
        self.known = same.reshape(-1)  # bits that are the same in all numbers of a range
        self.only = self.fixed[:, 0].reshape(-1).astype(np.int64)

    def bounds(self, factors: Integers) -> tuple[int, int]:
        """The least and the greatest sum of factors times bits; exact below 2**53, which `Words` sees to."""
        spread, total = int(np.abs(factors).sum()), int(factors.sum())
        lo, hi = (total - spread) // 2, (total + spread) // 2  # as if every pattern of bits were met
        some = factors.reshape(len(self.partial), self.width)[self._partial]
        if some.any():
            here = some.any(axis=1)
            part, at = some[here], self._partial[here]
            each = part.astype(np.float64)[:, :, None]
            base, free = self.fixed[at] @ each, self.free[at]
            lo += int((base + free @ np.minimum(each, 0)).min(axis=1).sum()) - int(np.minimum(part, 0).sum())
            hi += int((base + free @ np.maximum(each, 0)).max(axis=1).sum()) - int(np.maximum(part, 0).sum())
        return lo, hi

    def reaching(self, factors: Integers) -> tuple[Integers, Integers]:
        """Numbers that give the least sum, and numbers that give the greatest."""
        by_number = factors.reshape(len(self.partial), self.width).astype(np.float64)
        found = []
        for sign in (-1, 1):
            each = sign * by_number[:, None, :]
            free = self.free * (each > 0)  # bits that add to the sum are set, in every block
            best = ((self.fixed + free) * each).sum(axis=2).argmax(axis=1)
            bits = (self.fixed + free)[np.arange(len(best)), best].astype(np.int64)
            numbers = bits @ (1 << np.arange(self.width))
            negative = (self.least < 0) & (numbers >> np.maximum(self.used - 1, 0) & 1 == 1)
            found.append(numbers - np.where(negative, 1 << self.used, 0))
        return found[0], found[1]


def _blocks(lo: int, hi: int, bits: int) -> Iterator[tuple[int, int]]:
    """(start, free bits below) of the blocks that make up `lo..hi`, as patterns of `bits` bits."""
    mask = (1 << bits) - 1
    if lo < 0:
        yield from _aligned(lo & mask, min(hi, -1) & mask)
        lo = 0
    if hi >= lo:
        yield from _aligned(lo & mask, hi & mask)


def _aligned(lo: int, hi: int) -> Iterator[tuple[int, int]]:
    while lo <= hi:
        low = (lo & -lo).bit_length() - 1 if lo else hi.bit_length() + 1
        while lo + (1 << low) - 1 > hi:
            low -= 1
        yield lo, low
        lo += 1 << low
