"""What stands between two integer streams of a file with scales: rational steps for each channel, and their thresholds.

Everything is exact. A chain of steps is monotone in the integer before it, so that each integer behind it begins at a
threshold: `crossings` finds these by going through the chain backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.numerics.crossing import Edge, Mode, crossing
from mase_hw.numerics.rounding import Integers

Ratios = npt.NDArray[Any]  # of Fractions, one for each channel, or one for all


class TwoRootsError(Exception):
    """A chain divides by two square roots, one behind the other."""


def ratios(values: npt.ArrayLike) -> Ratios:
    """The exact values of floats or integers, in one dimension."""
    flat = np.asarray(values).ravel()
    made = np.empty(len(flat), object)
    made[:] = [Fraction(each) for each in flat.tolist()]
    return made


def of_all(value: Fraction | int) -> Ratios:
    made = np.empty(1, object)
    made[0] = Fraction(value)
    return made


@dataclass(frozen=True, eq=False)
class Line:
    """`factor * x + offset`; with `under` it is divided by `sqrt(under)`, and `behind` added."""

    factor: Ratios
    offset: Ratios
    under: Ratios | None = None
    behind: Ratios | None = None


@dataclass(frozen=True)
class Between:
    """`x`, no less than `lo` and no more than `hi`: a ReLU, a Clip."""

    lo: Fraction | None
    hi: Fraction | None


@dataclass(frozen=True)
class Rounded:
    """To the integers `lo..hi`. `key`: the tensor of the file that it makes."""

    lo: int
    hi: int
    mode: Mode
    key: str


@dataclass(frozen=True)
class Raw:
    """First in the chain of an input of the model that no quantizer has made integers of."""


Part = Raw | Line | Between | Rounded
Chain = tuple[Part, ...]


@dataclass(frozen=True)
class _Own:
    """A Line of one channel."""

    factor: Fraction
    offset: Fraction
    under: Fraction | None
    behind: Fraction | None


@dataclass(frozen=True)
class _Reach:
    """Numbers from `edge` on (`up`), or up to it; `reached`: the edge itself is one. Without an edge: all, or none."""

    edge: Edge | None
    up: bool
    reached: bool

    @staticmethod
    def always(yes: bool) -> _Reach:
        return _Reach(None, True, yes)


def spread(chain: Chain, channels: int) -> Chain:
    """The chain with every constant `channels` times as long: a frame of so many positions becomes one vector."""
    return tuple(_spread(part, channels) if isinstance(part, Line) else part for part in chain)


def _spread(line: Line, times: int) -> Line:
    sides = (line.factor, line.offset, line.under, line.behind)
    return Line(*(side if side is None or len(side) == 1 else np.repeat(side, times) for side in sides))  # type: ignore[arg-type]


def directions(chain: Chain, channels: int) -> Integers:
    """1 where the chain rises with the number before it, -1 where it falls; 1 also where it does neither."""
    sign = np.ones(channels, np.int64)
    for part in chain:
        if isinstance(part, Line):
            signs = np.array([-1 if each < 0 else 1 for each in part.factor], np.int64)
            sign = sign * signs
    return sign


def affine(chain: Chain, channels: int) -> tuple[Ratios, Ratios] | None:
    """A chain of rational lines as factor and offset for each channel; None for any other chain."""
    factor, offset = np.broadcast_to(of_all(1), channels), np.broadcast_to(of_all(0), channels)
    for part in chain:
        if not isinstance(part, Line) or part.under is not None:
            return None
        factor, offset = factor * part.factor, offset * part.factor + part.offset
    return factor, offset


def crossings(chain: Chain, lo: Integers, hi: Integers) -> Integers:
    """For each channel, the integers of `lo..hi` from which on the last part gives `lo + 1`, `lo + 2`, ...

    The chain ends in a `Rounded` and rises. `hi + 1`: never reached.
    """
    *before, last = chain
    assert isinstance(last, Rounded)
    made = np.empty((len(lo), last.hi - last.lo), np.int64)
    wanted = [crossing(k, last.mode) for k in range(last.lo + 1, last.hi + 1)]
    for channel in range(len(lo)):
        least, most = int(lo[channel]), int(hi[channel])
        parts = [_of_channel(part, channel) for part in reversed(before)]
        for k, (at, reached) in enumerate(wanted):
            reach = _Reach(Edge(at), True, reached)
            for part in parts:
                reach = _before(part, reach)
                if reach.edge is None:
                    break
            if reach.edge is None:
                made[channel, k] = least if reach.reached else most + 1
            else:
                assert reach.up, "a chain that falls"
                made[channel, k] = min(max(reach.edge.least(reached=reach.reached), least), most + 1)
    return made


def _of_channel(part: Part, channel: int) -> Part | _Own:
    """The constants of one channel alone."""
    if not isinstance(part, Line):
        return part

    def own(side: Ratios | None) -> Fraction | None:
        return None if side is None else side[channel if len(side) > 1 else 0]

    return _Own(own(part.factor) or Fraction(0), own(part.offset) or Fraction(0), own(part.under), own(part.behind))


def _before(part: Any, reach: _Reach) -> _Reach:
    """The numbers before the part that lead to those behind it."""
    assert reach.edge is not None
    if isinstance(part, _Own):
        return _before_line(part, reach)
    if isinstance(part, Between):
        return _before_clip(part, reach)
    # An integer: the least that is reached, or the least that is too much.
    k = reach.edge.least(reached=reach.reached if reach.up else not reach.reached)
    if k <= part.lo or k > part.hi:
        return _Reach.always((k <= part.lo) == reach.up)
    at, reached = crossing(k, part.mode)
    return _Reach(Edge(at), reach.up, reached == reach.up)


def _before_line(own: _Own, reach: _Reach) -> _Reach:
    factor, edge = own.factor, reach.edge
    assert edge is not None
    if own.under is not None:
        edge = edge.moved(-(own.behind or Fraction(0)))
        if not edge.rational:
            raise TwoRootsError
        edge = edge.rooted(own.under)
    edge = edge.moved(-own.offset)
    if not factor:
        sign = -edge.sign if reach.up else edge.sign
        return _Reach.always(sign > 0 or (sign == 0 and reach.reached))
    return _Reach(edge.times(1 / factor), reach.up == (factor > 0), reach.reached)


def _before_clip(part: Between, reach: _Reach) -> _Reach:
    """A bound that lies on the edge's wanted side is always reached from there, one on the other side never."""
    edge = reach.edge
    assert edge is not None
    low = None if part.lo is None else edge.moved(-part.lo).sign
    high = None if part.hi is None else edge.moved(-part.hi).sign
    if low is not None and (low < 0 or (low == 0 and reach.reached == reach.up)):
        return _Reach.always(reach.up)
    if high is not None and (high > 0 or (high == 0 and reach.reached != reach.up)):
        return _Reach.always(not reach.up)
    return reach
