"""One port of a design in a native run: what it carried so far, compared, and the first thing wrong with it."""

from __future__ import annotations

import numpy as np

from mase_hw.ir.cycles import PortCycles
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.native_library import PortState
from mase_hw.simulate.outcome import CycleDifference, Mismatch, StreamResult


class SeenPort:
    """A port from block to block. Of an input only the cycles are compared."""

    def __init__(self, port: PortCycles, label: str, role: str, expected: int, *, timed: bool) -> None:
        self.stream, self.label, self.role, self.expected = port.stream, label, role, expected
        self.beats = 0  # seen so far
        self.mismatch: Mismatch | None = None
        self.difference: CycleDifference | None = None
        self.first: int | None = None  # cycle of the first beat, and of the last
        self.last: int | None = None
        self.gap: int | None = None  # cycles between samples, if steady
        self._port, self._timed, self._equal = port, timed, 0

    @property
    def wrong(self) -> bool:
        return self.mismatch is not None or self.difference is not None

    @property
    def title(self) -> str:
        name = self.stream.name
        return name if self.label == name else f"{name} ({self.label})"

    def compare(self, values: Integers, expected: Integers, cycles: Integers) -> None:
        """The next beats' integers; `move` with their cycles comes after."""
        assert len(values) <= len(expected), "beats that were never fed"
        wrong = values != expected[: len(values)]
        self._equal += wrong.size - int(np.count_nonzero(wrong))
        if self.mismatch is None and wrong.any():
            beat, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            vector, place = divmod(self.beats + beat, self.stream.beats)
            numbers = int(expected[beat, lane]), int(values[beat, lane]), int(cycles[beat])
            self.mismatch = Mismatch(vector, place * self.stream.lanes + lane, lane, *numbers)

    def move(self, cycles: Integers) -> None:
        """The cycles of the next beats, counted from the first input beat taken."""
        if self._timed:
            predicted = self._port.cycles(self.beats, len(cycles))
            differs = np.flatnonzero(cycles != predicted)
            if len(differs) and self.difference is None:
                at = int(differs[0])
                self.difference = CycleDifference(self.beats + at, int(predicted[at]), int(cycles[at]))
        if len(cycles):
            self._note(cycles)
        self.beats += len(cycles)

    def _note(self, cycles: Integers) -> None:
        if self.first is None:
            self.first = int(cycles[0])
        beats = self.stream.sample_beats
        ends = cycles[(-self.beats - 1) % beats :: beats]  # the last beat of each sample
        if len(ends) > 1:
            gaps = np.diff(ends)
            steady = gaps[len(gaps) // 2 :]
            self.gap = int(steady[0]) if (steady == steady[0]).all() else None
        self.last = int(cycles[-1])

    def result(self, state: PortState) -> StreamResult:
        broken = state.broken if state.broken >= 0 else None
        return StreamResult(
            name=self.stream.name,
            label=self.label,
            role=self.role,
            beats=state.moved,
            beats_expected=self.expected,
            compared=self.beats * self.stream.lanes if self.role == "output" else 0,
            equal=self._equal,
            mismatch=self.mismatch,
            broken_cycle=broken,
            cycles_checked=self._timed,
            cycle_difference=self.difference,
            complaint=self._complaint(state.moved, broken),
        )

    def _complaint(self, beats: int, broken: int | None) -> str | None:
        if broken is not None:
            return (
                f"{self.title}: stream rule broken at cycle {broken} after reset: "
                f"valid fell or data changed while ready was low"
            )
        if (mismatch := self.mismatch) is not None:
            return (
                f"{self.title}: vector {mismatch.vector} element {mismatch.element} (lane {mismatch.lane}): "
                f"expected {mismatch.expected}, got {mismatch.got}, cycle {mismatch.cycle}"
            )
        if beats > self.expected:
            return f"{self.title}: {beats} beats came, {self.expected} are expected"
        if (difference := self.difference) is not None:
            return (
                f"{self.title}: beat {difference.beat} is predicted at cycle {difference.predicted} "
                f"and came at cycle {difference.observed}"
            )
        return None
