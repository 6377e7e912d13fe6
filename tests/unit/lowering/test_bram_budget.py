"""Block RAMs: where memories are kept, what a budget of them changes, and what is said where it cannot be kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from chains import asked, chain_of, config_of, designed
from layer_graphs import join, linear

from mase_hw.config.hardware import HardwareSpec, HardwareTarget
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.ir.plumbing import Fifo
from mase_hw.layers import LayerGraph, ModelInput
from mase_hw.lowering import labels
from mase_hw.lowering.build import built
from mase_hw.lowering.labels import Label, Limits, Sieve

SLOW = chain_of("linear 12 10", "relu 10", "linear 10 9")  # folded onto one multiplier, both have over 64 steps
FOLDED = config_of(default=HardwareSpec("folded"))


def test_without_a_budget_memories_are_placed_by_depth() -> None:
    design = designed(SLOW, FOLDED, target_interval=120)
    assert design.cost().bram > 0
    assert {getattr(c, "block_ram", None) for c in design.components} == {None}


def test_a_budget_is_kept_and_a_larger_one_never_takes_more_sites() -> None:
    costs = [designed(SLOW, FOLDED, target_interval=120, bram_budget=most).cost() for most in (0, 1, 2, 4)]
    assert [cost.bram <= most for cost, most in zip(costs, (0, 1, 2, 4), strict=True)] == [True] * 4
    assert costs[0].bram == 0
    assert all(before.logic >= after.logic for before, after in pairwise(costs))
    assert costs[0].logic > costs[-1].logic


def test_all_budgets_together() -> None:
    free = designed(SLOW, FOLDED, target_interval=60, dsp_budget=2, bram_budget=2).cost()
    assert free.dsp <= 2
    assert free.bram <= 2
    wish = {"target_interval": 60, "dsp_budget": 2, "bram_budget": 2}
    assert designed(SLOW, FOLDED, lut_budget=free.logic, **wish).cost() == free
    text = f"with target_interval = 60 and dsp_budget = 2 and bram_budget = 2 takes {free.logic} LUT sites"
    with pytest.raises(ProblemsError, match=text):
        designed(SLOW, FOLDED, lut_budget=free.logic - 1, **wish)


def test_a_budget_that_nothing_fits_says_how_close_it_came() -> None:
    deep = config_of(linear0=HardwareSpec("unrolled", data_in_fifo_depth=200))
    chain = chain_of("linear 12 3")
    need = Fifo("fifo", (asked(chain).sites[0].inputs[0].with_lanes("x", 12),) * 1, (), 200).cost().bram
    assert need > 0
    with pytest.raises(ProblemsError) as raised:
        designed(chain, deep, target_interval=1, bram_budget=need - 1)
    (problem,) = raised.value.problems
    assert f"bram_budget = {need - 1}: no design takes fewer than {need} block RAMs; that one takes" in problem.message
    assert problem.hint is not None
    assert f"set bram_budget = {need} or more" in problem.hint
    assert designed(chain, deep, target_interval=1, bram_budget=need).cost().bram == need


def residual() -> LayerGraph:
    layers = (linear("fc0", "x", 4, 4), linear("fc1", "fc0", 4, 4), join("add", "s", "fc0", "fc1", 4))
    return LayerGraph((ModelInput("x", (4,)),), layers, ("s",))


def test_the_fifos_in_front_of_joins_are_inside_the_budget() -> None:
    graph, wish = residual(), {"target_interval": 8}
    with Collector() as problems:
        plan, made = built(graph, config_of(), HardwareTarget("top", **wish), problems)
    whole = made.design.cost().logic
    assert whole > plan.sites  # what was planned lacks the FIFO
    with Collector() as problems:
        plan, made = built(graph, config_of(), HardwareTarget("top", lut_budget=whole, **wish), problems)
    assert made.design.cost().logic <= whole
    with pytest.raises(ProblemsError, match=r"lut_budget = \d+: .* takes \d+ LUT sites"), Collector() as problems:
        built(graph, config_of(), HardwareTarget("top", lut_budget=plan.sites, **wish), problems)


def total(sites: int, dsp: int, bram: int) -> Label:
    return Label((sites, dsp, bram, 0))


def test_what_pays_is_kept() -> None:
    drawn = [total(9, 0, 0), total(5, 2, 0), total(5, 0, 3), total(6, 2, 1), total(1, 9, 0), total(4, 2, 3)]
    kept = Sieve(Limits(4, 4)).best(drawn, lambda _: 0)
    assert [label.total[:3] for label in kept] == [(9, 0, 0), (5, 2, 0), (5, 0, 3), (4, 2, 3)]
    assert [label.total[:3] for label in Sieve(Limits()).best(drawn, lambda _: 0)] == [(1, 9, 0)]
    assert [label.total[:3] for label in Sieve(Limits(bram=0)).best(drawn, lambda _: 0)] == [(1, 9, 0)]


def test_what_is_left_out_of_very_many_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST_ALIKE", 5)
    monkeypatch.setattr(labels, "CELLS", 2)
    drawn = [total(100 - k, k, 0) for k in range(6)]
    sieve = Sieve(Limits(dsp=10))
    assert len(sieve.best(drawn[:5], lambda _: 0)) == 5
    assert sieve.optimal
    kept = [label.total[:2] for label in sieve.best(drawn, lambda _: 0)]
    assert not sieve.optimal
    assert kept == [(100, 0), (95, 5)]  # that with the fewest, and the cheapest of each half
