"""The handshakes of reductions, edge by edge as the RTL."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Kind, Params, SingleControl, Words, registered

# Parameters: beats that become one, or beats of a sample; and the first of them that comes out.
BEATS, FIRST = range(2)
# Words: whether the output register holds a beat, whether a finished one waits for it, the next beat.
VALID, DONE, BEAT = range(3)


def _valid(s: Words, p: Params) -> int:
    return s[VALID]


def _next_beat(s: Words, p: Params) -> None:
    s[BEAT] += 1
    if s[BEAT] == p[BEATS]:
        s[BEAT] = 0


def _resting(s: Words, p: Params, outs: int) -> int:
    return 0 if s[DONE] != 0 and (outs != 0 or s[VALID] == 0) else FOREVER


def _reduce_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 0 if s[DONE] != 0 and s[VALID] != 0 else 1


def _reduce_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    moves = s[DONE] != 0 and (outs != 0 or s[VALID] == 0)
    if moves:
        s[VALID] = 1
        s[DONE] = 0
    elif outs != 0:
        s[VALID] = 0
    if takes:
        if s[BEAT] == p[BEATS] - 1:
            s[DONE] = 1
        _next_beat(s, p)


def _free(s: Words, outs: int) -> bool:
    """Whether a finished beat has a place."""
    return s[DONE] == 0 or s[VALID] == 0 or outs != 0


def _global_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if s[BEAT] < p[FIRST] or _free(s, outs) else 0


def _global_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    free = _free(s, outs)
    if outs != 0 or s[VALID] == 0:
        s[VALID] = s[DONE]
    if free:
        s[DONE] = 1 if takes != 0 and s[BEAT] >= p[FIRST] else 0
    if takes:
        _next_beat(s, p)


REDUCE = registered(Kind("reduce", _valid, _reduce_readies, _reduce_clock, _resting))
GLOBAL_REDUCE = registered(Kind("global_reduce", _valid, _global_readies, _global_clock, _resting))


class ReduceControl(SingleControl):
    """`taps` beats make one; a finished one waits for the output register."""

    def __init__(self, taps: int) -> None:
        super().__init__(REDUCE, (taps, taps - 1), 3)


class GlobalReduceControl(SingleControl):
    """Every beat of a sample is taken; those of its last position come out, two stages later."""

    def __init__(self, beats: int, blocks: int) -> None:
        super().__init__(GLOBAL_REDUCE, (beats, beats - blocks), 3)


# Of a depthwise convolution: taps, and stages of its line. Words: the output register, the next tap, the line's marks.
TAPS, DEPTH = range(2)
TAP, MARKS = 1, 2


def _enabled(s: Words, p: Params, outs: int) -> bool:
    return s[MARKS] >> (p[DEPTH] - 1) == 0 or s[VALID] == 0 or outs != 0


def _depthwise_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if _enabled(s, p, outs) else 0


def _depthwise_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    enabled, finished = _enabled(s, p, outs), s[MARKS] >> (p[DEPTH] - 1)
    if outs != 0 or s[VALID] == 0:
        s[VALID] = finished
    if enabled:
        completes = 1 if takes != 0 and s[TAP] == p[TAPS] - 1 else 0
        s[MARKS] = (s[MARKS] & ((1 << (p[DEPTH] - 1)) - 1)) << 1 | completes
    if takes:
        s[TAP] = s[TAP] + 1 if s[TAP] + 1 < p[TAPS] else 0


def _depthwise_resting(s: Words, p: Params, outs: int) -> int:
    return 0 if s[MARKS] != 0 and _enabled(s, p, outs) else FOREVER


DEPTHWISE = registered(Kind("depthwise", _valid, _depthwise_readies, _depthwise_clock, _depthwise_resting))


class DepthwiseControl(SingleControl):
    """`taps` beats make one, which comes to the output register through a line of `depth` registers."""

    def __init__(self, taps: int, depth: int) -> None:
        assert depth < 60, depth
        super().__init__(DEPTHWISE, (taps, depth), 3)
