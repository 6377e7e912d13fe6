"""One stall pattern of the native engine: feeds blocks, compares what comes out, keeps the first thing wrong."""

from __future__ import annotations

import time

import numpy as np

from mase_hw.ir import Design
from mase_hw.ir.cycles import PortCycles
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.bench import Pattern
from mase_hw.simulate.native_library import Captured, Library, Settings, Status
from mase_hw.simulate.outcome import CycleDifference, Mismatch, PatternResult, StreamResult


class PatternRun:
    """A run of the design under one pattern, from block to block."""

    def __init__(self, pattern: Pattern, design: Design, vectors: int, library: Library, settings: Settings) -> None:
        self.pattern, self._design, self._vectors, self._settings = pattern, design, vectors, settings
        self._run = library.open(settings)
        self.beats = 0  # output beats compared
        self._status = Status.WANTS_INPUT
        self._equal = 0
        self._mismatch: Mismatch | None = None
        self._differences: dict[str, CycleDifference] = {}
        self._origin: int | None = None
        self._first: int | None = None
        self._last: int | None = None
        self._gap: int | None = None  # cycles between vectors, if steady
        self._seconds = 0.0

    @property
    def over(self) -> bool:
        """Whether something is wrong, or the run has ended: nothing more can be fed."""
        state = self._run.state
        wrong = self._mismatch or self._differences or state.broken >= 0
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
            self._compare(captured, expected[self.beats - base :], taken)
            if self._status == Status.WANTS_INPUT:
                break
        self._seconds += time.perf_counter() - started

    def _compare(self, captured: Captured, expected: Integers, taken: int) -> None:
        if self._origin is None and len(captured.input_cycles):
            self._origin = int(captured.input_cycles[0])
        origin = self._origin or 0
        values, cycles = captured.values, captured.cycles - origin
        assert len(values) <= len(expected), "beats that were never fed"
        wrong = values != expected[: len(values)]
        self._equal += wrong.size - int(np.count_nonzero(wrong))
        if self._mismatch is None and wrong.any():
            beat, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            vector, place = divmod(self.beats + beat, self._design.output.beats)
            element = place * self._design.output.lanes + lane
            numbers = int(expected[beat, lane]), int(values[beat, lane]), int(cycles[beat])
            self._mismatch = Mismatch(vector, element, lane, *numbers)
        if self.pattern == "none":
            timing = self._design.schedule
            rows = (
                ("input", timing.inputs[0], captured.input_cycles - origin, taken),
                ("output", timing.outputs[0], cycles, self.beats),
            )
            for role, port, seen, first in rows:
                self._check_cycles(role, port, seen, first)
        if len(cycles):
            self._note(cycles)
        self.beats += len(values)

    def _check_cycles(self, role: str, port: PortCycles, seen: Integers, first: int) -> None:
        predicted = port.cycles(first, len(seen))
        differs = np.flatnonzero(seen != predicted)
        if len(differs) and role not in self._differences:
            at = int(differs[0])
            self._differences[role] = CycleDifference(first + at, int(predicted[at]), int(seen[at]))

    def _note(self, cycles: Integers) -> None:
        if self._first is None:
            self._first = int(cycles[0])
        beats = self._design.output.beats
        ends = cycles[(-self.beats - 1) % beats :: beats]  # the last beat of each vector
        if len(ends) > 1:
            gaps = np.diff(ends)
            steady = gaps[len(gaps) // 2 :]
            self._gap = int(steady[0]) if (steady == steady[0]).all() else None
        self._last = int(cycles[-1])

    def result(self) -> PatternResult:
        state, set_, design = self._run.state, self._settings, self._design
        short = state.taken < set_.beats_in or state.given < set_.beats_out
        hang = self._hang() if self._status == Status.HUNG else None
        streams = (
            self._stream("input", design.input.name, state.taken, set_.beats_in, 0, 0),
            self._stream("output", design.output.name, state.given, set_.beats_out, self.beats, self._equal),
        )
        complaints = [stream.complaint for stream in streams if stream.complaint]
        if self._status == Status.FAILED:
            complaints.insert(0, f"the simulation failed at cycle {state.cycle} after reset: {self._run.message}")
        complaints = complaints[:1] + ([hang] if hang else [])
        return PatternResult(
            pattern=self.pattern,
            passed=not complaints and not short,
            message="; ".join(complaints) or None,
            vectors=self.beats // design.output.beats,
            hang=hang,
            end_cycle=state.cycle,
            cycles=self._last,
            latency=self._first,
            interval=self._gap if self.pattern == "none" else None,
            seconds=round(self._seconds, 3),
            streams=streams,
        )

    def _stream(self, role: str, name: str, beats: int, expected: int, compared: int, equal: int) -> StreamResult:
        lanes = self._design.output.lanes
        output = role == "output"
        broken = self._run.state.broken if output and self._run.state.broken >= 0 else None
        mismatch = self._mismatch if output else None
        difference = self._differences.get(role)
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
