"""What is chosen: the interval is reached, budgets are kept, nothing is looked at that would take too long."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from chains import asked, chain_of, config_of, designed

from mase_hw.config.hardware import HardwareSpec, HardwareTarget
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.explore.front import front
from mase_hw.lowering import parts
from mase_hw.lowering.choose import choose
from mase_hw.lowering.lower import lower
from mase_hw.lowering.space import candidates
from mase_hw.numerics import Fixed
from mase_hw.ops.linear import operator as linear
from mase_hw.ops.linear.space import SOLVED_WEIGHTS, arrays
from mase_hw.ops.operator import FOREVER, Wish

SMALL = chain_of("batch_norm1d 6", "linear 6 5", "relu 5", "linear 5 3")
WIDER = chain_of("linear 12 10", "relu 10", "linear 10 6", fixed=Fixed(8, 4))
MIDDLE = chain_of("linear 20 18", "relu 18", "batch_norm1d 18", "linear 18 5")
LARGE = chain_of("linear 160 160", "relu 160", "linear 160 8", fixed=Fixed(3, 1))


@pytest.mark.parametrize("target", [1, 2, 3, 5, 8, 30, 77, 1000])
@pytest.mark.parametrize("chain", [SMALL, MIDDLE], ids=["small", "middle"])
def test_the_target_is_reached(chain: Any, target: int) -> None:
    assert designed(chain, target_interval=target).schedule.interval <= target


def test_fewer_cycles_never_take_fewer_luts() -> None:
    planner = asked(SMALL).planner
    sizes = [plan.sites for plan in map(planner.best, (1, 2, 3, 4, 6, 8, 12, 20, 30)) if plan]
    assert len(sizes) == 9
    assert all(before >= after for before, after in pairwise(sizes))
    assert sizes[0] > sizes[-1]


def test_the_front_is_what_asking_for_every_interval_gives() -> None:
    request = asked(WIDER)
    planner = request.planner
    expected: list[tuple[int, int]] = []
    for slowest in range(1, 121):
        plan = planner.best(slowest)
        assert plan is not None
        if not expected or plan.sites < expected[-1][1]:
            expected.append((plan.interval, plan.sites))
    done: list[float] = []
    found = front(request, 120, done.append)
    assert [(plan.interval, plan.sites) for plan in found[::-1]] == expected
    assert len(expected) > 2
    assert done == sorted(done)
    assert done[-1] == 1


@pytest.fixture(scope="module")
def points() -> list[tuple[int, int]]:
    """Interval and LUT sites of every point of the front."""
    return [(plan.interval, plan.sites) for plan in front(asked(WIDER), FOREVER)]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99, 1.0, 5.0])
def test_a_budget_gives_the_fastest_design_inside_it(share: float, points: list[tuple[int, int]]) -> None:
    smallest, largest = points[0][1], points[-1][1]
    budget = int(smallest + share * (largest - smallest))
    design = designed(WIDER, lut_budget=budget)
    expected = min(point for point in points if point[1] <= budget)
    assert (design.schedule.interval, design.cost().logic) == expected


def test_a_budget_and_a_target(points: list[tuple[int, int]]) -> None:
    target, luts = points[-2]
    design = designed(WIDER, target_interval=target, lut_budget=10 * luts)
    assert (design.schedule.interval, design.cost().logic) == (target, luts)  # the smallest, not the fastest
    with pytest.raises(ProblemsError, match=f"with target_interval = {target} takes {luts} LUT sites"):
        designed(WIDER, target_interval=target, lut_budget=luts - 1)


def test_dsp_blocks_are_used_only_where_they_are_allowed() -> None:
    chain = chain_of("linear 12 12", "linear 12 12", fixed=Fixed(12, 4))
    folded = config_of(default=HardwareSpec("folded"))
    without = designed(chain, folded, target_interval=12).cost()
    assert without.dsp == 0
    cost = designed(chain, folded, target_interval=12, dsp_budget=13).cost()
    assert 0 < cost.dsp <= 13  # each layer has 12 products in a cycle, so one of the two has to do without
    assert cost.logic < without.logic
    never = config_of(default=HardwareSpec("folded", use_dsp=False))
    assert designed(chain, never, target_interval=12, dsp_budget=13).cost().dsp == 0
    always = config_of(linear1=HardwareSpec("folded", use_dsp=True), default=HardwareSpec("folded"))
    used = {c.name: c.cost().dsp for c in designed(chain, always, target_interval=12).components}
    assert used["linear1"] > 0
    assert used["linear0"] == 0


def test_what_is_fixed_stays_fixed() -> None:
    chain = chain_of("linear 7 5", "linear 5 3")
    config = config_of(
        linear0=HardwareSpec(array_in=3, array_out=4), linear1=HardwareSpec(digit_bits=3, data_out_parallelism=1)
    )
    for target in ({}, {"target_interval": 40}, {"lut_budget": 100_000}):
        design = designed(chain, config, **target)
        first, second = design.component("linear0"), design.component("linear1")
        assert (first.kind, first.p_in, first.p_out) == ("linear_folded", 3, 4)  # type: ignore[attr-defined]
        assert (second.kind, second.digit_bits) == ("linear_serial", 3)  # type: ignore[attr-defined]
        assert design.output.lanes == 1


def test_groups_are_chosen_where_they_are_slow_enough() -> None:
    found = [designed(MIDDLE, target_interval=interval) for interval in (4, 16)]
    layers = [design.component("linear0") for design in found]
    assert [(layer.kind, layer.output.beats) for layer in layers] == [("linear_serial", 1), ("linear_serial", 3)]
    assert layers[1].cost().lut < layers[0].cost().lut
    asked = designed(MIDDLE, config_of(linear0=HardwareSpec(output_groups=3)))
    assert (asked.component("linear0").interval, asked.component("linear0").output.beats) == (12, 3)


def test_where_nothing_is_asked_small_matrices_are_unrolled_and_large_ones_folded() -> None:
    design = designed(MIDDLE)
    assert [c.kind for c in design.components] == ["linear_unrolled"] * 3
    assert design.schedule.interval == 1
    design = designed(LARGE)
    assert [node.implementation for node in design.nodes if node.op == "linear"] == ["folded", "unrolled"]
    assert 128 < design.schedule.interval <= 256


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The layers for which an adder graph was looked for."""
    monkeypatch.setattr(parts, "_solved", type(parts._solved)())
    names: list[str] = []
    for kind in ("unrolled", "serial"):
        make = getattr(linear, kind)

        def counted(name: str, *arguments: Any, make: Any = make, kind: str = kind, **more: Any) -> Any:
            names.append(f"{kind} {name}")
            return make(name, *arguments, **more)

        monkeypatch.setattr(linear, kind, counted)
    return names


