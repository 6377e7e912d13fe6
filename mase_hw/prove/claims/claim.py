"""What is claimed of a component, and whether it was proved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mase_hw.numerics.rounding import Integers

Status = Literal["proved", "refuted", "open"]


@dataclass(frozen=True)
class Reached:
    """An adder, its bits, and two inputs with the exact sums that it was seen to hold: the least and the greatest."""

    source: str
    bits: int
    sums: tuple[int, int]
    inputs: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Claim:
    """One statement. `refuted` has a counterexample or a difference in `detail`; `open` could not be decided."""

    component: str
    about: str  # language | values | timing | handshake | widths | wiring | progress | model | axis | readers
    status: Status
    method: str
    detail: str = ""
    adders: tuple[Reached, ...] = ()  # of a claim about widths, the widest of those that were replayed


class NotProvedError(Exception):
    """Why a claim could not be proved; `refuted` where it is false rather than undecided.

    `suspect` is an input vector that may show that it is false.
    """

    def __init__(self, text: str, *, refuted: bool = False, suspect: Integers | None = None) -> None:
        super().__init__(text)
        self.refuted, self.suspect = refuted, suspect
