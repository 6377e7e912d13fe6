"""Division by a constant as a multiplication, exact over a whole range: for averages."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.numerics import Rounding, signed_width


@dataclass(frozen=True)
class Division:
    """`round(n * 2**up / unit)` as `((n << up) + offset) * factor >> shift`, less `back`.

    The offset holds the half of half to even, and `back` units, which make the sum positive. With `N = u * unit + r`
    and `factor * unit = 2**shift + e`, the product is `u * 2**shift + u * e + r * factor`. It is below
    `(u + 1) * 2**shift` as long as `(u + 1) * e < factor`, so the shift gives `u`. Where `u * e` is below `2**tie`, and
    `2**tie` not above the factor, `r` is 0 exactly where the bits from `tie` to `shift` are zeros: that is a tie of
    half to even, and the quotient's lowest bit is cleared. `back` is even, so that parity stays.
    """

    up: int
    unit: int
    offset: int
    factor: int
    shift: int
    tie: int | None  # None: there are no ties, or they are not treated differently
    back: int
    most: int  # the largest sum

    @staticmethod
    def of(lo: int, hi: int, divisor: int, down: int, rounding: Rounding) -> Division:
        """For every integer of `lo..hi`. `down` bits are dropped; a negative number of bits is appended."""
        up, unit = max(0, -down), divisor << max(0, down)
        half = unit // 2 if rounding is Rounding.HALF_EVEN else 0
        ties = rounding is Rounding.HALF_EVEN and unit % 2 == 0
        least = (lo << up) + half
        back = 2 * -(least // (2 * unit)) if least < 0 else 0
        offset, most = half + back * unit, (hi << up) + half + back * unit
        last, shift = most // unit, (unit - 1).bit_length()
        while True:
            factor = -(-(1 << shift) // unit)
            error = factor * unit - (1 << shift)
            tie = factor.bit_length() - 1
            if (last + 1) * error < factor and (not ties or last * error < 1 << tie):
                return Division(up, unit, offset, factor, shift, tie if ties else None, back, most)
            shift += 1

    def rounded(self, n: int) -> int:
        """What the hardware computes."""
        product = ((n << self.up) + self.offset) * self.factor
        quotient = product >> self.shift
        rest = product & ((1 << self.shift) - 1)
        tie = self.tie is not None and rest >> self.tie == 0
        return (quotient & ~1 if tie else quotient) - self.back

    @property
    def sum_bits(self) -> int:
        return max(1, self.most.bit_length())

    @property
    def product_bits(self) -> int:
        return max(self.shift + 1, (self.most * self.factor).bit_length())

    @property
    def out_bits(self) -> int:
        """Signed, of the quotient."""
        return signed_width(-self.back, self.most // self.unit - self.back)