def test_an_interval_of_one_solves_the_unrolled_graphs_and_nothing_else(solved: list[str]) -> None:
    designed(MIDDLE, target_interval=1)
    assert solved == ["unrolled linear0", "unrolled linear3"]
    designed(MIDDLE, target_interval=1)
    assert len(solved) == 2  # found once in a process


def test_a_large_matrix_is_not_solved_unless_asked_for(solved: list[str]) -> None:
    assert LARGE.layers[0].in_features * LARGE.layers[0].out_features > SOLVED_WEIGHTS
    designed(LARGE, target_interval=64)
    assert not [name for name in solved if name.endswith("linear0")]
    designed(LARGE, config_of(linear0=HardwareSpec("serial", digit_bits=1)), target_interval=64)
    assert "serial linear0" in solved


def test_each_candidate_takes_the_cycles_it_states() -> None:
    chain = chain_of("linear 6 4", fixed=Fixed(4, 1))
    request = asked(chain, dsp=True)
    (offered,) = request.offer(FOREVER)
    assert {candidate.choice.implementation for candidate in offered} == {"unrolled", "serial", "folded"}
    for candidate in offered:
        design = lower("top", chain, [candidate.choice])
        assert design.schedule.interval == candidate.interval, candidate
        assert max(component.interval for component in design.components) == candidate.interval


@pytest.mark.parametrize(("n_in", "n_out"), [(1, 1), (5, 7), (12, 8), (9, 1)])
def test_arrays_are_those_that_no_other_beats(n_in: int, n_out: int) -> None:
    sizes = {(p, q): (-(-n_in // p) * -(-n_out // q), p * q) for p in range(1, n_in + 1) for q in range(1, n_out + 1)}

    def beaten(own: tuple[int, int]) -> bool:
        return any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in sizes.values())

    assert sorted(arrays(n_in, n_out)) == sorted(array for array, own in sizes.items() if not beaten(own))


def test_an_array_follows_the_parallelism_that_is_asked_for() -> None:
    request = asked(chain_of("linear 8 6"), config_of(linear0=HardwareSpec("folded", data_in_parallelism=4)))
    offered = candidates(request.sites[0], request.specs[0], Wish())
    assert {candidate.choice.array_in for candidate in offered} == {4}
    assert {candidate.choice.data_in_parallelism for candidate in offered} == {4}
    assert len({candidate.choice.array_out for candidate in offered}) > 1


@pytest.mark.parametrize("key", ["array_in", "array_out"])
def test_one_side_of_an_array_asks_for_it_even_if_it_takes_one_step(key: str) -> None:
    config = config_of(linear0=HardwareSpec(**{key: 1}))  # type: ignore[arg-type]
    design = designed(chain_of("linear 1 1"), config, target_interval=8)
    assert [node.implementation for node in design.nodes] == ["folded"]


def test_a_parallelism_that_does_not_suit_the_array_gets_adapters() -> None:
    chain = chain_of("linear 12 8")
    spec = HardwareSpec("folded", data_in_parallelism=12, data_out_parallelism=2, array_in=5, array_out=3)
    design = designed(chain, config_of(linear0=spec))
    assert (design.input.lanes, design.output.lanes) == (12, 2)
    assert design.component("linear0").p_in == 5  # type: ignore[attr-defined]


def test_streams_that_a_user_fixed_may_lead_to_any_implementation() -> None:
    chain = chain_of("linear 8 8")
    config = config_of(linear0=HardwareSpec(data_in_parallelism=2, data_out_parallelism=4))
    kinds = {candidate.choice.implementation for offered in asked(chain, config).offer(8) for candidate in offered}
    assert kinds == {"unrolled", "serial", "folded"}
    with (
        pytest.raises(ProblemsError, match="data_in_parallelism = 2 takes 4 cycles for 8 features"),
        Collector() as problems,
    ):
        choose(chain, config, HardwareTarget("top", target_interval=3), problems)
