"""Small designs with branches and several ports, built by hand: what everything around a design is tested with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.branches import concat, fork
from mase_hw.ir.plumbing import Fifo, SkidBuffer
from mase_hw.ir.stream import full_range
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import Linear, Result, cast, relu
from mase_hw.ops.affine import align
from mase_hw.ops.linear.unrolled import unrolled

WIDE, NARROW, UNSIGNED = Fixed(8, 4), Fixed(6, 3), Fixed(5, 2, False)


def ended(component: Component, *names: str) -> Component:
    """The component with its outputs renamed, to ports of the top."""
    return replace(component, outputs=tuple(y.renamed(n) for y, n in zip(component.outputs, names, strict=True)))


def skid(x: Stream) -> SkidBuffer:
    return SkidBuffer(f"{x.name}_skid", (x,), (x.renamed(f"{x.name}_held"),))


def fifo(x: Stream, depth: int) -> Fifo:
    return Fifo(f"{x.name}_fifo", (x,), (x.renamed(f"{x.name}_queued"),), depth)


def parted(name: str = "parted", frame: tuple[int, ...] = ()) -> Design:
    """One input, forked to a ReLU and a cast, whose whole vectors are joined again."""
    x = full_range("data_in_0", 3, 3, WIDE, frame)
    parts = fork("copies", x, 2, buffered=True)
    result = Result(NARROW, Rounding.HALF_EVEN)
    left, right = relu("left", parts.outputs[0], result), cast("right", parts.outputs[1], result)
    holds = [skid(left.output), skid(right.output)]
    joined = ended(concat("joined", [one.output for one in holds]), "data_out_0")
    return checked(name, [parts, left, right, *holds, joined])


def queued(name: str = "queued", frame: tuple[int, ...] = ()) -> Design:
    """The same in narrow beats: the second branch waits in a FIFO until the first has had its turn."""
    x = full_range("data_in_0", 6, 2, WIDE, frame)
    parts = fork("copies", x, 2, buffered=True)
    result = Result(NARROW, Rounding.FLOOR)
    left, right = relu("left", parts.outputs[0], result), cast("right", parts.outputs[1], result)
    holds = [skid(left.output), fifo(right.output, 3)]
    joined = ended(concat("joined", [one.output for one in holds]), "data_out_0")
    return checked(name, [parts, left, right, *holds, joined])


def met(name: str = "met") -> Design:
    """Two inputs of different sizes and no computation, joined in one beat."""
    inputs = [full_range("data_in_0", 2, 2, WIDE), full_range("data_in_1", 5, 5, WIDE)]
    return checked(name, [ended(concat("joined", inputs), "data_out_0")])


def split(name: str = "split") -> Design:
    """One input, two outputs of different types; the second has narrower beats of its own."""
    x = full_range("data_in_0", 4, 2, WIDE)
    parts = fork("copies", x, 2, buffered=True)
    rest = ended(parts, "data_out_1", "copies_out_1")
    floored = cast("floored", rest.outputs[1], Result(UNSIGNED, Rounding.FLOOR))
    return checked(name, [rest, ended(floored, "data_out_0")])


def crossed(name: str = "crossed", frame: tuple[int, ...] = (2, 3)) -> Design:
    """Two inputs and two outputs over frames of positions: one result of the first alone, one of both in turn."""
    a, b = full_range("data_in_0", 4, 2, WIDE, frame), full_range("data_in_1", 2, 2, NARROW, frame)
    parts = fork("copies", a, 2, buffered=True)
    first = relu("first", parts.outputs[0], Result(UNSIGNED, Rounding.HALF_EVEN))
    second = cast("second", parts.outputs[1], Result(NARROW, Rounding.HALF_EVEN))
    held = skid(second.output)
    joined = ended(concat("joined", [held.output, b]), "data_out_1")
    return checked(name, [parts, ended(first, "data_out_0"), second, held, joined])


def residual(name: str = "residual", features: int = 4) -> Design:
    """A linear layer with its own input joined to its result, and a second layer on both."""
    rng = np.random.default_rng(0)
    x = full_range("data_in_0", features, features, WIDE)
    parts = fork("copies", x, 2, buffered=True)
    layer = dense("layer", parts.outputs[0], rng.integers(-7, 8, (features, features)), NARROW)
    straight = cast("straight", parts.outputs[1], Result(NARROW, Rounding.HALF_EVEN))
    holds = [skid(layer.output), fifo(straight.output, 2 + layer.latency)]
    joined = concat("joined", [one.output for one in holds])
    last = dense("last", joined.output, rng.integers(-7, 8, (3, 2 * features)), WIDE)
    return checked(name, [parts, layer, straight, *holds, joined, ended(last, "data_out_0")])


def copied(name: str = "copied") -> Design:
    """A fork alone, without a second register: three outputs."""
    x = full_range("data_in_0", 4, 2, UNSIGNED)
    return checked(name, [ended(fork("copies", x, 3, buffered=False), *(f"data_out_{k}" for k in range(3)))])


def turns(name: str = "turns") -> Design:
    """Three inputs that are joined in narrow beats, of one, three and two beats."""
    inputs = [full_range(f"data_in_{k}", 2 * beats, 2, NARROW) for k, beats in enumerate((1, 3, 2))]
    return checked(name, [ended(concat("joined", inputs), "data_out_0")])


def dense(name: str, x: Stream, matrix: Integers, fixed: Fixed) -> Linear:
    """A linear layer of small weights, unrolled."""
    weight = Fixed(4, 2)
    bias = np.arange(len(matrix), dtype=np.int64) - 1
    return unrolled(name, x, matrix, bias, align(x.fixed, weight, weight), Result(fixed, Rounding.HALF_EVEN))


def checked(name: str, components: Sequence[Component]) -> Design:
    design = Design(name, tuple(components))
    design.verify()
    return design


ALL = (parted, queued, met, split, crossed, residual, copied, turns)
