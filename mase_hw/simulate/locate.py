"""Where a fault begins: the first wrong component, the line of the user's model that it stands for, and its time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mase_hw.ir import Design
from mase_hw.simulate.outcome import Outcome, PatternResult, StreamResult

CLOCK_PERIOD = 2  # time steps of the test bench


@dataclass(frozen=True)
class Fault:
    """A wrong stream under a pattern, and a time at which its first wrong beat is seen, just before it moves."""

    pattern: str
    stream: str
    time: int | None


def first_wrong(result: PatternResult) -> StreamResult | None:
    """The first stream, in design order, with a wrong integer or a broken rule; else the first that complains."""
    complaining = [stream for stream in result.streams if stream.complaint]
    certain = [stream for stream in complaining if stream.mismatch or stream.broken_cycle is not None]
    return next(iter(certain or complaining), None)


def fault(result: PatternResult) -> Fault | None:
    wrong = first_wrong(result)
    if wrong is None:
        return None
    cycle = wrong.broken_cycle  # counted from reset; a mismatch's from the first input beat
    if wrong.mismatch:
        cycle = result.origin + wrong.mismatch.cycle
    time = None if cycle is None or result.start_time is None else result.start_time + CLOCK_PERIOD * cycle - 1
    return Fault(result.pattern, wrong.name, time)


def located(design: Design, outcome: Outcome) -> Outcome:
    """The outcome, its failures with the component and the line of the model that they point to."""
    places: dict[str, str] = {}
    for result in outcome.patterns:
        wrong = first_wrong(result) if result.message else None
        if wrong is not None and (place := where(design, wrong.name)):
            places[result.pattern] = place
    lines = []
    for failure in outcome.failures:
        place = places.get(failure.partition(":")[0])
        lines.append(f"{failure.rstrip()}; {place}" if place else failure)
    return replace(outcome, failures=tuple(lines))


def where(design: Design, stream: str) -> str | None:
    """Which component makes a stream, and where the user's model calls the layer that it belongs to."""
    maker = design.writers.get(stream)
    if maker is None:
        return None
    node = next((node for node in design.nodes if maker.name in node.components), None)
    if node is None:
        return f"made by {maker.name}"
    own = "" if maker.name == node.name else f"{maker.name} of "
    return f"made by {own}{node.name}" + (f", the {node.op} at {node.source}" if node.source else "")
