"""The components of one layer, from its input stream to its output stream, for a choice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mase_hw.adders import SOLVER_SECONDS
from mase_hw.config.hardware import HardwareTarget
from mase_hw.ir.component import Component
from mase_hw.ir.plumbing import Fifo, adapters
from mase_hw.ir.stream import Stream
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.layers import Layer
from mase_hw.numerics import Rounding
from mase_hw.ops import Result, batch_norm1d, cast, relu
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import fits
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.matrix import ADDERS_PER_STAGE
from mase_hw.ops.linear.serial import serial
from mase_hw.ops.linear.unrolled import unrolled

Make = Callable[[Stream], Component]  # the layer's own component, on the stream that reaches it

_REMEMBERED = 256
_solved: OrderedDict[bytes, Component] = OrderedDict()


@dataclass(frozen=True)
class Options:
    """What holds for every layer of a design."""

    adders_per_stage: int = ADDERS_PER_STAGE
    solver_seconds: float = SOLVER_SECONDS

    @staticmethod
    def of(target: HardwareTarget | None) -> Options:
        if target is None:
            return Options()
        return Options(target.adders_per_stage or ADDERS_PER_STAGE, target.solver_seconds or SOLVER_SECONDS)


def wanted_types(layers: Sequence[Layer]) -> list[Result | None]:
    """For each layer, and for the output, the type in which its input is wanted; None where nothing says.

    A layer that is left unquantized hands on what its reader wants.
    """
    wanted: list[Result | None] = [None]
    for layer in reversed(layers):
        spec = layer.spec
        if spec.rounding is not None:
            assert spec.data_in is not None
            wanted.append(Result(spec.data_in, spec.rounding))
        else:
            wanted.append(wanted[-1])
    return wanted[::-1]


def before(layer: Layer, choice: Choice, x: Stream) -> list[Component]:
    """What stands between a stream and the layer's own component: width adapters, a FIFO, a cast."""
    made: list[Component] = []

    def add(components: Sequence[Component]) -> Stream:
        made.extend(components)
        return made[-1].output if made else x

    spec = layer.spec
    y = add(adapters(f"{layer.name}_in", x, choice.data_in_parallelism))
    if choice.data_in_fifo_depth:
        y = add([Fifo(f"{layer.name}_fifo", (y,), (y.renamed(f"{layer.name}_fifo_out"),), choice.data_in_fifo_depth)])
    if spec.rounding is not None and spec.data_in is not None and spec.data_in != y.fixed:
        y = add([cast(f"{layer.name}_cast", y, Result(spec.data_in, spec.rounding))])
    add(adapters(f"{layer.name}_all", y, own_lanes(layer, choice)[0]))
    return made


def own_lanes(layer: Layer, choice: Choice) -> tuple[int, int]:
    """Lanes of the layer's own component, in and out; those of its streams may differ."""
    asked = (choice.data_in_parallelism, choice.data_out_parallelism)
    if choice.implementation in ("unrolled", "serial"):
        return layer.in_features, layer.out_features // choice.output_groups
    if choice.implementation != "folded":
        return asked[0], asked[0]
    assert choice.array_in is not None
    assert choice.array_out is not None
    full, array = (layer.in_features, layer.out_features), (choice.array_in, choice.array_out)
    suited = array_lanes(full, array)
    sides = zip(full, array, asked, suited, strict=True)
    found = [lanes if fits(features, p, lanes) else nearest(p, lanes_of) for features, p, lanes, lanes_of in sides]
    return found[0], found[1]


def array_lanes(full: tuple[int, int], array: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Lanes of the streams, in and out, that meet a folded array without an adapter and do not slow it down."""
    words, blocks = (-(-features // p) for features, p in zip(full, array, strict=True))
    fitting = [[d for d in divisors(n) if fits(n, p, d)] for n, p in zip(full, array, strict=True)]
    return (
        [d for d in fitting[0] if full[0] // d <= words * blocks],
        [d for d in fitting[1] if d >= array[1] or array[1] // d <= words],
    )


def nearest(p: int, lanes: Sequence[int]) -> int:
    """Those most like the array's own: no wider if that can be."""
    return max((d for d in lanes if d <= p), default=lanes[0])


@cache
def divisors(n: int) -> tuple[int, ...]:
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))


def after(layer: Layer, choice: Choice, x: Stream) -> list[Component]:
    return adapters(f"{layer.name}_out", x, choice.data_out_parallelism)


def layer_parts(layer: Layer, choice: Choice, x: Stream, wanted: Result | None, make: Make) -> list[Component]:
    """All components of a layer that reads `x`; none where it changes nothing."""
    made = before(layer, choice, x)
    if not does_nothing(layer, x, wanted):
        made.append(make(made[-1].output if made else x))
    return made + after(layer, choice, made[-1].output if made else x)


