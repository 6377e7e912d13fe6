"""The handshake of a window, edge by edge as the RTL."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Kind, Params, SingleControl, Words, registered
from mase_hw.ops.window.plan import WindowPlan

# Parameters; behind them, by how much the need grows from each column of windows to the next, and from each row.
BEATS, ROOM, START, BEGIN, ROWS, COLUMNS, TAIL, STEPS = range(8)
# Words: the level is counted from START, and begun is 0 while a sample waits for its first position.
VALID, LEVEL, BEGUN, BEAT, COLUMN, ROW = range(6)


def _valid(s: Words, p: Params) -> int:
    return s[VALID]


def _readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if s[LEVEL] + p[START] < p[ROOM] else 0


def _begun(s: Words, p: Params) -> bool:
    return p[BEGIN] == 0 or s[BEGUN] != 0 or s[LEVEL] + p[START] >= p[BEGIN]


def _there(s: Words, p: Params) -> bool:
    """Whether what the next read wants has been written."""
    return s[ROW] >= p[TAIL] or (s[LEVEL] + p[START] >= 0 and _begun(s, p))


def _next_window(s: Words, p: Params) -> None:
    s[BEAT] = 0
    if s[COLUMN] + 1 < p[COLUMNS]:
        s[LEVEL] -= p[STEPS + s[COLUMN]]
        s[COLUMN] += 1
        return
    s[LEVEL] -= p[STEPS + p[COLUMNS] - 1 + s[ROW]]
    s[COLUMN] = 0
    s[ROW] += 1
    if s[ROW] == p[ROWS]:
        s[ROW] = 0
    if s[ROW] == 0:
        s[BEGUN] = 0


def _clock(s: Words, p: Params, takes: int, outs: int) -> None:
    moves = outs != 0 or s[VALID] == 0
    issues = moves and _there(s, p)
    s[BEGUN] = 1 if p[BEGIN] != 0 and _begun(s, p) else 0
    if moves:
        s[VALID] = 1 if issues else 0
    s[LEVEL] += takes
    if issues:
        s[BEAT] += 1
        if s[BEAT] == p[BEATS]:
            _next_window(s, p)


def _resting(s: Words, p: Params, outs: int) -> int:
    if p[BEGIN] != 0 and s[BEGUN] == 0 and _begun(s, p):
        return 0  # noted in this cycle
    blocked = s[VALID] != 0 and outs == 0
    waiting = s[VALID] == 0 and not _there(s, p)
    return FOREVER if blocked or waiting else 0


WINDOW = registered(Kind("window", _valid, _readies, _clock, _resting))


class WindowControl(SingleControl):
    """A line buffer: one counter of beats written less beats needed, and the beat that is read next."""

    def __init__(self, plan: WindowPlan) -> None:
        lines = plan.lines
        steps = [*lines.steps[0, :-1], *lines.steps[:, -1]]
        params = (plan.taps * plan.blocks, plan.room, plan.start, plan.begin, *lines.out, lines.last_row + 1)
        super().__init__(WINDOW, (*params, *(int(step) * plan.blocks for step in steps)), 6)


# Of a wide window: parameters of the walk along columns, and behind them along rows. Words: the output register, the
# column and the row of the next step.
SIZE, LENGTH, FIRST, LAST, STRIDE = range(5)
DIMENSION = 5
WALK_COLUMN, WALK_ROW = 1, 2


def _ends(p: Params, at: int, place: int) -> bool:
    """Whether windows end here, in one dimension."""
    first, last = p[at + FIRST], p[at + LAST]
    return first <= place <= last and (place - first) % p[at + STRIDE] == 0


def _inside(s: Words, p: Params) -> bool:
    return s[WALK_COLUMN] < p[SIZE] and s[WALK_ROW] < p[DIMENSION + SIZE]


def _wide_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if (outs != 0 or s[VALID] == 0) and _inside(s, p) else 0


def _wide_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs == 0 and s[VALID] != 0:
        return
    if takes == 0 and _inside(s, p):
        s[VALID] = 0
        return
    whole = _ends(p, 0, s[WALK_COLUMN]) and _ends(p, DIMENSION, s[WALK_ROW])
    s[VALID] = 1 if whole else 0
    s[WALK_COLUMN] += 1
    if s[WALK_COLUMN] == p[LENGTH]:
        s[WALK_COLUMN] = 0
        s[WALK_ROW] = s[WALK_ROW] + 1 if s[WALK_ROW] + 1 < p[DIMENSION + LENGTH] else 0


def _wide_resting(s: Words, p: Params, outs: int) -> int:
    return FOREVER if (s[VALID] != 0 and outs == 0) or (s[VALID] == 0 and _inside(s, p)) else 0


WIDE = registered(Kind("window_wide", _valid, _wide_readies, _wide_clock, _wide_resting))


class WideControl(SingleControl):
    """A walk over the frame and beyond; a step within the frame takes a position."""

    def __init__(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> None:
        super().__init__(WIDE, (*columns, *rows), 3)
