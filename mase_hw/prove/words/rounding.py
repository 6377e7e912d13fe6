"""Requantize as diagrams: what a component's last step makes of a number with too many values to go through.

It is stated once more here, bit by bit. The software's own `requantize` is asked where its result changes.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from mase_hw.ir.finish import Finish
from mase_hw.numerics import Rounding
from mase_hw.numerics.fixed import MAX_ACCUMULATOR_BITS
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.carried import Word
from mase_hw.prove.words.diagrams import SIGN, Diagrams
from mase_hw.prove.words.words import Words

STEPS = 1 << 12  # of the result, at which the software is asked: all of them, or the outermost and some between
SUSPECTS = 256  # wrong values that are looked for; fewer are all of them

Bits = list[int]  # functions of one number, that of the lowest bit first; the last is the sign


def multiple(make: Diagrams, factor: int, constant: int) -> Bits:
    """`factor * v + constant`, where the factor is 0, a power of two or the opposite of one."""
    if not factor:
        return [constant >> k & 1 for k in range(SIGN + 1)]
    power = abs(factor).bit_length() - 1
    if abs(factor) != 1 << power:
        raise NotProvedError(f"{factor} times a number with too many values to go through")
    bits = [0] * power + [make.bit(k) for k in range(SIGN + 1)]
    if factor > 0:
        return _plus(make, bits, constant)
    return _plus(make, [make.inverted(bit) for bit in bits], constant + 1)


def requantized(make: Diagrams, n: Bits, step: Finish) -> Bits:
    """The bits of the result, as many as its type has. A quotient has no such diagrams, and is not proved so."""
    if step.divisor > 1:
        raise NotProvedError(f"a quotient by {step.divisor} of a number with too many values to go through")
    to = step.fixed
    shift = step.frac - to.frac
    if shift > 0:
        wide = n + n[-1:] * (shift + 1)
        q, rest = wide[shift:], wide[:shift]
        if step.rounding is Rounding.HALF_EVEN:  # up where more than one half is left, or one half and it is odd
            more = reduce(make.either, rest[:-1], q[0])
            q = _plus(make, q, 0, make.both(rest[-1], more))
    else:
        q = [0] * -shift + n
    q = q + q[-1:] * max(1, to.width - len(q) + 1)
    least = max(to.lo, 0) if step.rectify else to.lo
    below = _plus(make, q, -least)[-1]
    above = _plus(make, [make.inverted(bit) for bit in q], to.hi + 1)[-1]  # hi - q is negative
    return [
        make.chosen(below, make.chosen(above, q[k], to.hi >> k & 1), least >> k & 1)  # where it is too large, the most
        for k in range(to.width)
    ]


def check_software(make: Diagrams, step: Finish) -> None:
    """Raises where the software has another result: on both sides of every step, and in the middle of it."""
    shift = min(step.frac - step.fixed.frac, MAX_ACCUMULATOR_BITS + 2)  # beyond, no result changes any more
    lo, hi = step.fixed.lo - 2, step.fixed.hi + 2
    if hi - lo < STEPS:
        results = np.arange(lo, hi + 1)
    else:
        between = np.random.default_rng(0).integers(lo, hi, STEPS // 2)
        results = np.concatenate([between, lo + np.arange(STEPS // 4), hi - np.arange(STEPS // 4)])
    down, up = max(shift, 0), max(-shift, 0)
    near = np.clip(results >> up, (step.lo >> down) - 1, (step.hi >> down) + 1) << down
    half = 1 << down >> 1
    places = np.concatenate([near + half * side + by for side in (-1, 0, 1) for by in (-1, 0, 1)])
    ends_and_middle = np.array([step.lo, step.lo + 1, -1, 0, 1, step.hi - 1, step.hi])
    n = np.unique(np.clip(np.concatenate([places, ends_and_middle]), step.lo, step.hi))
    wanted = step.execute(n)
    for k, bit in enumerate(requantized(make, multiple(make, 1, 0), step)):
        if (wrong := make.at(bit, n) != (wanted >> k & 1).astype(bool)).any():
            raise NotProvedError(f"the software rounds {int(n[wrong][0])} otherwise than is stated here")


def wrong_places(make: Diagrams, node: int, wanted: int, word: Word, words: Words) -> Integers:
    """Values of a word for which two functions differ: all of them, or SUSPECTS."""
    wrong = make.both(make.differ(node, wanted), met(make, word, words))
    found: list[int] = []
    at = make.first(wrong, word.lo, word.hi)
    while at is not None and len(found) < SUSPECTS:
        found.append(at)
        at = make.first(wrong, at + 1, word.hi)
    return np.array(found, np.int64)


def met(make: Diagrams, word: Word, words: Words) -> int:
    """Where factors are multiples of `2**k`, the low `k` bits are those of the rest, which may have few values."""
    found = 1
    for k in sorted({(factor & -factor).bit_length() - 1 for factor in word.factors.tolist() if factor}):
        mask = (1 << k) - 1
        rest = words.word(np.where(word.factors & mask, word.factors, 0), word.constant)
        if rest.hi - rest.lo < mask:
            above = _plus(make, [make.bit(n) for n in range(k)], -rest.lo)  # how far above the least, modulo
            left = _plus(make, [*(make.inverted(bit) for bit in above), 0], rest.hi - rest.lo + 1)
            found = make.both(found, left[k])
    return found


def _plus(make: Diagrams, bits: Bits, constant: int, carry: int = 0) -> Bits:
    found = []
    for k, bit in enumerate(bits):
        total = make.differ(bit, carry)
        one = constant >> k & 1
        carry = make.either(bit, carry) if one else make.both(bit, carry)
        found.append(make.inverted(total) if one else total)
    return found
