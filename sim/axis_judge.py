"""Compares the frames that an AXI4-Stream top gave with what it should have: TLAST, every integer, the padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.axis_bytes import from_bytes
from sim.axis_job import AxisJob
from sim.beats import Integers


@dataclass(frozen=True)
class Frame:
    """What came between two TLASTs, and the cycle of its last beat, counted from the first input beat taken."""

    data: bytes
    cycle: int


@dataclass(frozen=True)
class Taken:
    """One run as it was seen at the ports; `beats_in` were sent and `hang` says where it stopped, if it did."""

    frames: list[Frame]
    rest: bool  # beats came after the last TLAST
    beats_in: int
    error: bool
    error_count: int
    broken: bool
    hang: str | None


def complaint(job: AxisJob, taken: Taken, expected: Integers, wrong_lasts: int) -> tuple[str | None, dict[str, Any]]:
    """What is wrong first, and the entry of the output stream. `wrong_lasts` beats were sent with a wrong TLAST."""
    y = job.y
    size = y.values.shape[1] * ((y.width + 7) // 8)
    lengths = [len(frame.data) for frame in taken.frames]
    odd = next((k for k, length in enumerate(lengths) if length != size), None)
    whole = len(lengths) if odd is None else odd
    raw = np.frombuffer(b"".join(frame.data for frame in taken.frames[:whole]), np.uint8).reshape(whole, size)
    count = min(whole, len(expected))
    values = from_bytes(raw, y.width, y.signed)[:count]
    wrong = values != expected[:count]
    mismatch = None
    if wrong.any():
        vector, element = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        mismatch = {
            "vector": vector,
            "element": element,
            "lane": element % y.lanes,
            "expected": int(expected[vector, element]),
            "got": int(values[vector, element]),
            "cycle": taken.frames[vector].cycle,
        }
    per_beat = size // y.beats
    entry = {
        "name": y.name,
        "label": "output",
        "role": "output",
        "beats": sum(lengths) // per_beat,
        "beats_expected": len(expected) * y.beats,
        "compared": int(wrong.size),
        "equal": int(wrong.size - np.count_nonzero(wrong)),
        "mismatch": mismatch,
        "broken_cycle": None,
        "cycles_checked": False,
        "cycle_difference": None,
    }
    return _first(job, taken, mismatch, odd, len(expected), per_beat, wrong_lasts), entry


def _first(
    job: AxisJob,
    taken: Taken,
    mismatch: dict[str, Any] | None,
    odd: int | None,
    vectors: int,
    per_beat: int,
    wrong_lasts: int,
) -> str | None:
    name = job.y.name
    if taken.broken:
        return f"{name}: stream rule broken: offered in reset, or valid fell or data changed while ready was low"
    if mismatch:
        return (
            f"{name}: vector {mismatch['vector']} element {mismatch['element']} (lane {mismatch['lane']}): "
            f"expected {mismatch['expected']}, got {mismatch['got']} in TDATA, cycle {mismatch['cycle']}"
        )
    if odd is not None:
        beats = len(taken.frames[odd].data) // per_beat
        return f"{name}: TLAST came after {beats} beats of vector {odd}, not after {job.y.beats}"
    if taken.hang:
        return taken.hang
    if len(taken.frames) != vectors or taken.rest:
        more = " and beats without a TLAST" if taken.rest else ""
        return f"{name}: {len(taken.frames)} vectors came{more}, {vectors} are expected"
    if taken.error_count != wrong_lasts or taken.error != (wrong_lasts > 0):
        return (
            f"tlast_error: {wrong_lasts} beats were sent with a wrong TLAST, "
            f"the count is {taken.error_count} and the flag {int(taken.error)}"
        )
    return None
