"""Functions of one number as decision diagrams, and requantize stated with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from mase_hw.ir.finish import Finish
from mase_hw.numerics import Fixed, Rounding
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.diagrams import Diagrams
from mase_hw.prove.words.rounding import check_software, multiple, requantized, wrong_places
from mase_hw.prove.words.words import Words

LO, HI = -37, 90
NUMBERS = np.arange(LO, HI + 1)


def _some_functions(make: Diagrams) -> list[tuple[int, np.ndarray]]:
    """Random functions of a number, beside their values for each of the numbers."""
    rng = np.random.default_rng(0)
    found = [(make.bit(k), (NUMBERS >> k & 1).astype(bool)) for k in (0, 1, 2, 3, 4, 5, 6, 63)]
    rules: list[tuple[Callable[[int, int], int], Callable[..., np.ndarray]]] = [
        (make.both, np.logical_and),
        (make.either, np.logical_or),
        (make.differ, np.logical_xor),
    ]
    for _ in range(200):
        (a, of_a), (b, of_b) = (found[i] for i in rng.integers(len(found), size=2))
        node, values = rules[rng.integers(len(rules))]
        found.append((node(a, b), values(of_a, of_b)))
    return found


def test_functions_are_what_their_gates_say() -> None:
    make = Diagrams()
    for node, values in _some_functions(make):
        assert np.array_equal(make.values(node, LO, HI), values)
        assert np.array_equal(make.at(node, NUMBERS), values)
        assert np.array_equal(make.values(make.inverted(node), LO, HI), ~values)
        assert make.first(node, LO, HI) == (NUMBERS[values][0] if values.any() else None)


def test_equal_functions_are_one_node() -> None:
    make = Diagrams()
    a, b, c = (make.bit(k) for k in (5, 2, 63))
    assert make.either(make.both(a, b), make.both(a, c)) == make.both(a, make.either(b, c))
    assert make.differ(make.differ(a, b), b) == a
    assert make.chosen(a, b, c) == make.either(make.both(a, c), make.both(make.inverted(a), b))


def test_the_first_number_of_very_many() -> None:
    make = Diagrams()
    high, low = make.bit(50), make.bit(3)
    assert make.first(make.both(high, low), 0, (1 << 60)) == (1 << 50) + 8
    assert make.first(make.both(high, low), (1 << 50) + 16, 1 << 60) == (1 << 50) + 24
    assert make.first(make.both(high, low), 16, (1 << 50) + 7) is None
    assert make.first(make.bit(63), -(1 << 60), 1 << 60) == -(1 << 60)


def _steps() -> list[Finish]:
    types = [Fixed(4, 2), Fixed(2, -1), Fixed(1, 0, signed=False), Fixed(5, 7), Fixed(3, 3, signed=False)]
    return [
        Finish(frac, LO, HI, fixed, rounding, rectify)
        for frac in (0, 2, 3, 4, 9, 70)
        for fixed in types
        for rounding in Rounding
        for rectify in (False, True)
    ]


@pytest.mark.parametrize("step", _steps(), ids=str)
def test_requantize_is_the_softwares(step: Finish) -> None:
    make = Diagrams()
    for factor, constant in ((1, 0), (1, -29), (-1, 5), (4, 3), (-2, 0), (0, 7)):
        wanted = step.execute(factor * NUMBERS + constant) if step.changes else None
        if wanted is None:
            continue
        for k, bit in enumerate(requantized(make, multiple(make, factor, constant), step)):
            assert np.array_equal(make.values(bit, LO, HI), (wanted >> k & 1).astype(bool)), (factor, constant, k)


WIDE = Finish(25, -(1 << 36), 1 << 37, Fixed(16, 11), Rounding.HALF_EVEN)


def test_a_wide_sum_is_compared_with_the_software() -> None:
    make = Diagrams()
    check_software(make, WIDE)
    n = np.random.default_rng(1).integers(WIDE.lo >> 6, WIDE.hi >> 6, 10_000)
    wanted = WIDE.execute(n)
    for k, bit in enumerate(requantized(make, multiple(make, 1, 0), WIDE)):
        assert np.array_equal(make.at(bit, n), (wanted >> k & 1).astype(bool))


def test_a_quotient_is_not_taken_for_a_shift() -> None:
    make = Diagrams()
    with pytest.raises(NotProvedError, match="a quotient by 3"):
        requantized(make, multiple(make, 1, 0), replace(WIDE, divisor=3))


@pytest.mark.parametrize("changed", [{"rounding": Rounding.FLOOR}, {"rectify": True}, {"frac": 24}], ids=str)
def test_software_that_rounds_otherwise_is_seen(changed: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(WIDE, **changed)  # type: ignore[arg-type]
    monkeypatch.setattr(Finish, "execute", lambda _, n: EXECUTE(other, n))
    with pytest.raises(NotProvedError, match="the software rounds"):
        check_software(Diagrams(), WIDE)


@pytest.mark.parametrize("rest", [0, 1, (1 << 13) - 1, 1 << 13, (1 << 13) + 1, (1 << 14) - 1])
def test_software_that_is_wrong_at_one_rest_alone_is_seen(rest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """14 bits are rounded away: a tie, what is next to it, and both ends of a step."""
    monkeypatch.setattr(Finish, "execute", lambda step, n: EXECUTE(step, n) ^ (n % (1 << 14) == rest))
    with pytest.raises(NotProvedError, match="the software rounds"):
        check_software(Diagrams(), WIDE)


EXECUTE = Finish.execute


def test_wrong_places_are_values_of_the_word() -> None:
    words, make = Words(np.array([-1 << 30]), np.array([1 << 30])), Diagrams()
    word = words.word(np.array([4]), 1)  # 4 x + 1
    assert len(wrong_places(make, make.bit(1), 0, word, words)) == 0  # bit 1 is always 0
    wrong = make.both(make.bit(2), make.inverted(make.bit(63)))
    assert wrong_places(make, wrong, 0, word, words)[:2].tolist() == [5, 13]
