"""Control of what moves beats between components: runs of pipes, skid buffers, FIFOs, width adapters."""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Control, Kind, Params, SingleControl, Words, registered

WORD = 62  # stages of a pipe that are bits of one word
FULL = (1 << WORD) - 1
UNLIMITED = FOREVER  # the depth of a FIFO that is never full


# A run of pipes. Parameters: stages, words, a bit for each input. Words: a bit for each stage that holds a beat, the
# first the lowest.


def _at_end(s: Words, p: Params) -> int:
    """Whether a finished beat waits in the last stage."""
    return s[p[1] - 1] >> ((p[0] - 1) % WORD) & 1


def _pipe_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    if _at_end(s, p) and not outs:
        return 0
    missing = p[2] & ~offered
    if missing == 0:
        return p[2]
    return missing if missing & (missing - 1) == 0 else 0  # the one input that the others wait for


def _shift(s: Words, p: Params, take: int) -> None:
    carry = take
    for k in range(p[1]):
        word = s[k]
        s[k] = (word << 1 | carry) & FULL
        carry = word >> (WORD - 1) & 1
    last = p[0] - (p[1] - 1) * WORD
    s[p[1] - 1] &= (1 << last) - 1


def _pipe_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs or not _at_end(s, p):
        _shift(s, p, takes & 1)


def _foremost(s: Words, p: Params) -> int:
    """The last stage that holds a beat; -1 where none does."""
    for k in range(p[1] - 1, -1, -1):
        if s[k]:
            at = k * WORD
            word = s[k] >> 1
            while word:
                at += 1
                word >>= 1
            return at
    return -1


def _pipe_resting(s: Words, p: Params, outs: int) -> int:
    foremost = _foremost(s, p)
    if foremost < 0:
        return FOREVER
    if foremost == p[0] - 1:
        return 0 if outs else FOREVER
    return p[0] - 2 - foremost  # then it comes to the last stage, which is seen outside


def _pipe_rest(s: Words, p: Params, cycles: int, outs: int) -> None:
    if _foremost(s, p) >= 0 and not _at_end(s, p):
        for _ in range(cycles):
            _shift(s, p, 0)


PIPE = registered(Kind("pipe", _at_end, _pipe_readies, _pipe_clock, _pipe_resting, _pipe_rest))


class PipeControl(Control):
    """`stages` registers with one common enable: they move unless a finished beat waits at the end.

    With several inputs it is a join: a beat of each is taken at once, or none.
    """

    def __init__(self, stages: int, inputs: int = 1) -> None:
        words = -(-stages // WORD)
        super().__init__(PIPE, (stages, words, (1 << inputs) - 1), words, inputs=inputs)


# A skid buffer. Words: valid, whether a second beat waits.


def _first(s: Words, p: Params) -> int:
    return s[0]


def _skid_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 - s[1]


def _skid_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs or not s[0]:
        s[0] = s[1] | takes
        s[1] = 0
    elif takes:
        s[1] = 1


SKID = registered(Kind("skid buffer", _first, _skid_readies, _skid_clock))


class SkidControl(SingleControl):
    """Two registers; the input's ready is one of them, so no combinational path runs from output to input."""

    def __init__(self) -> None:
        super().__init__(SKID, (), 2)


# A FIFO. Parameter: the depth. Words: beats in it; beats at the most, beats at the least since that was last set.
MOST, LEAST = 1, 2


def _fifo_valids(s: Words, p: Params) -> int:
    return 1 if s[0] > 0 else 0


def _fifo_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if s[0] < p[0] else 0


def _fifo_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if s[0] > 0 and outs:
        s[0] -= 1
    s[0] += takes
    s[MOST] = max(s[MOST], s[0])
    s[LEAST] = min(s[LEAST], s[0])


FIFO = registered(Kind("fifo", _fifo_valids, _fifo_readies, _fifo_clock))


class FifoControl(SingleControl):
    """A FIFO of `depth` beats; it does not take a beat in the cycle in which it is full, even if one leaves."""

    def __init__(self, depth: int) -> None:
        super().__init__(FIFO, (depth,), 1, notes=2)


# Width adapters. Parameter: the ratio. Words: valid, the beat of the wide one that comes next.


def _gather_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if outs or not s[0] else 0


def _gather_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs:
        s[0] = 0
    if takes:
        s[0] = 1 if s[1] == p[0] - 1 else 0
        s[1] = 0 if s[0] else s[1] + 1


def _scatter_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if not s[0] or (outs and s[1] == p[0] - 1) else 0


def _scatter_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if s[0] and outs:
        s[1] = (s[1] + 1) % p[0]
        s[0] = 1 if s[1] else 0
    if takes:
        s[0] = 1


GATHER = registered(Kind("gather", _first, _gather_readies, _gather_clock))
SCATTER = registered(Kind("scatter", _first, _scatter_readies, _scatter_clock))


class GatherControl(SingleControl):
    """Collects `ratio` narrow beats into one wide beat."""

    def __init__(self, ratio: int) -> None:
        super().__init__(GATHER, (ratio,), 2)


class ScatterControl(SingleControl):
    """Hands out one wide beat as `ratio` narrow ones."""

    def __init__(self, ratio: int) -> None:
        super().__init__(SCATTER, (ratio,), 2)
