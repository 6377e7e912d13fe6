"""Before anything is done with a build: whether all that `emit` wrote is there, can be read, and is of one piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.build import port_entries
from mase_hw.emit.reading import MANIFEST, PARAMETERS, SAMPLES
from mase_hw.ir.cycles import DeadlockError

# ValueError is also what a design's verifier raises; AssertionError what a component says of its own parameters.
_DAMAGED = (
    *(LookupError, TypeError, ValueError, AttributeError, AssertionError, ArithmeticError),
    *(OSError, RecursionError, MemoryError, StopIteration, DeadlockError),
)


def check_whole(build: Build) -> None:
    """Every missing or damaged file of the build as a Problem. RTL may have been edited: that is what is simulated."""
    hint = f"emit the build again: mase-hw emit model.toml --out {build.path}"
    with Collector() as problems:
        for name in (*build.rtl_names, PARAMETERS):
            problems.attempt(lambda name=name: build.content(name))  # type: ignore[misc]
        problems.raise_if_any()
        if hashlib.sha256(build.content(PARAMETERS)).hexdigest() != build.manifest["parameters"]["sha256"]:
            text = f"{build.path / PARAMETERS} is damaged: it is not the file that emit wrote"
            problems.add(text, hint=hint)
        problems.attempt(build.check_list)
        problems.raise_if_any()
        try:
            for complaint in _other_facts(build):
                raise ValueError(complaint)
        except ProblemsError:
            raise
        except _DAMAGED as error:
            text = f"{build.path / MANIFEST} is damaged: {type(error).__name__}: {error}"
            problems.add(text, hint=hint)
            problems.raise_if_any()
        try:
            _expect_samples(build)
        except ProblemsError:
            raise
        except _DAMAGED:
            problems.add(f"{build.path / SAMPLES} is damaged", hint=hint)


def _other_facts(build: Build) -> Iterator[str]:
    """What the manifest says of the design and the design does not: others read it there, and so does a certificate."""
    design, said = build.design, build.manifest
    reals, ports = build.reals, (len(design.inputs), len(design.outputs))
    if (len(reals.codes), len(reals.values)) != ports:
        yield "reals are not those of its ports"
        return
    own = port_entries(design, reals)
    for side in ("inputs", "outputs"):
        if own[side] != said[side]:
            yield f"{side} are not those of the design"
    for stream, codes in zip(design.inputs, reals.codes, strict=True):
        if codes is not None and not stream.fixed.holds(codes.lo, codes.hi):
            yield f"the codes of {stream.name} are none of its type"
    for stream, values in zip(design.outputs, reals.values, strict=True):
        if values is not None and stream.features * stream.positions % len(values.scale):
            yield f"the scales of {stream.name} are not those of its features"
    facts: list[tuple[str, Any, Any]] = [
        ("interval", float(said["interval"]), float(design.schedule.interval)),
        ("latency", said["latency"], design.schedule.latency),
        ("axis", said.get("axis"), build.axis.manifest() if build.axis else None),
    ]
    for component, entry in zip(design.components, said["components"], strict=True):
        facts.append((f"interval of {component.name}", entry["interval"], component.interval))
        facts.append((f"latency of {component.name}", entry["latency"], component.latency))
    known = {component.name for component in design.components}
    for node in design.nodes:
        if not known >= set(node.components):
            yield f"node {node.name} has components that are not there"
    yield from (f"{key} is {there}, and that of the design {own}" for key, there, own in facts if there != own)
    roundings, orders = build.reals.roundings, (build.reals.input_orders, build.reals.output_orders)
    if (len(roundings), *map(len, orders)) != (len(design.inputs), len(design.inputs), len(design.outputs)):
        yield "reals are not those of its ports"
    ends = (*design.inputs, *design.outputs)
    for stream, order in zip(ends, (*orders[0], *orders[1]), strict=True):
        if order is not None and sorted(order) != list(range(stream.features * stream.positions)):
            yield f"the order of {stream.name} is none of its elements"


def _expect_samples(build: Build) -> None:
    """Vectors of the ports' shapes and types, as many for each port as there are labels."""
    samples, design = build.samples, build.design
    if samples is None:
        return
    count = len(samples.labels)
    labels = (samples.labels, samples.float_labels)
    if not count or any(rows.shape != (count,) or rows.dtype.kind != "i" for rows in labels):
        raise ValueError("labels")
    for streams, side in ((design.inputs, samples.inputs), (design.outputs, samples.outputs)):
        for stream, rows in zip(streams, side, strict=True):
            if rows.shape != (count * stream.positions, stream.features) or rows.dtype != np.int64:
                raise ValueError(stream.name)
            if not stream.fixed.holds(int(rows.min()), int(rows.max())):
                raise ValueError(stream.name)
