"""A folded layer of any size: its handshake is the predicted one, and it gives the sums of its matrix."""

from __future__ import annotations

from itertools import product

import numpy as np

from mase_hw.ir.staged import StagedControl
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.folded import LinearFolded
from mase_hw.ops.linear.folded_control import FOLDED
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.claims.witness import find_witness
from mase_hw.prove.control.line import Line, find_line
from mase_hw.prove.folded.head import Head
from mase_hw.prove.folded.places import Places
from mase_hw.prove.folded.rows import Array
from mase_hw.prove.folded.tail import Tail
from mase_hw.prove.folded.widths import prove_accumulators
from mase_hw.prove.netlist.cones import Cones
from mase_hw.prove.netlist.netlist import Netlist
from mase_hw.prove.words.reference import rows_of


class FoldedProof:
    """Handshake, then values, then widths; each says how it was proved, or raises."""

    def __init__(self, component: LinearFolded, netlist: Netlist) -> None:
        self.component, self.netlist, self.fold = component, netlist, component.fold
        self._parts: tuple[Head, Tail, Line] | None = None
        self._offset: int | None = None
        self._array: Array | None = None

    def handshake(self) -> str:
        if not self.component.array.accumulates or self.component.array.pairs:
            raise NotProvedError("its blocks take one step, or two products share a multiplier")
        places, cones = Places(self.fold), Cones(self.netlist)
        control = self.component.control()
        assert isinstance(control, StagedControl)
        check_model(places, control, self.component.stages - 1)
        line = find_line(self.netlist, control.depth)
        head, tail = Head(places, self.component.input, cones), Tail(self.component, cones, line)
        head.check_counters()
        tail.check_control()
        self._parts = head, tail, line
        within = self.fold.steps + line.depth + 2
        return (
            f"an invariant of its counters, each compared by itself, for {self.fold.steps:,} steps and {line.depth} "
            "levels that hand on what they take: as predicted, cycle by cycle; "
            f"no deadlock: a beat moves within {within:,} cycles"
        )

    def values(self) -> str:
        if self._parts is None:
            raise NotProvedError("its handshake was not proved")
        try:
            return self._values(*self._parts)
        except NotProvedError as error:
            found = find_witness(self.component, self.netlist)
            text = str(error) if found is None else f"{error}; {found}"
            raise NotProvedError(text, refuted=found is not None) from error

    def _values(self, head: Head, tail: Tail, line: Line) -> str:
        head.check_buffer()
        array = Array(self.component, head, self.netlist, line)
        offset = self._check_weights(array, head.places)
        lo, hi = self._bounds
        rounded = tail.check_data(array, offset, int(lo.min()), int(hi.max()))
        self._offset, self._array = offset, array
        return f"every row of the array for all its values, and what all {self.fold.steps:,} steps add{rounded}"

    @property
    def _bounds(self) -> tuple[Integers, Integers]:
        """The least and the greatest sum of each output."""
        factors, constants = rows_of(self.component)
        lo, hi = (np.asarray(side, np.int64) for side in self.component.input.bounds)
        up, down = np.maximum(factors, 0), np.minimum(factors, 0)
        return np.asarray(up @ lo + down @ hi + constants), np.asarray(up @ hi + down @ lo + constants)

    def _check_weights(self, array: Array, places: Places) -> int:
        """What the accumulators hold besides the sums, the same for all outputs; raises where a weight is another."""
        rows, constants = rows_of(self.component)
        fold, modulo = self.fold, 1 << array.bits
        shape = fold.blocks, fold.words, fold.p_out
        outputs, inputs = places.outputs, places.inputs
        wanted = np.where(inputs[None, :, None, :] < 0, 0, rows[outputs[:, None, :, None], inputs[None, :, None, :]])
        there = outputs >= 0
        wrong = ((array.factors.reshape(*shape, -1) - wanted) % modulo != 0) & there[:, None, :, None]
        if wrong.any():
            block, word, lane, x = (int(k) for k in np.argwhere(wrong)[0])
            found = int(array.factors.reshape(*shape, -1)[block, word, lane, x])
            place = f"output {outputs[block, lane]}, input {inputs[word, x]}"
            raise NotProvedError(f"{place}: a weight of {found}, not {wanted[block, word, lane, x]}")
        sums = array.constants.reshape(shape).sum(1) + np.array(array.bases)
        left = (sums - constants[outputs])[there] % modulo
        if len(np.unique(left)) != 1:
            raise NotProvedError("what is added to the sums differs from output to output")
        return int(left[0]) - (modulo if left[0] >= modulo >> 1 else 0)

    def widths(self) -> tuple[str, tuple[Reached, ...]]:
        """The accumulators are as wide as their widest finished sum, which two inputs show."""
        if self._offset is None or self._array is None:
            raise NotProvedError("its values were not proved")
        lo, hi = (side + self._offset for side in self._bounds)
        outputs = Places(self.fold).outputs
        return prove_accumulators(self.netlist, self._array, rows_of(self.component)[0], (lo, hi), outputs)


