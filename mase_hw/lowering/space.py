"""What `auto` may choose from: for each layer every choice that is legal and that no other one makes pointless.

A matrix can be unrolled, serial or folded. Of the arrays of a folded one those are offered that no array with as few
multipliers beats in steps, and of the streams those that meet the array without an adapter and keep up with it. An
array that does all in one step is no choice: its weights are constants, which is what unrolled is for. Of the digits of
a serial one those are offered that no smaller ones are as fast as, and groups of outputs where digits have one bit.

To cost a choice takes time, above all where an adder graph has to be found. So a matrix with more than FEW_WEIGHTS
weights is offered less: unrolled or one size of digits, the slowest that is fast enough; arrays that take more than
half the steps that there may be; streams that are as wide as the array or carry whole vectors. One with more than
SOLVED_WEIGHTS is unrolled or serial only if nothing else is fast enough; of the arrays it is offered the smallest that
are fast enough, with streams as wide as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, product

from mase_hw.config.hardware import MAX_OUTPUT_GROUPS, HardwareSpec
from mase_hw.ir.stream import full_range
from mase_hw.lowering.choice import Choice
from mase_hw.lowering.layers import MATRIX_OPS, Chain, Layer
from mase_hw.lowering.parts import (
    Options,
    array_lanes,
    before,
    divisors,
    does_nothing,
    nearest,
    own_lanes,
    own_part,
    wanted_types,
)
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.serial_plan import digits_of

FEW_WEIGHTS = 64
SOLVED_WEIGHTS = 16_384
FOREVER = 1 << 62  # an interval that everything reaches


@dataclass(frozen=True)
class Site:
    """A layer where it stands: `bits` are those of its inputs that a serial matrix goes through."""

    layer: Layer
    bits: int


def sites(chain: Chain) -> list[Site]:
    """Bounds, and so bits, do not depend on how layers are built: the narrowest design that is no work tells them."""
    wanted, found = wanted_types(chain.layers), []
    assert wanted[0] is not None
    x = full_range("x", chain.features, 1, wanted[0].fixed)
    for layer, result in zip(chain.layers, wanted[1:], strict=True):
        matrix = layer.op in MATRIX_OPS
        choice = Choice("folded", 1, 1, 0, None, 1, 1) if matrix else Choice("stream", 1, 1)
        front = before(layer, choice, x)
        x = front[-1].output if front else x
        found.append(Site(layer, digits_of(x, layer.integers["weight"], 1).count if matrix else 0))
        if not does_nothing(layer, x, result):
            x = own_part(layer, choice, x, result, Options()).output
    return found


@dataclass(frozen=True)
class Candidate:
    """A choice and the cycles per vector that its components allow."""

    choice: Choice
    interval: int


def candidates(
    site: Site, spec: HardwareSpec, dsp: bool, slowest: int = FOREVER, *, thinned: bool = True
) -> list[Candidate]:
    """All choices for a layer with an interval of at most `slowest`; what `spec` fixes is fixed.

    `dsp` says whether DSP blocks may be used where the spec does not decide. Unless `thinned`, matrices of any size are
    offered as the smallest are.
    """
    layer = site.layer
    if layer.op not in MATRIX_OPS:
        found = _elementwise(layer, spec)
    else:
        weights = layer.in_features * layer.out_features if thinned else 0
        found = [*_solved(site, spec, slowest, weights), *_folded(layer, spec, dsp, slowest, weights)]
    timed = (Candidate(choice, interval_of(site, choice)) for choice in found)
    return [candidate for candidate in timed if candidate.interval <= slowest]


def interval_of(site: Site, choice: Choice) -> int:
    """Cycles per vector of the slowest of a layer's components, adapters and FIFO included."""
    layer = site.layer
    beats_in = layer.in_features // choice.data_in_parallelism
    beats = max(beats_in, layer.out_features // choice.data_out_parallelism)
    if choice.data_in_fifo_depth == 1:
        beats = max(beats, 2 * beats_in)  # a FIFO of one beat takes every second cycle
    if choice.implementation == "serial":
        return max(beats, _cycles(choice, site.bits))
    if choice.implementation == "folded":
        return max(beats, fold_of(layer, choice).interval)
    return beats


def fold_of(layer: Layer, choice: Choice) -> Fold:
    assert choice.array_in is not None
    assert choice.array_out is not None
    lanes = own_lanes(layer, choice)
    return Fold(layer.in_features, layer.out_features, choice.array_in, choice.array_out, *lanes)


def _elementwise(layer: Layer, spec: HardwareSpec) -> list[Choice]:
    asked = spec.data_in_parallelism or spec.data_out_parallelism
    lanes = [asked] if asked else divisors(layer.in_features)
    return [Choice("stream", p, spec.data_out_parallelism or p, spec.data_in_fifo_depth) for p in lanes]


def _solved(site: Site, spec: HardwareSpec, slowest: int, weights: int) -> list[Choice]:
    """Unrolled, and serial by digits."""
    layer, bits = site.layer, site.bits
    if spec.implementation == "folded" or spec.array_in or spec.array_out:
        return []
    lanes = (spec.data_in_parallelism or layer.in_features, spec.data_out_parallelism or layer.out_features)
    plain = Choice("unrolled", *lanes, spec.data_in_fifo_depth)
    if spec.implementation == "unrolled":
        return [plain]
    auto = spec.implementation == "auto" and spec.digit_bits is None and spec.output_groups is None
    found = [_serial(layer, spec, plain, d, g) for d, g in _digits(layer, spec, bits, auto)] + [plain] * auto
    if auto and weights > SOLVED_WEIGHTS:
        return [plain] if slowest == 1 else []
    if weights > FEW_WEIGHTS:
        reach = [choice for choice in found if _cycles(choice, bits) <= slowest]
        return (reach or found[-1:])[:1]
    return found


def _digits(layer: Layer, spec: HardwareSpec, bits: int, auto: bool) -> list[tuple[int, int]]:
    """Bits of a digit and groups of outputs, the slowest first. Larger digits shared by groups never pay."""
    offered = [spec.digit_bits] if spec.digit_bits else digits(bits, auto)
    alone = [1] if spec.digit_bits or offered[:1] != [1] else groups(layer.out_features)
    shared = [spec.output_groups] if spec.output_groups else alone
    return [(d, g) for d in offered for g in reversed(shared) if d == offered[0] or g == 1 or spec.output_groups]


def _serial(layer: Layer, spec: HardwareSpec, plain: Choice, d: int, g: int) -> Choice:
    """Streams carry what the layer gives in a cycle, unless the user wants something else."""
    lanes = spec.data_out_parallelism or layer.out_features // g
    return replace(plain, implementation="serial", data_out_parallelism=lanes, digit_bits=d, output_groups=g)


def _cycles(choice: Choice, bits: int) -> int:
    return 1 if choice.digit_bits is None else -(-bits // choice.digit_bits) * choice.output_groups


@cache
def groups(outputs: int) -> list[int]:
    """Into how many groups so many outputs can be divided."""
    return [g for g in divisors(outputs) if g <= MAX_OUTPUT_GROUPS]


def digits(bits: int, auto: bool) -> list[int]:
    """The digits that no smaller ones are as fast as; all bits at once are unrolled where that may be chosen."""
    useful = [d for d in range(1, bits + 1) if d == 1 or -(-bits // d) < -(-bits // (d - 1))]
    return useful[:-1] if auto else useful


def _folded(layer: Layer, spec: HardwareSpec, dsp: bool, slowest: int, weights: int) -> Iterable[Choice]:
    if spec.implementation in ("unrolled", "serial") or spec.digit_bits or spec.output_groups:
        return
    fixed = (spec.array_in or spec.data_in_parallelism, spec.array_out or spec.data_out_parallelism)
    full = (layer.in_features, layer.out_features)
    asked = spec.implementation == "folded" or spec.array_in or spec.array_out  # or there may be no choice at all
    fewest = 1 if asked or all(fixed) else 2
    by_steps = [(-(-full[0] // p_in) * -(-full[1] // p_out), p_in, p_out) for p_in, p_out in arrays(*full, *fixed)]
    by_steps = [item for item in by_steps if fewest <= item[0] <= slowest]
    most = max((steps for steps, *_ in by_steps), default=0)
    for steps, p_in, p_out in by_steps:
        if (weights > FEW_WEIGHTS and 2 * steps <= most) or (weights > SOLVED_WEIGHTS and steps < most):
            continue  # half the steps are twice the multipliers
        for use_dsp in [True, False] if spec.use_dsp is None and dsp else [bool(spec.use_dsp)]:
            for lanes in _lanes(full, (p_in, p_out), spec, weights):
                yield Choice("folded", *lanes, spec.data_in_fifo_depth, None, p_in, p_out, use_dsp)


@cache
def arrays(n_in: int, n_out: int, p_in: int | None = None, p_out: int | None = None) -> tuple[tuple[int, int], ...]:
    """Arrays such that none with fewer multipliers takes as few steps, and none with as many takes fewer."""
    sides = [
        [fixed] if fixed else sorted({-(-n // count) for count in range(1, n + 1)})
        for n, fixed in ((n_in, p_in), (n_out, p_out))
    ]
    by_steps = sorted((-(-n_in // p) * -(-n_out // q), p * q, p, q) for p, q in product(*sides))
    found: list[tuple[int, int]] = []
    fewest = FOREVER
    for _, group in groupby(by_steps, key=lambda item: item[0]):
        alike = list(group)
        if alike[0][1] < fewest:
            fewest = alike[0][1]
            found += [(p, q) for _, multipliers, p, q in alike if multipliers == fewest]
    return tuple(found)


def _lanes(
    full: tuple[int, int], array: tuple[int, int], spec: HardwareSpec, weights: int
) -> Iterable[tuple[int, int]]:
    """Streams that meet the array without an adapter."""
    asked = (spec.data_in_parallelism, spec.data_out_parallelism)
    sides: list[list[int]] = []
    for lanes, p, suited in zip(asked, array, array_lanes(full, array), strict=True):
        if weights > FEW_WEIGHTS:
            suited = sorted({nearest(p, suited), *(suited[-1:] if weights <= SOLVED_WEIGHTS else [])})
        sides.append([lanes] if lanes else suited)
    return product(sides[0], sides[1])


def unsolved(sites: Iterable[Site], specs: Iterable[HardwareSpec]) -> list[str]:
    """Layers that are too large to be unrolled unless a user asks for it."""
    pairs = ((site.layer, spec) for site, spec in zip(sites, specs, strict=True))
    return [
        layer.name
        for layer, spec in pairs
        if layer.op in MATRIX_OPS
        and spec.implementation == "auto"
        and layer.in_features * layer.out_features > SOLVED_WEIGHTS
    ]