def result_of(layer: Layer, wanted: Result | None) -> Result | None:
    """The type of a layer's result: its own `data_out`, or what its reader wants."""
    spec = layer.spec
    return Result(spec.data_out, spec.rounding) if spec.rounding is not None and spec.data_out is not None else wanted


def does_nothing(layer: Layer, x: Stream, wanted: Result | None) -> bool:
    """A ReLU of what is never negative, in the type it already has."""
    result = result_of(layer, wanted)
    if layer.op != "relu" or min(x.lo) < 0 or (result is not None and result.fixed != x.fixed):
        return False
    return layer.spec.data_in is None or layer.spec.data_in == x.fixed


def may_merge(layer: Layer, x: Stream, wanted: Result | None) -> bool:
    """A ReLU that reads and gives the type in which its input already comes: the component before it can clamp at 0."""
    if layer.op != "relu" or min(x.lo) >= 0:
        return False
    result = result_of(layer, wanted)
    return all(fixed in (None, x.fixed) for fixed in (layer.spec.data_in, result.fixed if result else None))


def merges(layer: Layer, choice: Choice, x: Stream, wanted: Result | None) -> bool:
    """Where nothing has to stand between the two, it does."""
    lanes = (choice.data_in_parallelism, choice.data_out_parallelism)
    return may_merge(layer, x, wanted) and not choice.data_in_fifo_depth and lanes == (x.lanes, x.lanes)


def own_part(layer: Layer, choice: Choice, x: Stream, wanted: Result | None, options: Options) -> Component:
    """The layer's own component. Adder graphs, which take long to find, are found once in a process."""
    result = result_of(layer, wanted)
    if layer.op == "relu":
        return relu(layer.name, x, result or Result(x.fixed, Rounding.FLOOR))  # nothing is dropped: any rule will do
    if choice.implementation == "folded":
        return _linear(layer, choice, x, result, options)
    key = _key(layer, choice, x, result, options)
    if key not in _solved:
        make = _linear if layer.op == "linear" else _batch_norm1d
        _solved[key] = make(layer, choice, x, result, options)
        if len(_solved) > _REMEMBERED:
            _solved.popitem(last=False)
    _solved.move_to_end(key)
    found = _solved[key]
    if (found.name, found.input) == (layer.name, x):
        return found
    return replace(found, name=layer.name, inputs=(x,), outputs=(found.output.renamed(f"{layer.name}_out"),))


def _linear(layer: Layer, choice: Choice, x: Stream, result: Result | None, options: Options) -> Component:
    spec, weight, bias = layer.spec, layer.integers["weight"], layer.integers.get("bias")
    assert spec.weight is not None
    alignment = align(x.fixed, spec.weight, spec.bias if bias is not None else None)
    constant = np.zeros(len(weight), np.int64) if bias is None else bias << alignment.constant_shift
    arguments = (layer.name, x, weight, constant, alignment, result)
    per_stage, seconds = options.adders_per_stage, options.solver_seconds
    if choice.implementation == "folded":
        assert choice.array_in is not None
        assert choice.array_out is not None
        array, lanes = (choice.array_in, choice.array_out), own_lanes(layer, choice)[1]
        return folded_linear(
            *arguments, out_lanes=lanes, array=array, adders_per_stage=per_stage, use_dsp=choice.use_dsp
        )
    if choice.implementation == "serial":
        assert choice.digit_bits is not None
        return serial(
            *arguments,
            digit_bits=choice.digit_bits,
            groups=choice.output_groups,
            adders_per_stage=per_stage,
            solver_seconds=seconds,
        )
    return unrolled(*arguments, adders_per_stage=per_stage, solver_seconds=seconds)


def _batch_norm1d(layer: Layer, choice: Choice, x: Stream, result: Result | None, options: Options) -> Component:
    spec, scale, shift = layer.spec, layer.integers["scale"], layer.integers["shift"]
    assert spec.weight is not None
    assert spec.bias is not None
    return batch_norm1d(layer.name, x, scale, shift, spec.weight, spec.bias, result, options.adders_per_stage)


def _key(layer: Layer, choice: Choice, x: Stream, result: Result | None, options: Options) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, values in sorted(layer.integers.items()):
        digest.update(f"{name}{values.shape}".encode() + values.tobytes())
    digest.update(np.stack(x.bounds).tobytes())
    built = (choice.implementation, choice.digit_bits, choice.output_groups)
    digest.update(repr((layer.op, x.lanes, x.fixed, layer.spec, built, result, options)).encode())
    return digest.digest()