def check_model(places: Places, control: StagedControl, depth: int) -> None:
    """The model that predicts cycles has these numbers, and moves by them: tried around both ends of every counter."""
    fold = places.fold
    ends = (fold.parts, fold.last_parts) if fold.joined == 1 else (-1, -1)
    sizes = (depth, fold.words, fold.blocks, fold.in_beats, fold.banks, fold.slices, fold.joined, *ends)
    if control.kind is not FOLDED or control.params != sizes or any(control.state()):
        raise NotProvedError("its model counts otherwise")
    beats = _near(fold.in_beats, fold.banks)
    for ahead, beat, word, block, half in product(range(3), beats, _near(fold.words, 1), _near(fold.blocks, 1), (0, 1)):
        written = fold.words if ahead else beat // fold.banks * fold.slices
        if (ahead == 2 and beat) or (not ahead and (block or word > written)):
            continue  # no such state is met
        _check_head(control, (ahead, beat, word, block, half), written)
    for left, finished, mark, joined in product(range(fold.parts + 1), {0, *ends}, {0, *ends}, range(fold.joined)):
        for ready in (False, True):
            _check_tail(control, (finished, joined, left), mark, ready)


def _near(count: int, step: int) -> list[int]:
    """Numbers below `count` around which anything may happen."""
    return sorted({k for at in (0, step, 2 * step, count) for k in (at - 1, at, at + 1)} & set(range(count)))


def _check_head(control: StagedControl, at: tuple[int, int, int, int, int], written: int) -> None:
    ahead, beat, word, block, half = at
    _, words, blocks, in_beats = control.params[:4]

    def state(ahead: int, beat: int, word: int, block: int, half: int) -> list[int]:
        full = [int(ahead > (h - half) % 2) for h in (0, 1)]
        return [*full, beat, (half + ahead) % 2, half, word, block]

    for valid, enable in product((0, 1), (0, 1)):
        head = control.head
        head.words[:7] = state(*at)
        ready, there = ahead < 2, word < written
        mark = control.params[7 + (block == blocks - 1)] if word == words - 1 else 0
        if head.ready(bool(enable)) != ready or head.issue() != (mark if there else None):
            raise NotProvedError("its model has another ready, or issues other steps")
        takes, issues = ready and valid == 1, there and enable == 1
        whole = takes and beat + 1 == in_beats
        step = (block * words + word + issues) % (words * blocks)
        read = issues and not step
        then = (ahead + whole - read, (beat + takes) % in_beats, step % words, step // words, half ^ read)
        head.tick(takes, bool(enable))
        if list(head.state()) != state(*then):
            raise NotProvedError("its model moves otherwise")


def _check_tail(control: StagedControl, at: tuple[int, int, int], mark: int, ready: bool) -> None:
    finished, joined, left = at
    of_beat = control.params[6]
    tail = control.tail
    tail.words[7:10] = list(at)
    free = left == 0 or (ready and left == 1)
    enable = finished == 0 or free
    if tail.valid != (left > 0) or tail.enable(mark, ready) != enable:
        raise NotProvedError("its model has another valid, or another enable")
    then = left - (ready and left > 0)
    if finished and free:
        joined = (joined + 1) % of_beat if finished < 0 else joined
        then = finished if finished > 0 else int(joined == 0)
    tail.tick(mark, ready)
    if list(tail.state()) != [mark if enable else finished, joined, then]:
        raise NotProvedError("its model moves otherwise")
