"""Compares what a run recorded with what it should have: every stream, every integer, with `==`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sim.beats import Integers, from_record
from sim.job import Job, Stream


@dataclass(frozen=True)
class Seen:
    """One stream at the end of a run: its counters and pins, and the record of its accepted beats."""

    beats: int
    valid: bool
    ready: bool
    broken_cycle: int | None
    record: bytes


@dataclass(frozen=True)
class Mismatch:
    """The first wrong integer of a stream."""

    vector: int
    element: int
    lane: int
    expected: int
    got: int
    cycle: int


@dataclass(frozen=True)
class CycleDifference:
    """The first beat that was not taken in the predicted cycle; None stands for no such beat."""

    beat: int
    predicted: int | None
    observed: int | None


def judge(job: Job, pattern: str, seen: list[Seen], hung: bool, end: int) -> dict[str, Any]:
    """One pattern's entry of `results.json`; `message` is None where everything is right."""
    decoded = [from_record(s.record, t.lanes, t.width, t.signed) for s, t in zip(seen, job.streams, strict=True)]
    for (cycles, _), one, stream in zip(decoded, seen, job.streams, strict=True):
        assert len(cycles) == one.beats, f"{stream.title}: {len(cycles)} beats recorded, {one.beats} counted"
    starts = [int(c[0]) for (c, _), s in zip(decoded, job.streams, strict=True) if s.role == "input" and len(c)]
    outputs = [(c, s) for (c, _), s in zip(decoded, job.streams, strict=True) if s.role == "output" and len(c)]
    origin = min(starts, default=0)
    streams = [
        _stream(s, one, cycles - origin, values, check_cycles=pattern == "none")
        for s, one, (cycles, values) in zip(job.streams, seen, decoded, strict=True)
    ]
    hang = _hang(job, seen, end) if hung else None
    # Stable, so within a rank the first in design order. Beats that never came are often only waiting for a stream
    # further on that is truly wrong; in a hang they are what the hang says, and it says it better.
    ranked = sorted((s for s in streams if s["complaint"]), key=_rank)
    first = [s["complaint"] for s in ranked[:1] if not hang or _rank(s) == 0]
    parts = first + ([hang] if hang else [])
    return {
        "pattern": pattern,
        "passed": not parts,
        "message": "; ".join(parts) or None,
        "vectors": job.samples,
        "hang": hang,
        "end_cycle": end,
        "origin": origin,
        "cycles": max((int(c[-1]) for c, _ in outputs), default=origin) - origin if outputs else None,
        "latency": max(int(c[0]) for c, _ in outputs) - origin if outputs else None,
        "interval": _interval(outputs[0][0], outputs[0][1].beats // job.samples) if outputs else None,
        "streams": streams,
    }


def _rank(stream: dict[str, Any]) -> int:
    """0: a wrong integer, a broken rule, a beat too many; 1: beats missing; 2: only the cycles differ."""
    if stream["mismatch"] or stream["broken_cycle"] is not None or stream["beats"] > stream["beats_expected"]:
        return 0
    return 1 if stream["beats"] < stream["beats_expected"] else 2


def _stream(stream: Stream, seen: Seen, cycles: Integers, values: Integers, check_cycles: bool) -> dict[str, Any]:
    wanted = stream.values.reshape(-1, stream.lanes)
    compared = min(len(values), len(wanted))
    wrong = values[:compared] != wanted[:compared]
    mismatch: Mismatch | None = None
    if wrong.any():
        beat, lane = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        vector, place = divmod(beat, stream.beats_per_vector)
        mismatch = Mismatch(
            vector,
            place * stream.lanes + lane,
            lane,
            int(wanted[beat, lane]),
            int(values[beat, lane]),
            int(cycles[beat]),
        )
    difference = _cycle_difference(stream, cycles) if check_cycles else None
    complaint = None
    if seen.broken_cycle is not None:
        complaint = (
            f"{stream.title}: stream rule broken at cycle {seen.broken_cycle} after reset: "
            f"valid fell or data changed while ready was low"
        )
    elif mismatch:
        complaint = (
            f"{stream.title}: {stream.place(mismatch.vector, mismatch.element)} (lane {mismatch.lane}): "
            f"expected {mismatch.expected}, got {mismatch.got}, cycle {mismatch.cycle}"
        )
    elif len(values) != len(wanted):
        complaint = f"{stream.title}: {len(values)} beats came, {len(wanted)} are expected"
    elif difference:
        complaint = (
            f"{stream.title}: beat {difference.beat} is predicted at cycle {difference.predicted} "
            f"and came at cycle {difference.observed}"
        )
    return {
        "name": stream.name,
        "label": stream.label,
        "role": stream.role,
        "beats": len(values),
        "beats_expected": len(wanted),
        "compared": compared * stream.lanes,
        "equal": int(wrong.size - np.count_nonzero(wrong)),
        "mismatch": asdict(mismatch) if mismatch else None,
        "broken_cycle": seen.broken_cycle,
        "cycles_checked": check_cycles and stream.predicted is not None,
        "cycle_difference": asdict(difference) if difference else None,
        "complaint": complaint,
    }


def _cycle_difference(stream: Stream, cycles: Integers) -> CycleDifference | None:
    """Cycles are counted from the first input beat taken, the prediction's origin too."""
    if stream.predicted is None:
        return None
    predicted = stream.predicted.reshape(-1)
    both = min(len(cycles), len(predicted))
    differs = np.flatnonzero(cycles[:both] != predicted[:both])
    if not len(differs) and len(cycles) == len(predicted):
        return None
    beat = int(differs[0]) if len(differs) else both
    return CycleDifference(
        beat,
        int(predicted[beat]) if beat < len(predicted) else None,
        int(cycles[beat]) if beat < len(cycles) else None,
    )


def _interval(cycles: Integers, sample_beats: int) -> int | None:
    """Cycles between samples, where the second half of the run has one steady value."""
    gaps = np.diff(cycles[sample_beats - 1 :: sample_beats])
    steady = gaps[len(gaps) // 2 :]
    return int(steady[0]) if len(steady) and (steady == steady[0]).all() else None


def _hang(job: Job, seen: list[Seen], end: int) -> str:
    """Where a run stopped: the first stream that nothing is offered on, or else the first that nobody takes."""
    short = [(t, s) for t, s in zip(job.streams, seen, strict=True) if s.beats < t.beats]
    starved = [(t, s) for t, s in short if not s.valid]
    stream, state = (starved or short)[0]
    why = "offered and not taken" if state.valid else "nothing is offered"
    listing = ", ".join(
        f"{t.name} {s.beats}/{t.beats} valid={int(s.valid)} ready={int(s.ready)}"
        for t, s in zip(job.streams, seen, strict=True)
    )
    return (
        f"hang: no stream moved for {job.watchdog} cycles (cycle {end} after reset); {stream.title} stopped after "
        f"{state.beats} of {stream.beats} beats, {why} [{listing}]"
    )
