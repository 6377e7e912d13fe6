"""Which samples a simulation is given: each group whole, in its order."""

from __future__ import annotations

import branching
import numpy as np

from mase_hw.ir import Design, Stream
from mase_hw.numerics import Fixed
from mase_hw.simulate.stimulus import stimulus


def narrow() -> Design:
    """A layer on three inputs with bounds of their own, the last of which is never 0."""
    x = Stream("data_in_0", 3, 3, Fixed(5, 2), (-16, -3, 2), (15, 4, 9))
    layer = branching.dense("fc", x, np.array([[1, -2, 3], [0, 5, 0]]), Fixed(8, 4))
    return branching.checked("narrow", [branching.ended(layer, "data_out_0")])


def test_every_group_is_there() -> None:
    found = stimulus(narrow(), 6, 0)
    assert found.groups == (
        ("all smallest", 1),
        ("all largest", 1),
        ("one hot", 6),
        ("accumulator extremes", 4),
        ("random", 6),
    )
    rows = found.x.tolist()
    assert rows[:2] == [[-16, -3, 2], [15, 4, 9]]
    # Each input at either end while the others are as near to 0 as they come.
    assert rows[2:8] == [[15, 0, 2], [0, 4, 2], [0, 0, 9], [-16, 0, 2], [0, -3, 2], [0, 0, 2]]
    # Of each sum the least, then of each the greatest; an input without a weight is at its top, then at its bottom.
    least, greatest = np.array(rows[8:10]), np.array(rows[10:12])
    weights = np.array([[1, -2, 3], [0, 5, 0]])
    ends = [weights * side for side in ([-16, -3, 2], [15, 4, 9])]
    assert (least * weights).sum(1).tolist() == np.minimum(*ends).sum(1).tolist()
    assert (greatest * weights).sum(1).tolist() == np.maximum(*ends).sum(1).tolist()


def test_random_ones_reach_the_bounds_and_stay_within() -> None:
    found = stimulus(narrow(), 400, 3).x[-400:]
    assert found.min(0).tolist() == [-16, -3, 2]
    assert found.max(0).tolist() == [15, 4, 9]
    assert not np.array_equal(found, stimulus(narrow(), 400, 4).x[-400:])


def test_samples_of_a_data_set_come_first() -> None:
    given = np.array([[1, 1, 5], [0, -2, 3]])
    found = stimulus(narrow(), 2, 0, [given])
    assert found.groups[0] == ("data set", 2)
    assert np.array_equal(found.x[:2], given)
    assert found.samples == len(found.x) == 2 + 1 + 1 + 6 + 4 + 2
