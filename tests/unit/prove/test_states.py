"""How many states of a control are gone through."""

from __future__ import annotations

import pytest

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.states import ALIKE, States


def test_as_many_as_the_model_has_and_some_more() -> None:
    states = States(1000, always=10)
    for n in range(10 + ALIKE * 2):
        states.add(n % 2)
    with pytest.raises(NotProvedError, match="43 states and more where its model has 2"):
        states.add(0)


def test_a_model_of_many_states_has_an_end_too() -> None:
    states = States(20, always=10)
    for n in range(20):
        states.add(n)
    with pytest.raises(NotProvedError, match="more than 20 states"):
        states.add(20)
