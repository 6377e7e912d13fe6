"""The handshake of a folded layer: a double buffer, steps through words and blocks, an output register.

A double-buffered array goes word by word through the input, once for each block of outputs. Some registers lie between
the issue of a step and the finished sums, which then wait for the output register. A step's mark is how many beats
leave after it: -1 joins a block to a beat.
"""

from __future__ import annotations

from mase_hw.ir.control import FOREVER, Params, Words, registered
from mase_hw.ir.staged import StagedControl, Stages, staged_kind
from mase_hw.ops.linear.fold import Fold

# Parameters, as in Fold; the mark of the last step of a block, and of that of the last block.
DEPTH, WORDS, BLOCKS, IN_BEATS, BANKS, SLICES, JOINED, ENDS, LAST_ENDS = range(9)
# Words of the head: the halves that are full, the beat of the vector that is being written, which half is written and
# which is read, word and block of the next step.
FULL, BEAT, WRITE, READ, WORD, BLOCK = 0, 2, 3, 4, 5, 6
# Words of the tail: the mark of finished sums that wait, blocks joined so far, beats in the output register.
FINISHED, BLOCKS_JOINED, LEFT = 7, 8, 9
LINE = 10


def _ready(s: Words, p: Params, enable: int) -> int:
    return 1 - s[FULL + s[WRITE]]


def _ahead(s: Words, p: Params) -> int:
    """Words of this pass that are there and not yet issued."""
    written = p[WORDS] if s[FULL + s[READ]] else s[BEAT] // p[BANKS] * p[SLICES]
    return written - s[WORD]


def _there(s: Words, p: Params) -> int:
    return 1 if _ahead(s, p) > 0 else 0


def _mark(s: Words, p: Params) -> int:
    if s[WORD] < p[WORDS] - 1:
        return 0
    return p[LAST_ENDS] if s[BLOCK] == p[BLOCKS] - 1 else p[ENDS]


def _head_tick(s: Words, p: Params, take: int, enable: int) -> None:
    issue = enable and _ahead(s, p) > 0
    if take:
        s[BEAT] += 1
        if s[BEAT] == p[IN_BEATS]:
            s[BEAT] = 0
            s[FULL + s[WRITE]] = 1
            s[WRITE] ^= 1
    if issue:
        _advance(s, p)


def _advance(s: Words, p: Params) -> None:
    s[WORD] += 1
    if s[WORD] == p[WORDS]:
        s[WORD] = 0
        s[BLOCK] += 1
        if s[BLOCK] == p[BLOCKS]:
            s[BLOCK] = 0
            s[FULL + s[READ]] = 0
            s[READ] ^= 1


def _valid(s: Words, p: Params) -> int:
    return 1 if s[LEFT] > 0 else 0


def _enable(s: Words, p: Params, mark: int, out_ready: int) -> int:
    return 1 if s[FINISHED] == 0 or s[LEFT] == 0 or (out_ready and s[LEFT] == 1) else 0


def _tail_tick(s: Words, p: Params, mark: int, out_ready: int) -> None:
    enable = _enable(s, p, mark, out_ready)
    if s[LEFT] > 0 and out_ready:
        s[LEFT] -= 1
    if enable:
        _deliver(s, p)
        s[FINISHED] = mark


def _deliver(s: Words, p: Params) -> None:
    """A finished block moves to the output register."""
    if s[FINISHED] > 0:
        s[LEFT] = s[FINISHED]
    elif s[FINISHED] < 0:
        s[BLOCKS_JOINED] = (s[BLOCKS_JOINED] + 1) % p[JOINED]
        s[LEFT] = 1 if s[BLOCKS_JOINED] == 0 else 0


def _resting(s: Words, p: Params, outs: int) -> int:
    if s[FINISHED]:
        return FOREVER if s[LEFT] > 0 and not outs else 0
    ahead = _ahead(s, p)
    # The last step of a block is seen outside, and so is a mark that comes to the end of the line.
    cycles = min(ahead, p[WORDS] - 1 - s[WORD]) if ahead > 0 else FOREVER
    for k in range(p[DEPTH]):
        if s[LINE + p[DEPTH] - 1 - k]:
            return min(cycles, k)
    return cycles


def _rest(s: Words, p: Params, cycles: int, outs: int) -> None:
    if s[FINISHED]:
        return
    s[WORD] += min(cycles, max(_ahead(s, p), 0))
    moved = min(cycles, p[DEPTH])
    for k in range(LINE + p[DEPTH] - 1, LINE - 1, -1):
        s[k] = s[k - moved] if k - moved >= LINE else 0


STAGES = Stages(
    *(FINISHED, LINE - FINISHED, _ready, _there, _mark, _head_tick),
    *(_valid, _enable, _tail_tick),
)
FOLDED = registered(staged_kind("folded", STAGES, _resting, _rest))


class FoldedControl(StagedControl):
    """`stages` registers lie between the issue of a step and the finished sums."""

    def __init__(self, fold: Fold, stages: int) -> None:
        ends = (fold.parts, fold.last_parts) if fold.joined == 1 else (-1, -1)
        sizes = (fold.words, fold.blocks, fold.in_beats, fold.banks, fold.slices, fold.joined)
        super().__init__(FOLDED, STAGES, stages - 1, fold.steps, (*sizes, *ends))
