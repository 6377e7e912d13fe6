"""Fixed-point types: an integer `n` of type `Fixed(width, frac)` stands for the value `n * 2**-frac`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MAX_WIDTH = 32  # of a type that a user asks for; exact accumulators may be wider
MAX_FRAC = 64  # largest |frac| a user may ask for
MAX_ACCUMULATOR_BITS = 53  # what float64 holds exactly, and so what software and hardware can agree on


class Rounding(StrEnum):
    """How bits are dropped; the values are the quantizer names of the TOML."""

    HALF_EVEN = "integer"
    FLOOR = "integer_floor"


@dataclass(frozen=True)
class Fixed:
    """A fixed-point type. `frac` may be negative or larger than `width`."""

    width: int
    frac: int
    signed: bool = True

    def __post_init__(self) -> None:
        smallest = 2 if self.signed else 1
        if self.width < smallest:
            kind = "signed" if self.signed else "unsigned"
            raise ValueError(f"a {kind} type needs a width of at least {smallest}, not {self.width}")

    @property
    def lo(self) -> int:
        """Smallest integer of the type."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def hi(self) -> int:
        """Largest integer of the type."""
        return (1 << (self.width - 1)) - 1 if self.signed else (1 << self.width) - 1

    def holds(self, lo: int, hi: int) -> bool:
        """Whether every integer of `lo..hi` is one of the type's."""
        return self.lo <= lo and hi <= self.hi

    def __str__(self) -> str:
        return f"{'' if self.signed else 'u'}fixed({self.width}, {self.frac})"


def signed_width(lo: int, hi: int) -> int:
    """The fewest bits (at least 2) of a signed integer that holds every value of `lo..hi`."""
    return max(2, (lo if lo >= 0 else ~lo).bit_length() + 1, (hi if hi >= 0 else ~hi).bit_length() + 1)
