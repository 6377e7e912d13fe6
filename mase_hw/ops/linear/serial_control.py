"""The handshake of a component that takes a vector in one beat and works through it digit by digit, beat by beat.

With more than one digit the pipeline stops when the last digit's result finds the output taken, even if it is just
leaving: so nothing but registers decides. In an unstalled run that never happens.
"""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Kind, Params, SingleControl, Words, registered

DIGITS, STEPS, LAST = range(3)  # parameters: digits of a beat, steps of a vector, the bit of the last stage
# Words: valid; whether there is a vector in the shift register; the step of it; a bit for each stage between digits and
# output that has the last digit of a beat.
VALID, BUSY, STEP, FINISHING = range(4)


def _valid(s: Words, p: Params) -> int:
    return s[VALID]


def _last(s: Words, p: Params) -> int:
    """Whether this is the last digit of a beat."""
    return 1 if s[BUSY] and s[STEP] % p[DIGITS] == p[DIGITS] - 1 else 0


def _over(s: Words, p: Params) -> int:
    """Whether it is the last of the vector."""
    return 1 if s[BUSY] and s[STEP] == p[STEPS] - 1 else 0


def _done(s: Words, p: Params) -> int:
    """Whether a result is about to enter the output's register."""
    if p[LAST]:
        return 1 if s[FINISHING] & p[LAST] else 0
    return _last(s, p)


def _moves(s: Words, p: Params, outs: int) -> int:
    if p[DIGITS] == 1:
        return 1 if outs or not s[VALID] else 0
    return 0 if s[VALID] and _done(s, p) else 1


def _readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if not s[BUSY] or (_over(s, p) and _moves(s, p, outs)) else 0


def _clock(s: Words, p: Params, takes: int, outs: int) -> None:
    moves, last, over, done = _moves(s, p, outs), _last(s, p), _over(s, p), _done(s, p)
    if moves and done:
        s[VALID] = 1
    elif outs:
        s[VALID] = 0
    if moves:
        if p[LAST]:
            s[FINISHING] = (s[FINISHING] << 1 | last) & (2 * p[LAST] - 1)
        if s[BUSY]:
            s[STEP] = 0 if over else s[STEP] + 1
    if takes or (moves and over):
        s[BUSY] = takes


def _resting(s: Words, p: Params, outs: int) -> int:
    if not _moves(s, p, outs):
        return FOREVER
    if s[FINISHING]:
        return 0
    return p[DIGITS] - 1 - s[STEP] % p[DIGITS] if s[BUSY] else FOREVER


def _rest(s: Words, p: Params, cycles: int, outs: int) -> None:
    if s[BUSY] and _moves(s, p, outs):
        s[STEP] += cycles


SERIAL = registered(Kind("serial", _valid, _readies, _clock, _resting, _rest))


class SerialControl(SingleControl):
    """A vector in a shift register, all digits for each output beat, `stages` registers from them to the output."""

    def __init__(self, digits: int, stages: int, groups: int = 1) -> None:
        assert 1 <= stages <= 60, f"{stages} stages"
        last = 1 << (stages - 2) if stages > 1 else 0  # the output's register is a stage too
        super().__init__(SERIAL, (digits, digits * groups, last), 4)
