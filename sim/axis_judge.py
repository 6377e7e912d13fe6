"""Compares the frames that an AXI4-Stream top gave with what it should have: TLAST, every integer, the padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sim.axis_bytes import from_bytes
from sim.axis_job import AxisJob, Side
from sim.beats import Integers


@dataclass(frozen=True)
class Frame:
    """What came between two TLASTs, and the cycle of its last beat, counted from the first input beat taken."""

    data: bytes
    cycle: int


@dataclass(frozen=True)
class Given:
    """What an output gave: its frames, and whether beats came after the last TLAST."""

    frames: list[Frame]
    rest: bool


@dataclass(frozen=True)
class Taken:
    """One run as it was seen at the ports; `beats_in` were sent and `hang` says where it stopped, if it did."""

    outputs: list[Given]
    beats_in: list[int]
    error: bool
    error_count: int
    broken: bool
    hang: str | None


def complaint(job: AxisJob, taken: Taken, samples: int, wrong_lasts: int) -> tuple[str | None, list[dict[str, Any]]]:
    """What is wrong first, and the entry of every output. `wrong_lasts` beats were sent with a wrong TLAST."""
    found = [_output(y, given, y.values[:samples]) for y, given in zip(job.outputs, taken.outputs, strict=True)]
    return _first(job, taken, [said for said, _ in found], samples, wrong_lasts), [entry for _, entry in found]


def _output(y: Side, given: Given, expected: Integers) -> tuple[str | None, dict[str, Any]]:
    """What is wrong with the frames that came, and the entry of the stream."""
    size = y.values.shape[1] * ((y.width + 7) // 8)
    lengths = [len(frame.data) for frame in given.frames]
    odd = next((k for k, length in enumerate(lengths) if length != size), None)
    whole = len(lengths) if odd is None else odd
    raw = np.frombuffer(b"".join(frame.data for frame in given.frames[:whole]), np.uint8).reshape(whole, size)
    count = min(whole, len(expected))
    values = from_bytes(raw, y.width, y.signed)[:count]
    wrong = values != expected[:count]
    mismatch = None
    said = None
    per_beat = size // y.beats
    if wrong.any():
        vector, element = (int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        mismatch = {
            "vector": vector,
            "element": element,
            "lane": element % y.lanes,
            "expected": int(expected[vector, element]),
            "got": int(values[vector, element]),
            "cycle": given.frames[vector].cycle,
        }
        said = (
            f"{y.name}: vector {vector} element {element} (lane {mismatch['lane']}): "
            f"expected {mismatch['expected']}, got {mismatch['got']} in TDATA, cycle {mismatch['cycle']}"
        )
    elif odd is not None:
        said = f"{y.name}: TLAST came after {lengths[odd] // per_beat} beats of vector {odd}, not after {y.beats}"
    return said, {
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
        "complaint": said,
    }


def _first(job: AxisJob, taken: Taken, said: list[str | None], samples: int, wrong_lasts: int) -> str | None:
    names = ", ".join(y.name for y in job.outputs)
    if taken.broken:
        return f"{names}: stream rule broken: offered in reset, or valid fell or data changed while ready was low"
    for text in (*said, taken.hang):
        if text:
            return text
    for y, given in zip(job.outputs, taken.outputs, strict=True):
        if len(given.frames) != samples or given.rest:
            more = " and beats without a TLAST" if given.rest else ""
            return f"{y.name}: {len(given.frames)} vectors came{more}, {samples} are expected"
    if taken.error_count != wrong_lasts or taken.error != (wrong_lasts > 0):
        return (
            f"tlast_error: {wrong_lasts} beats were sent with a wrong TLAST, "
            f"the count is {taken.error_count} and the flag {int(taken.error)}"
        )
    return None
