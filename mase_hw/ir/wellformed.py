"""What lowering must have ensured of a design, and what a build folder may have changed: every complaint about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mase_hw.ir.component import Component, Pipe
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers

if TYPE_CHECKING:
    from mase_hw.ir.design import Design

CHECKED = 16  # random vectors on which a meaning is compared with the integers


def complaints(design: Design) -> Iterator[str]:
    """Each is a sentence about a name, a stream or a component; none, where the design is sound."""
    if not design.components:
        yield "it has no components"
    yield from _bad_names(design)
    yield from _bad_joints(design)
    for stream in design.streams:
        yield from _bad_stream(stream)
    for component in design.components:
        if component.finish is not None and component.finish.fixed != component.output.fixed:
            yield f"{component.name} rounds to another type"
        yield from _bad_meaning(component)


def _bad_names(design: Design) -> Iterator[str]:
    signals = ["clk", "rst"]
    for stream in design.streams:
        signals += [stream.name, f"{stream.name}_valid", f"{stream.name}_ready"]
    for names in (signals, [component.name for component in design.components]):
        if len(set(names)) != len(names):
            yield f"a name is used twice: {sorted(names)}"
    for side, streams in (("data_in", design.inputs), ("data_out", design.outputs)):
        if [stream.name for stream in streams] != [f"{side}_{k}" for k in range(len(streams))]:
            yield f"the ports are not {side}_0, ...: {[stream.name for stream in streams]}"


def _bad_joints(design: Design) -> Iterator[str]:
    known = {stream.name: stream for stream in design.inputs}
    reads = [x.name for component in design.components for x in component.inputs]
    if len(set(reads)) != len(reads):
        yield "a stream is read twice"
    together = {id(component): id(group) for group in design.groups for component in group.components}
    for component in design.components:
        for k, x in enumerate(component.inputs):
            if not _is_view(x, known.get(x.name)):
                yield f"{component.name}: what it reads as {x.name} is not written so before it"
            writer = design.writers.get(x.name)
            if writer is None or together[id(writer)] == together[id(component)]:
                continue
            if ready_runs_through(writer, x.name, component, k):
                yield f"a ready runs through both {writer.name} and {component.name}"
        known |= {y.name: y for y in component.outputs}


def _is_view(x: Stream, written: Stream | None) -> bool:
    """Whether a stream is read as it is written, or the same beats as vectors of another frame."""
    if written is None or written.frame == x.frame:
        return written == x
    return all(size > 0 for size in x.frame) and written.can_be_viewed(x.frame) and written.viewed(x.frame) == x


def ready_runs_through(writer: Component, stream: str, reader: Component, port: int) -> bool:
    """Whether a combinational ready would run through both, from an output of the reader to an input of the writer."""
    out = next(k for k, y in enumerate(writer.outputs) if y.name == stream)
    return any(path[0] == out for path in writer.ready_paths) and any(path[1] == port for path in reader.ready_paths)


def chained(writer: Component, stream: str, reader: Component, port: int) -> bool:
    """Whether a skid buffer has to stand between two components that are not of one run."""
    together = isinstance(writer, Pipe) and isinstance(reader, Pipe) and len(reader.inputs) == 1
    return not together and ready_runs_through(writer, stream, reader, port)


def _bad_stream(stream: Stream) -> Iterator[str]:
    if not 1 <= stream.lanes <= stream.features or stream.features % stream.lanes:
        yield f"{stream.name}: {stream.lanes} lanes of {stream.features}"
    if not len(stream.lo) == len(stream.hi) == len(stream.step) == stream.features:
        yield f"{stream.name}: bounds of other features than {stream.features}"
    if any(size < 1 for size in stream.frame):
        yield f"{stream.name}: a frame of {stream.frame}"
    for lo, hi, step in zip(stream.lo, stream.hi, stream.step, strict=False):
        if lo > hi or not stream.fixed.holds(lo, hi):
            yield f"{stream.name}: {lo}..{hi} does not fit {stream.fixed}"
        if step < 0 or (step and (lo % (1 << step) or hi % (1 << step))):
            yield f"{stream.name}: {lo}..{hi} are no multiples of 2**{step}"


def _bad_meaning(component: Component) -> Iterator[str]:
    meaning = component.meaning()
    if meaning is None:
        return
    x = probe_vectors(component)
    stated, computed = meaning.evaluate(*x), component.execute(*x)
    if len(stated) != len(computed) or not all(map(np.array_equal, stated, computed)):
        yield f"{component.name}: its meaning is not what it computes"


def probe_vectors(component: Component) -> tuple[Integers, ...]:
    """The corners of every input, vectors that reach the accumulators' bounds, and random ones; whole samples.

    Where samples are frames, all that is drawn stands at random positions of as few samples as hold it.
    """
    rng = np.random.default_rng(0)
    ends = [stream.bounds for stream in component.inputs]
    parts = [[np.stack([lo, hi]), rng.integers(lo, hi, (CHECKED, len(lo)), endpoint=True)] for lo, hi in ends]
    extremes = component.extremes()
    if extremes is not None:
        for rows, more in zip(parts, extremes, strict=True):
            rows.append(more[:: max(1, len(more) // CHECKED)])
    found = [np.concatenate(rows) for rows in parts]
    samples = max(-(-len(rows) // x.positions) for rows, x in zip(found, component.inputs, strict=True))
    return tuple(_whole_samples(rng, x, rows, samples) for x, rows in zip(component.inputs, found, strict=True))


def _whole_samples(rng: np.random.Generator, stream: Stream, rows: Integers, samples: int) -> Integers:
    """The vectors in so many samples, with random ones between them where there are more positions than vectors."""
    count = samples * stream.positions
    if count == len(rows):
        return rows
    lo, hi = stream.bounds
    filled = rng.integers(lo, hi, (count, len(lo)), endpoint=True)
    filled[np.sort(rng.choice(count, len(rows), replace=False))] = rows
    return filled
