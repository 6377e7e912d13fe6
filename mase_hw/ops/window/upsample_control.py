"""The handshake of upsampling, edge by edge as the RTL."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Kind, Params, SingleControl, Words, registered

# Parameters: beats of a position, positions of the buffer, how often the buffer is read, and a position within.
BLOCKS, WIDTH, ROWS, REPEATS = range(4)
# Words: the output register, beats held, and where the next read is.
VALID, HELD, BLOCK, REPEAT, COLUMN, ROW = range(6)


def _valid(s: Words, p: Params) -> int:
    return s[VALID]


def _readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if s[HELD] < p[BLOCKS] * p[WIDTH] else 0


def _there(s: Words, p: Params) -> bool:
    if s[ROW] < p[ROWS] - 1:
        return s[HELD] > s[COLUMN] * p[BLOCKS] + s[BLOCK]
    return s[HELD] > (s[BLOCK] if s[REPEAT] < p[REPEATS] - 1 else 0)


def _advance(s: Words, p: Params) -> None:
    """The next read; a counter that is at its last starts again, and the next one moves."""
    s[BLOCK] += 1
    if s[BLOCK] < p[BLOCKS]:
        return
    s[BLOCK] = 0
    s[REPEAT] += 1
    if s[REPEAT] < p[REPEATS]:
        return
    s[REPEAT] = 0
    s[COLUMN] += 1
    if s[COLUMN] < p[WIDTH]:
        return
    s[COLUMN] = 0
    s[ROW] = s[ROW] + 1 if s[ROW] + 1 < p[ROWS] else 0


def _clock(s: Words, p: Params, takes: int, outs: int) -> None:
    there = _there(s, p)
    moves = outs != 0 or s[VALID] == 0
    s[HELD] += takes
    if moves:
        s[VALID] = 1 if there else 0
        if there:
            if s[ROW] == p[ROWS] - 1 and s[REPEAT] == p[REPEATS] - 1:
                s[HELD] -= 1
            _advance(s, p)


def _resting(s: Words, p: Params, outs: int) -> int:
    return FOREVER if (s[VALID] != 0 and outs == 0) or (s[VALID] == 0 and not _there(s, p)) else 0


UPSAMPLE = registered(Kind("upsample", _valid, _readies, _clock, _resting))


class UpsampleControl(SingleControl):
    """A buffer that is read `rows` times; its places are free again as they are read for the last time."""

    def __init__(self, blocks: int, width: int, rows: int, repeats: int) -> None:
        super().__init__(UPSAMPLE, (blocks, width, rows, repeats), 6)
