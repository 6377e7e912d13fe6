"""One stall pattern of the native engine: feeds blocks, compares what comes out, keeps the first thing wrong."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from mase_hw.ir import Design
from mase_hw.ir.cycles import PortCycles
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.bench import Pattern
from mase_hw.simulate.native_library import Captured, Library, Settings, Status
from mase_hw.simulate.outcome import CycleDifference, Mismatch, PatternResult, StreamResult


@dataclass(frozen=True)
class _Tally:
    """What was compared so far. It is replaced as a whole, so that Ctrl-C never finds it half updated."""

    beats: int = 0  # output beats compared
    equal: int = 0  # values among them that are equal
    mismatch: Mismatch | None = None
    differences: Mapping[str, CycleDifference] = field(default_factory=lambda: MappingProxyType({}))  # by role
    origin: int | None = None  # the cycle of the first input beat
    first: int | None = None  # cycles of the first and the last output beat, from the origin on
    last: int | None = None
    gap: int | None = None  # cycles between vectors, if steady


class PatternRun:
    """A run of the design under one pattern, from block to block."""

    def __init__(self, pattern: Pattern, design: Design, vectors: int, library: Library, settings: Settings) -> None:
        self.pattern, self._design, self._vectors, self._settings = pattern, design, vectors, settings
        self._run = library.open(settings)
        self._status = Status.WANTS_INPUT
        self._tally = _Tally()
        self._seconds = 0.0

    @property
    def beats(self) -> int:
        """Output beats compared."""
        return self._tally.beats

    @property
    def over(self) -> bool:
        """Whether something is wrong, or the run has ended: nothing more can be fed."""
        tally = self._tally
        wrong = tally.mismatch or tally.differences or self._run.state.broken >= 0
        return bool(wrong) or self._status in (Status.DONE, Status.HUNG, Status.FAILED)

    def feed(self, beats: Integers, expected: Integers, base: int) -> None:
        """A block of input beats. `expected` holds the output beats from number `base` on."""
        started = time.perf_counter()
        used = 0
        while not self.over:
            taken = self._run.state.taken
            captured = self._run.feed(
                beats, used, len(beats) * self._design.output.beats // self._design.input.beats + 64
            )
            self._status, used = Status(captured.state.status), captured.state.used
            self._tally = self._compared(captured, expected[self.beats - base :], taken)
            if self._status == Status.WANTS_INPUT:
                break
        self._seconds += time.perf_counter() - started

    def _compared(self, captured: Captured, expected: Integers, taken: int) -> _Tally:
        """The tally with what was captured; `self` stays as it is."""
        before, design = self._tally, self._design
        origin = before.origin
        if origin is None and len(captured.input_cycles):
            origin = int(captured.input_cycles[0])
        values, cycles = captured.values, captured.cycles - (origin or 0)
        assert len(values) <= len(expected), "beats that were never fed"
        wrong = values != expected[: len(values)]
        mismatch = before.mismatch
        if mismatch is None and wrong.any():
            beat, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            vector, place = divmod(before.beats + beat, design.output.beats)
            element = place * design.output.lanes + lane
            numbers = int(expected[beat, lane]), int(values[beat, lane]), int(cycles[beat])
            mismatch = Mismatch(vector, element, lane, *numbers)
        differences = dict(before.differences)
        if self.pattern == "none":
            timing = design.schedule
            rows = (
                ("input", timing.inputs[0], captured.input_cycles - (origin or 0), taken),
                ("output", timing.outputs[0], cycles, before.beats),
            )
            for role, port, seen, first in rows:
                difference = self._cycle_difference(port, seen, first)
                if difference is not None:
                    differences.setdefault(role, difference)
        tally = replace(
            before,
            beats=before.beats + len(values),
            equal=before.equal + wrong.size - int(np.count_nonzero(wrong)),
            mismatch=mismatch,
            differences=MappingProxyType(differences),
            origin=origin,
        )
        return self._with_cycles(tally, cycles) if len(cycles) else tally

    def _cycle_difference(self, port: PortCycles, seen: Integers, first: int) -> CycleDifference | None:
        predicted = port.cycles(first, len(seen))
        differs = np.flatnonzero(seen != predicted)
        if not len(differs):
            return None
        at = int(differs[0])
        return CycleDifference(first + at, int(predicted[at]), int(seen[at]))

    def _with_cycles(self, tally: _Tally, cycles: Integers) -> _Tally:
        """The tally with the cycles of its last output beats."""
        beats = self._design.output.beats
        gap = tally.gap
        ends = cycles[(len(cycles) - tally.beats - 1) % beats :: beats]  # the last beat of each vector
        if len(ends) > 1:
            gaps = np.diff(ends)
            steady = gaps[len(gaps) // 2 :]
            gap = int(steady[0]) if (steady == steady[0]).all() else None
        first = int(cycles[0]) if tally.first is None else tally.first
        return replace(tally, first=first, last=int(cycles[-1]), gap=gap)

    def result(self) -> PatternResult:
        state, set_, design, tally = self._run.state, self._settings, self._design, self._tally
        short = state.taken < set_.beats_in or tally.beats < set_.beats_out
        hang = self._hang() if self._status == Status.HUNG else None
        streams = (
            self._stream("input", design.input.name, state.taken, set_.beats_in, 0, 0),
            self._stream("output", design.output.name, state.given, set_.beats_out, tally.beats, tally.equal),
        )
        complaints = [stream.complaint for stream in streams if stream.complaint]
        if self._status == Status.FAILED:
            complaints.insert(0, f"the simulation failed at cycle {state.cycle} after reset: {self._run.message}")
        complaints = complaints[:1] + ([hang] if hang else [])
        return PatternResult(
            pattern=self.pattern,
            passed=not complaints and not short,
            message="; ".join(complaints) or None,
            vectors=tally.beats // design.output.beats,
            hang=hang,
            end_cycle=state.cycle,
            cycles=tally.last,
            latency=tally.first,
            interval=tally.gap if self.pattern == "none" else None,
            seconds=round(self._seconds, 3),
            streams=streams,
        )

    def _stream(self, role: str, name: str, beats: int, expected: int, compared: int, equal: int) -> StreamResult:
        lanes = self._design.output.lanes
        output = role == "output"
        broken = self._run.state.broken if output and self._run.state.broken >= 0 else None
        mismatch = self._tally.mismatch if output else None
        difference = self._tally.differences.get(role)
        label = self._design.owner(self._design.components[-1].name) if output else "input"
        complaint = None
        if broken is not None:
            complaint = (
                f"{name} ({label}): stream rule broken at cycle {broken} after reset: "
                f"valid fell or data changed while ready was low"
            )
        elif mismatch:
            complaint = (
                f"{name} ({label}): vector {mismatch.vector} element {mismatch.element} (lane {mismatch.lane}): "
                f"expected {mismatch.expected}, got {mismatch.got}, cycle {mismatch.cycle}"
            )
        elif beats > expected:
            complaint = f"{name} ({label}): {beats} beats came, {expected} are expected"
        elif difference:
            complaint = (
                f"{name} ({label}): beat {difference.beat} is predicted at cycle {difference.predicted} "
                f"and came at cycle {difference.observed}"
            )
        return StreamResult(
            name=name,
            label=label,
            role=role,
            beats=beats,
            beats_expected=expected,
            compared=compared * lanes,
            equal=equal,
            mismatch=mismatch,
            broken_cycle=broken,
            cycles_checked=self.pattern == "none",
            cycle_difference=difference,
            complaint=complaint,
        )

    def _hang(self) -> str:
        """Where a run stopped: at the output if nothing is offered there, else at the input."""
        state, set_, design = self._run.state, self._settings, self._design
        ends = (
            (design.input.name, state.taken, set_.beats_in, state.in_valid, state.in_ready),
            (design.output.name, state.given, set_.beats_out, state.out_valid, state.out_ready),
        )
        short = [end for end in ends if end[1] < end[2]]
        name, beats, wanted, valid, _ = next((end for end in short if not end[3]), short[0])
        why = "offered and not taken" if valid else "nothing is offered"
        listing = ", ".join(f"{n} {b}/{w} valid={v} ready={r}" for n, b, w, v, r in ends)
        return (
            f"hang: neither end moved for {set_.watchdog} cycles (cycle {state.cycle} after reset); {name} stopped "
            f"after {beats} of {wanted} beats, {why} [{listing}]"
        )

    def close(self) -> None:
        self._run.close()
