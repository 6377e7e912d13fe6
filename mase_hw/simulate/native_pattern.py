"""One stall pattern of the native engine: feeds blocks, compares what comes out, keeps the first thing wrong."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from mase_hw.ir import Design
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.job import Pattern
from mase_hw.simulate.native_library import Captured, Library, Settings, Status
from mase_hw.simulate.native_port import SeenPort
from mase_hw.simulate.outcome import PatternResult
from mase_hw.simulate.places import axes

_MORE = 64  # beats of room for what was fed before


class PatternRun:
    """A run of the design under one pattern, from block to block."""

    def __init__(self, pattern: Pattern, design: Design, library: Library, settings: Settings) -> None:
        self.pattern, self._design, self._settings = pattern, design, settings
        self._run = library.open(settings)
        timed, writers = pattern == "none", design.writers
        inputs = [
            SeenPort(port, "input" if len(design.inputs) == 1 else port.stream.name, "input", known.beats, timed)
            for port, known in zip(design.schedule.inputs, settings.inputs, strict=True)
        ]
        outputs = [
            SeenPort(port, design.owner(writers[port.stream.name].name), "output", known.beats, timed, axes(design, y))
            for port, known, y in zip(design.schedule.outputs, settings.outputs, design.outputs, strict=True)
        ]
        self._seen = (tuple(inputs), tuple(outputs))  # replaced as a whole: an interrupt finds all of it or none
        self._rest = [np.empty((0, x.lanes), np.int64) for x in design.inputs]  # beats of an input that was not taken
        self._status = Status.WANTS_INPUT
        self._origin: int | None = None
        self._seconds = 0.0

    @property
    def inputs(self) -> tuple[SeenPort, ...]:
        return self._seen[0]

    @property
    def outputs(self) -> tuple[SeenPort, ...]:
        return self._seen[1]

    @property
    def over(self) -> bool:
        """Whether something is wrong, or the run has ended: nothing more can be fed."""
        wrong = any(port.wrong for port in (*self.inputs, *self.outputs))
        broken = any(port.broken >= 0 for port in self._run.state.outputs)
        return wrong or broken or self._status in (Status.DONE, Status.HUNG, Status.FAILED)

    def feed(self, block: Sequence[Integers], expected: Sequence[Integers], bases: Sequence[int]) -> None:
        """The next beats of each input. `expected` holds the beats of each output from number `bases` on.

        An input that is ahead of another wants beats first; what the others have left comes before their next block.
        """
        started = time.perf_counter()
        beats = [np.concatenate([a, b]) if len(a) else b for a, b in zip(self._rest, block, strict=True)]
        used = [0] * len(beats)
        design = self._design
        samples = max(-(-len(b) // x.sample_beats) for x, b in zip(design.inputs, beats, strict=True))
        rooms = [samples * y.sample_beats + _MORE for y in design.outputs]
        while not self.over:
            captured = self._run.feed(beats, used, rooms)
            self._status = Status(captured.state.status)
            used = [port.block for port in captured.state.inputs]
            self._seen = self._compared(captured, expected, bases)
            if self._status == Status.WANTS_INPUT:
                break
        self._rest = [b[went:] for b, went in zip(beats, used, strict=True)]
        self._seconds += time.perf_counter() - started

    def _compared(
        self, captured: Captured, expected: Sequence[Integers], bases: Sequence[int]
    ) -> tuple[tuple[SeenPort, ...], tuple[SeenPort, ...]]:
        """All ports with what was captured; `self` stays as it is, but for the origin of its cycles."""
        if self._origin is None:
            self._origin = min((int(cycles[0]) for cycles in captured.input_cycles if len(cycles)), default=None)
        origin = self._origin or 0
        taken = zip(self.inputs, captured.input_cycles, strict=True)
        given = zip(self.outputs, captured.outputs, expected, bases, strict=True)
        return (
            tuple(port.moved(cycles - origin) for port, cycles in taken),
            tuple(
                port.compared(values, wanted[port.beats - base :], cycles - origin).moved(cycles - origin)
                for port, (values, cycles), wanted, base in given
            ),
        )

    def result(self) -> PatternResult:
        state = self._run.state
        ports = [*self.inputs, *self.outputs]
        states = [*state.inputs, *state.outputs]
        short = any(now.moved < port.expected for port, now in zip(ports, states, strict=True))
        short = short or any(port.beats < port.expected for port in self.outputs)  # not all of it was compared
        hang = self._hang() if self._status == Status.HUNG else None
        streams = tuple(port.result(now) for port, now in zip(ports, states, strict=True))
        complaints = [stream.complaint for stream in streams if stream.complaint]
        if self._status == Status.FAILED:
            complaints.insert(0, f"the simulation failed at cycle {state.cycle} after reset: {self._run.message}")
        complaints = complaints[:1] + ([hang] if hang else [])
        firsts, lasts = ([getattr(port, end) for port in self.outputs] for end in ("first", "last"))
        return PatternResult(
            pattern=self.pattern,
            passed=not complaints and not short,
            message="; ".join(complaints) or None,
            vectors=min(port.beats // port.stream.sample_beats for port in self.outputs),
            hang=hang,
            end_cycle=state.cycle,
            cycles=max((cycle for cycle in lasts if cycle is not None), default=None),
            latency=max((cycle for cycle in firsts if cycle is not None), default=None),
            interval=self._interval() if self.pattern == "none" else None,
            seconds=round(self._seconds, 3),
            streams=streams,
        )

    def _interval(self) -> int | None:
        """Of the slowest output: parts that no stream joins have intervals of their own."""
        gaps = [port.gap for port in self.outputs]
        return None if None in gaps else max(gap for gap in gaps if gap is not None)

    def _hang(self) -> str:
        """Where a run stopped: at the first port where nothing is offered, else at the first that nobody takes."""
        state = self._run.state
        ends = list(zip((*self.inputs, *self.outputs), (*state.inputs, *state.outputs), strict=True))
        short = [(port, now) for port, now in ends if now.moved < port.expected]
        port, now = next(((port, now) for port, now in short if not now.valid), short[0])
        why = "offered and not taken" if now.valid else "nothing is offered"
        listing = ", ".join(
            f"{port.stream.name} {now.moved}/{port.expected} valid={now.valid} ready={now.ready}" for port, now in ends
        )
        return (
            f"hang: no port moved for {self._settings.watchdog} cycles (cycle {state.cycle} after reset); "
            f"{port.stream.name} stopped after {now.moved} of {port.expected} beats, {why} [{listing}]"
        )

    def close(self) -> None:
        self._run.close()
