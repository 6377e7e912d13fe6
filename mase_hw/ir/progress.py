"""No deadlock, whatever the stalls: shown on the components' control models, one beat at a time.

Every component is run as slowly as it can be: after each beat that moves, all of them settle before the next one
moves, and no component takes a beat in the cycle in which it gives one. Whatever the environment does, a beat that
moves in this slowest run moves in every other run too, sooner or later: what a component offers after it has taken
certain beats does not depend on when it took them, and it has room for no fewer beats than in the slowest run. (If some
run stopped, look at the first beat of the slowest run that does not move there: its writer has taken, and its reader
has given, all that they had in the slowest run, so one offers it and the other takes it.) When all registers are as
they were at the end of an earlier sample, the slowest run goes on for ever, and so does every other.

Parts of a design that no stream joins are looked at one by one: the slowest run of one could leave the others waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.ir.component import Component
from mase_hw.ir.engine import STOPPED, Slow, crawl, settle
from mase_hw.ir.layout import Layout, Portion, Runner, separate
from mase_hw.ir.plumbing import Fifo
from mase_hw.ir.stream import Stream

_MAX_SAMPLES = 64  # after which the registers must have repeated themselves, once all FIFOs are full


@dataclass(frozen=True)
class Progress:
    """Whether the design goes on for ever; if not, `stuck` has the streams that wait. None: it is not known."""

    goes_on: bool
    beats: int  # moved until it was known
    stuck: tuple[str, ...] = ()


def progress(components: Sequence[Component], inputs: Sequence[Stream], outputs: Sequence[Stream]) -> Progress:
    """Inputs are always offered, in the end, and outputs always taken."""
    found = [_part_goes_on(part) for part in separate(components, inputs, outputs)]
    stuck = tuple(name for part in found for name in part.stuck)
    return Progress(all(part.goes_on for part in found), sum(part.beats for part in found), stuck)


def _part_goes_on(part: Portion) -> Progress:
    layout = Layout(part.components, part.inputs, part.outputs)
    streams, registers = layout.streams, [control.registers for control in layout.controls]
    run = Slow([len(streams) - 1, 0], [0] * len(streams), registers, [0] * max(registers))
    for control in layout.controls:
        settle(control.kind, control.words, control.params, control.registers, run.scratch)
    runner = Runner(layout, run, crawl)
    last = layout.sinks[0]
    seen: set[bytes] = set()
    room = sum(component.depth for component in part.components if isinstance(component, Fifo))
    while len(seen) <= _MAX_SAMPLES + 2 * room:
        why = runner(last, streams[last].sample_beats)
        moved = [int(count) for count in runner.run.moved]
        if why == STOPPED:
            return Progress(False, sum(moved), _stuck(layout, runner))
        phases = [count % stream.sample_beats for count, stream in zip(moved, streams, strict=True)]
        state = runner.state().tobytes() + np.array(phases).tobytes()
        if state in seen:
            return Progress(True, sum(moved))
        seen.add(state)
    return Progress(False, sum(moved))  # nobody waits, and nobody knows


def _stuck(layout: Layout, runner: Runner[Slow]) -> tuple[str, ...]:
    """Streams on which a beat is offered and not taken."""
    found = []
    for g, (control, outs) in enumerate(zip(layout.controls, layout.outs, strict=True)):
        control.words[:] = [int(word) for word in runner.net.words[g][: len(control.words)]]
        found += [s for s, valid in zip(outs, control.valids, strict=True) if valid]
    return tuple(layout.streams[s].name for s in sorted(found))
