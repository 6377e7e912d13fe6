"""One port of a design in a native run: what it carried so far, compared, and the first thing wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mase_hw.ir.cycles import PortCycles
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.native_library import PortState
from mase_hw.simulate.outcome import CycleDifference, Mismatch, StreamResult
from mase_hw.simulate.places import place


@dataclass(frozen=True)
class SeenPort:
    """A port after some blocks. Of an input only the cycles are compared.

    It is replaced as a whole, so that Ctrl-C never finds it half updated.
    """

    port: PortCycles
    label: str
    role: str
    expected: int  # beats
    timed: bool
    axes: tuple[str, ...] = ()  # of the stream's frame
    beats: int = 0  # seen so far
    equal: int = 0  # values among them that are equal
    mismatch: Mismatch | None = None
    difference: CycleDifference | None = None
    first: int | None = None  # cycle of the first beat, and of the last
    last: int | None = None
    gap: int | None = None  # cycles between samples, if steady

    @property
    def stream(self) -> Stream:
        return self.port.stream

    @property
    def wrong(self) -> bool:
        return self.mismatch is not None or self.difference is not None

    @property
    def title(self) -> str:
        name = self.stream.name
        return name if self.label == name else f"{name} ({self.label})"

    def compared(self, values: Integers, expected: Integers, cycles: Integers) -> SeenPort:
        """With the next beats' integers; `moved` with their cycles comes after."""
        assert len(values) <= len(expected), "beats that were never fed"
        wrong = values != expected[: len(values)]
        mismatch = self.mismatch
        if mismatch is None and wrong.any():
            beat, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
            vector, first = divmod(self.beats + beat, self.stream.beats)
            numbers = int(expected[beat, lane]), int(values[beat, lane]), int(cycles[beat])
            mismatch = Mismatch(vector, first * self.stream.lanes + lane, lane, *numbers)
        return replace(self, equal=self.equal + wrong.size - int(np.count_nonzero(wrong)), mismatch=mismatch)

    def moved(self, cycles: Integers) -> SeenPort:
        """With the cycles of the next beats, counted from the first input beat taken."""
        difference = self.difference
        if self.timed and difference is None:
            predicted = self.port.cycles(self.beats, len(cycles))
            differs = np.flatnonzero(cycles != predicted)
            if len(differs):
                at = int(differs[0])
                difference = CycleDifference(self.beats + at, int(predicted[at]), int(cycles[at]))
        after = replace(self, beats=self.beats + len(cycles), difference=difference)
        if not len(cycles):
            return after
        first = int(cycles[0]) if self.first is None else self.first
        return replace(after, first=first, last=int(cycles[-1]), gap=self._gap(cycles))

    def _gap(self, cycles: Integers) -> int | None:
        beats = self.stream.sample_beats
        ends = cycles[(-self.beats - 1) % beats :: beats]  # the last beat of each sample
        if len(ends) < 2:
            return self.gap
        gaps = np.diff(ends)
        steady = gaps[len(gaps) // 2 :]
        return int(steady[0]) if (steady == steady[0]).all() else None

    def result(self, state: PortState) -> StreamResult:
        broken = state.broken if state.broken >= 0 else None
        return StreamResult(
            name=self.stream.name,
            label=self.label,
            role=self.role,
            beats=state.moved,
            beats_expected=self.expected,
            compared=self.beats * self.stream.lanes if self.role == "output" else 0,
            equal=self.equal,
            mismatch=self.mismatch,
            broken_cycle=broken,
            cycles_checked=self.timed,
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
            at = place(mismatch.vector, mismatch.element, self.stream.frame, self.axes)
            return (
                f"{self.title}: {at} (lane {mismatch.lane}): "
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
