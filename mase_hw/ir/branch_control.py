"""Control of forks and concatenations: one stream to several, and several to one."""

from __future__ import annotations

from mase_hw.ir.control import Control, Kind, Params, Words, registered

# A fork. Parameters: a bit for each branch, whether it is buffered. Words: a bit for each branch that still has to take
# the beat, whether a second beat waits.


def _pending(s: Words, p: Params) -> int:
    return s[0]


def _fork_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    if p[1]:
        return 1 - s[1]
    return 1 if s[0] & ~outs == 0 else 0


def _fork_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    s[0] &= ~outs
    if s[0] == 0:  # every branch has taken the beat, or takes it in this cycle
        s[0] = p[0] if s[1] or takes else 0
        s[1] = 0
    elif takes:
        s[1] = 1


FORK = registered(Kind("fork", _pending, _fork_readies, _fork_clock))


class ForkControl(Control):
    """One beat, and for each branch whether it still has to take it; buffered, a second beat waits behind it.

    Without the buffer a new beat is taken in the cycle in which the last branch takes the old one.
    """

    def __init__(self, branches: int, *, buffered: bool) -> None:
        super().__init__(FORK, ((1 << branches) - 1, int(buffered)), 2, outputs=branches)


# A concatenation. Parameters: how many inputs, then the beats of each. Words: valid, the input and the beat of it that
# are taken next.


def _valid(s: Words, p: Params) -> int:
    return s[0]


def _concat_readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 << s[1] if outs or not s[0] else 0


def _concat_clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if outs or not s[0]:
        s[0] = 1 if takes else 0
    if takes:
        s[2] += 1
        if s[2] == p[1 + s[1]]:
            s[2] = 0
            s[1] = (s[1] + 1) % p[0]


CONCAT = registered(Kind("concat", _valid, _concat_readies, _concat_clock))


class ConcatControl(Control):
    """Takes so many beats of each input in turn and hands them on through one register."""

    def __init__(self, beats: tuple[int, ...]) -> None:
        super().__init__(CONCAT, (len(beats), *beats), 3, inputs=len(beats))
