"""The optimiser finds what trying everything finds, and what it promises of a design is what the design has."""

from __future__ import annotations

import zlib
from functools import cache
from itertools import product

import pytest
from chains import asked, chain_of, config_of

from mase_hw.config.hardware import HardwareSpec
from mase_hw.cost.cost import Cost
from mase_hw.ir import Component, Design
from mase_hw.lowering.labels import Limits
from mase_hw.lowering.lower import lower
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.operator import Linear
from mase_hw.ops.operator import operator_of

Case = tuple[tuple[str, ...], str, int]  # layers, what is fixed, the slowest interval

FIXED = {
    "": config_of(),
    "lanes": config_of(linear0=HardwareSpec(data_in_parallelism=2)),
    "fifo": config_of(linear1=HardwareSpec("folded", data_in_fifo_depth=1), relu1=HardwareSpec(data_in_fifo_depth=2)),
    "adapters": config_of(linear0=HardwareSpec(data_out_parallelism=2), linear1=HardwareSpec(data_in_parallelism=1)),
    "array": config_of(linear0=HardwareSpec(array_in=3, data_out_parallelism=1), linear1=HardwareSpec("serial")),
}
CASES: dict[str, Case] = {
    "two matrices": (("linear 4 3", "linear 3 2"), "", 12),
    "two matrices, fast": (("linear 4 3", "linear 3 2"), "", 2),
    "a relu between": (("linear 2 4", "relu 4", "linear 4 1"), "", 6),
    "a batch norm first": (("batch_norm1d 4", "linear 4 3", "relu 3"), "", 6),
    "a batch norm between": (("linear 3 4", "batch_norm1d 4"), "", 12),
    "relus in a row": (("relu 2", "linear 2 4", "relu 4", "relu 4"), "", 4),
    "only elementwise": (("batch_norm1d 6", "relu 6", "batch_norm1d 6"), "", 6),
    "nothing to do": (("relu 6", "relu 6", "batch_norm1d 6"), "", 6),
    "lanes": (("linear 4 4", "linear 4 1"), "lanes", 12),
    "a fifo": (("linear 2 2", "linear 2 2"), "fifo", 12),
    "a fifo before a relu": (("linear 2 4", "relu 4"), "fifo", 12),
    "adapters": (("linear 2 4", "linear 4 1"), "adapters", 12),
    "small": (("linear 2 2", "relu 2", "linear 2 2"), "", 4),
    "an array": (("linear 4 4", "linear 4 2"), "array", 12),
}


@cache
def every(name: str, dsp: bool) -> list[Design]:
    """All combinations of what is offered."""
    layers, fixed, slowest = CASES[name]
    chain = chain_of(*layers)
    offered = asked(chain, FIXED[fixed], dsp=dsp).offer(slowest)
    designs = [lower("top", chain, [candidate.choice for candidate in found]) for found in product(*offered)]
    assert len(designs) > 1
    return designs


def drawn_costs(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Costs from a hat, the same for components that are alike: a cost model that knows no rule of thumb."""

    def cost(self: Component) -> Cost:
        own = [getattr(self, key, None) for key in ("p_in", "p_out", "use_dsp", "digit_bits", "depth")]
        step = self.finish
        lanes = (self.input.lanes, self.output.lanes, self.input.features, self.output.features)
        text = repr((seed, self.kind, lanes, own))
        drawn, more = zlib.crc32(text.encode()), zlib.crc32(f"{text}{step and step.rectify}".encode())
        dsp = drawn % 4 * bool(own[2])  # a ReLU that is merged multiplies nothing
        return Cost(lut=more % 40, lutram=more // 64 % 8, dsp=dsp, bram=more // 4096 % 2)

    for kind in Component.kinds.values():
        monkeypatch.setattr(kind, "cost", cost)


def figures(design: Design) -> tuple[int, int, int, int]:
    cost = design.cost()
    return cost.logic, cost.dsp, cost.bram, sum(component.latency for component in design.components)


def assert_is_best(name: str, most_dsp: int | None = None, most_bram: int | None = None) -> None:
    layers, fixed, slowest = CASES[name]
    chain, dsp = chain_of(*layers), most_dsp is not None
    plan = asked(chain, FIXED[fixed], dsp=dsp).planner.best(slowest, Limits(most_dsp, most_bram))
    found = map(figures, every(name, dsp))
    fits = [total for total in found if most_dsp is None or total[1] <= most_dsp]
    best = min((total for total in fits if most_bram is None or total[2] <= most_bram), default=None)
    if best is None:
        assert plan is None
        return
    assert plan is not None
    design = lower("top", chain, plan.choices)
    assert figures(design) == best
    assert (plan.sites, plan.dsp, plan.bram) == best[:3]
    assert design.schedule.interval == plan.interval <= slowest


@pytest.mark.parametrize("name", CASES)
def test_trying_everything_finds_nothing_better(name: str) -> None:
    assert_is_best(name)


@pytest.mark.parametrize("name", CASES)
def test_nor_with_any_other_costs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        drawn_costs(monkeypatch, seed)
        assert_is_best(name)


@pytest.mark.parametrize("most_dsp", [0, 1, 2, 4])
@pytest.mark.parametrize("name", ["two matrices, fast", "small"])
def test_nor_with_so_many_dsp_blocks(name: str, most_dsp: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_is_best(name, most_dsp)
    for seed in range(12):
        drawn_costs(monkeypatch, seed)
        assert_is_best(name, most_dsp)


@pytest.mark.parametrize(("most_dsp", "most_bram"), [(None, 1), (None, 3), (2, 2), (4, 1)])
def test_nor_with_so_many_block_rams(most_dsp: int | None, most_bram: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(8):
        drawn_costs(monkeypatch, seed)
        assert_is_best("two matrices, fast", most_dsp, most_bram)


def test_no_design_is_slower_than_its_slowest_component() -> None:
    """The optimiser counts on it; the schedule, which is exact, decides."""
    for name in CASES:
        for design in every(name, False)[::3]:
            assert design.schedule.interval == max(component.interval for component in design.components)


def test_there_is_no_plan_where_nothing_is_fast_enough() -> None:
    chain = chain_of("linear 4 3")
    config = config_of(linear0=HardwareSpec("folded", array_in=1, array_out=1))
    assert asked(chain, config).planner.best(11) is None
    assert asked(chain, config).planner.best(12) is not None


def test_bounds_make_digits_fewer() -> None:
    """Behind a ReLU an input has a bit less, and a serial layer takes a cycle less."""
    first, _, second = asked(chain_of("linear 4 4", "relu 4", "linear 4 2", fixed=Fixed(6, 2))).sites
    operator = operator_of("linear")
    assert isinstance(operator, Linear)
    assert (operator.bits(first), operator.bits(second)) == (6, 5)
