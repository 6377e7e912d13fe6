"""What `auto` may choose from for a matrix: every choice that is legal and that no other one makes pointless.

A matrix can be unrolled, serial or folded. Folded arrays are offered unless an array with as few multipliers needs
fewer steps; streams are offered if they meet the array without an adapter and keep up with it. An array that does all
in one step is no choice: its weights are constants, which is what unrolled is for. Digits of a serial matrix are
offered if no smaller digit is as fast, and groups of outputs where digits have one bit.

To cost a choice takes time, above all where an adder graph has to be found. So a matrix with more than FEW_WEIGHTS
weights is offered less: unrolled or one size of digits, the slowest that is fast enough; arrays that take more than
half the steps that there may be; streams that are as wide as the array or carry whole vectors. One with more than
SOLVED_WEIGHTS is unrolled or serial only if nothing else is fast enough; of the arrays it is offered the smallest that
are fast enough, with streams as wide as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby, product

from mase_hw.config.hardware import MAX_OUTPUT_GROUPS, HardwareSpec
from mase_hw.ops.choice import Choice, Folded, Serial, Unrolled
from mase_hw.ops.linear.fold import fits
from mase_hw.ops.operator import FOREVER, Wish, divisors

FEW_WEIGHTS = 64
SOLVED_WEIGHTS = 16_384
Sizes = tuple[int, int]  # inputs, outputs


def matrix_choices(full: Sizes, bits: int, spec: HardwareSpec, wish: Wish) -> list[Choice]:
    """All choices for a matrix whose inputs have so many bits to go through."""
    weights = full[0] * full[1] if wish.thinned else 0
    return [*_solved(full, bits, spec, wish.slowest, weights), *_folded(full, spec, wish, weights)]


def _solved(full: Sizes, bits: int, spec: HardwareSpec, slowest: int, weights: int) -> list[Choice]:
    """Unrolled, and serial by digits."""
    if spec.implementation == "folded" or spec.array_in or spec.array_out:
        return []
    lanes = (spec.data_in_parallelism or full[0], spec.data_out_parallelism or full[1])
    plain = Unrolled(*lanes, spec.data_in_fifo_depth)
    if spec.implementation == "unrolled":
        return [plain]
    auto = spec.implementation == "auto" and spec.digit_bits is None and spec.output_groups is None
    found: list[Choice] = [_serial(full, spec, d, g) for d, g in _digits(full[1], spec, bits, auto)]
    found += [plain] * auto
    if auto and weights > SOLVED_WEIGHTS:
        return [plain] if slowest == 1 else []
    if weights > FEW_WEIGHTS:
        reach = [choice for choice in found if digit_cycles(choice, bits) <= slowest]
        return (reach or found[-1:])[:1]
    return found


def _digits(outputs: int, spec: HardwareSpec, bits: int, auto: bool) -> list[tuple[int, int]]:
    """Bits of a digit and groups of outputs, the slowest first. Larger digits shared by groups never pay."""
    offered = [spec.digit_bits] if spec.digit_bits else digits(bits, auto)
    alone = [1] if spec.digit_bits or offered[:1] != [1] else groups(outputs)
    shared = [spec.output_groups] if spec.output_groups else alone
    return [(d, g) for d in offered for g in reversed(shared) if d == offered[0] or g == 1 or spec.output_groups]


def _serial(full: Sizes, spec: HardwareSpec, d: int, g: int) -> Serial:
    """Streams carry what the layer gives in a cycle, unless the user wants something else."""
    lanes = (spec.data_in_parallelism or full[0], spec.data_out_parallelism or full[1] // g)
    return Serial(*lanes, spec.data_in_fifo_depth, d, g)


def digit_cycles(choice: Choice, bits: int) -> int:
    return -(-bits // choice.digit_bits) * choice.output_groups if isinstance(choice, Serial) else 1


@cache
def groups(outputs: int) -> list[int]:
    """Into how many groups so many outputs can be divided."""
    return [g for g in divisors(outputs) if g <= MAX_OUTPUT_GROUPS]


def digits(bits: int, auto: bool) -> list[int]:
    """Every digit size unless a smaller one is as fast; all bits at once are unrolled where that may be chosen."""
    useful = [d for d in range(1, bits + 1) if d == 1 or -(-bits // d) < -(-bits // (d - 1))]
    return useful[:-1] if auto else useful


def _folded(full: Sizes, spec: HardwareSpec, wish: Wish, weights: int) -> Iterable[Choice]:
    if spec.implementation in ("unrolled", "serial") or spec.digit_bits or spec.output_groups:
        return
    fixed = (spec.array_in or spec.data_in_parallelism, spec.array_out or spec.data_out_parallelism)
    asked = spec.implementation == "folded" or spec.array_in or spec.array_out  # or there may be no choice at all
    fewest = 1 if asked or all(fixed) else 2
    by_steps = [(-(-full[0] // p_in) * -(-full[1] // p_out), p_in, p_out) for p_in, p_out in arrays(*full, *fixed)]
    by_steps = [item for item in by_steps if fewest <= item[0] <= wish.slowest]
    most = max((steps for steps, *_ in by_steps), default=0)
    for steps, p_in, p_out in by_steps:
        if (weights > FEW_WEIGHTS and 2 * steps <= most) or (weights > SOLVED_WEIGHTS and steps < most):
            continue  # half the steps are twice the multipliers
        for use_dsp in [True, False] if spec.use_dsp is None and wish.dsp else [bool(spec.use_dsp)]:
            for lanes in _lanes(full, (p_in, p_out), spec, weights):
                yield Folded(*lanes, spec.data_in_fifo_depth, p_in, p_out, use_dsp)


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


def _lanes(full: Sizes, array: Sizes, spec: HardwareSpec, weights: int) -> Iterable[Sizes]:
    """Streams that meet the array without an adapter."""
    asked = (spec.data_in_parallelism, spec.data_out_parallelism)
    sides: list[list[int]] = []
    for lanes, p, suited in zip(asked, array, array_lanes(full, array), strict=True):
        if weights > FEW_WEIGHTS:
            suited = sorted({nearest(p, suited), *(suited[-1:] if weights <= SOLVED_WEIGHTS else [])})
        sides.append([lanes] if lanes else suited)
    return product(sides[0], sides[1])


def array_lanes(full: Sizes, array: Sizes) -> tuple[list[int], list[int]]:
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


def folded_lanes(full: Sizes, choice: Folded) -> Sizes:
    """Lanes of the array's own streams: those of the choice where they fit, else those that suit it best."""
    array, asked = (choice.array_in, choice.array_out), (choice.data_in_parallelism, choice.data_out_parallelism)
    sides = zip(full, array, asked, array_lanes(full, array), strict=True)
    found = [lanes if fits(features, p, lanes) else nearest(p, suited) for features, p, lanes, suited in sides]
    return found[0], found[1]
