"""Text that the templates of windows share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mase_hw.ir.stream import Stream


@dataclass(frozen=True)
class Stepped:
    """`register <= register + by`, in cycles in which `when` holds."""

    when: str
    by: str


def stepped(moves: Sequence[str], steps: Mapping[str, int], type_: str) -> Stepped:
    """The first of `moves` whose `_last` is low is the one that moves; the last of them moves where all are high."""
    still = 0
    while still < len(moves) - 1 and steps[moves[still]] == 0:
        still += 1
    end = len(moves) - 1
    while end > still and steps[moves[end]] == steps[moves[end - 1]]:
        end -= 1
    when = " && ".join(["issue", *(f"{move}_last" for move in moves[:still])])
    parts = [f"!{move}_last ? {type_}'({steps[move]})" for move in moves[still:end]]
    return Stepped(when, " : ".join([*parts, f"{type_}'({steps[moves[end]]})"]))


def fill_word(x: Stream, fill: int) -> str:
    """A beat of `x` whose elements are all `fill`."""
    width = x.fixed.width
    return "'0" if not fill else f"{{{x.lanes}{{{width}'h{fill % (1 << width):x}}}}}"
