"""Exact cycles of a design before any simulation: the components' controls run together until they repeat themselves.

A design's control has finitely many states. When, at the end of an output vector, all registers are as they were at the
end of an earlier one, everything from there on repeats with that period; the cycles of any number of vectors follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mase_hw.ir.component import Component, Pipe, runs
from mase_hw.ir.control import FOREVER, Control, PipeControl
from mase_hw.numerics.rounding import Integers

_MAX_STEPS = 50_000_000  # cycles in which something moves; a design has far fewer before it repeats itself


@dataclass(frozen=True)
class Schedule:
    """In which cycle each beat moves in an unstalled run; cycle 0 is the one in which the first input beat is taken."""

    inputs: Integers  # [vectors seen, input beats]
    outputs: Integers  # [vectors seen, output beats]
    period: int  # vectors after which the cycles repeat
    period_cycles: int

    @property
    def latency(self) -> int:
        """First input beat taken to first output beat offered."""
        return int(self.outputs[0, 0])

    @property
    def interval(self) -> Fraction:
        """Cycles per vector in steady state."""
        return Fraction(self.period_cycles, self.period)

    def output_cycles(self, vectors: int) -> Integers:
        """[vectors, beats]: the cycle of each output beat."""
        return self._extend(self.outputs, vectors)

    def input_cycles(self, vectors: int) -> Integers:
        """[vectors, beats]: the cycle of each input beat."""
        return self._extend(self.inputs, vectors)

    def _extend(self, seen: Integers, vectors: int) -> Integers:
        index = np.arange(vectors)
        beyond = np.maximum(index - len(seen) + self.period, 0) // self.period  # whole periods past what was seen
        return np.asarray(seen[index - beyond * self.period] + beyond[:, None] * self.period_cycles)


def schedule(chain: Sequence[Component]) -> Schedule:
    """The schedule of components that follow one another, fed and drained without a stall."""
    controls = [_control(run) for run in runs(chain)]
    in_beats, out_beats = chain[0].input.beats, chain[-1].output.beats
    taken: list[int] = []
    given: list[int] = []
    seen: dict[tuple[object, ...], tuple[int, int]] = {}
    ready = [True] * (len(controls) + 1)  # ready[i]: of the stream into component i; the last is the sink's
    cycle = -1
    for _ in range(_MAX_STEPS):
        cycle += 1
        for i in range(len(controls) - 1, -1, -1):
            ready[i] = controls[i].ready(ready[i + 1])
        if quiet := _quiet(controls, ready):
            for i, control in enumerate(controls):
                control.skip(quiet, ready[i + 1])
            cycle += quiet - 1
            continue
        valid = True
        if ready[0]:
            taken.append(cycle)
        if controls[-1].valid:
            given.append(cycle)
        for i, control in enumerate(controls):
            take, valid = valid and ready[i], control.valid
            control.tick(take, ready[i + 1])
        if given and given[-1] == cycle and len(given) % out_beats == 0:
            state = (len(taken) % in_beats, *(control.state() for control in controls))
            vector = len(given) // out_beats
            if state in seen:
                earlier, at = seen[state]
                return _repeat(taken, given, in_beats, out_beats, vector - earlier, cycle - at)
            seen[state] = (vector, cycle)
    raise AssertionError(f"no steady state within {_MAX_STEPS} steps")


def _control(run: Sequence[Component]) -> Control:
    """The control of components that move together: pipes are one long pipe."""
    if isinstance(run[0], Pipe):
        return PipeControl(sum(component.latency for component in run))
    return run[0].control()


def _quiet(controls: Sequence[Control], ready: Sequence[bool]) -> int:
    """Cycles that can pass at once: no beat moves now, and nothing that anyone can see changes before they are over."""
    if ready[0]:  # the source always offers a beat
        return 0
    if any(control.valid and ready[i + 1] for i, control in enumerate(controls)):
        return 0
    cycles = min(control.quiet(ready[i + 1]) for i, control in enumerate(controls))
    assert cycles < FOREVER, "the design is deadlocked"
    return cycles


def _repeat(taken: list[int], given: list[int], in_beats: int, out_beats: int, period: int, cycles: int) -> Schedule:
    vectors = len(given) // out_beats
    outputs = np.array(given, dtype=np.int64).reshape(vectors, out_beats)
    back = period * in_beats
    taken = taken + [cycle + cycles for cycle in taken[-back:]]  # so that the last whole rows lie within the period
    whole = len(taken) // in_beats
    inputs = np.array(taken[: whole * in_beats], dtype=np.int64).reshape(whole, in_beats)
    start = inputs[0, 0]
    return Schedule(inputs - start, outputs - start, period, cycles)
