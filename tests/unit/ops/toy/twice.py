"""The control of a register that hands out every beat twice."""

from __future__ import annotations

from mase_hw.ir.control import Kind, Params, SingleControl, Words, registered

VALID, AGAIN = 0, 1  # words; there are no parameters


def _valids(s: Words, p: Params) -> int:
    return s[VALID]


def _readies(s: Words, p: Params, offered: int, outs: int) -> int:
    return 1 if not s[VALID] or (outs and not s[AGAIN]) else 0


def _clock(s: Words, p: Params, takes: int, outs: int) -> None:
    if s[VALID] and outs:
        s[VALID], s[AGAIN] = s[AGAIN], 0
    if takes:
        s[VALID], s[AGAIN] = 1, 1


TWICE = registered(Kind("twice", _valids, _readies, _clock))


class TwiceControl(SingleControl):
    def __init__(self) -> None:
        super().__init__(TWICE, (), 2)  # no parameters, two registers
