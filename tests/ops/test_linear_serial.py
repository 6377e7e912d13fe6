"""The serial linear: integers = RTL in values and cycles over types, digits and ranges; its tables; its cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from together import assert_all_equal, first_name, in_groups

from mase_hw.adders.tables import ADDED_BITS, ALONE_BITS, Bit, tables
from mase_hw.emit.store import load_design, save_design
from mase_hw.ir import Design, Stream
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import LinearSerial, Result, serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.serial_plan import digits_of

F8 = Fixed(8, 4)
TABLES = "tables"


@dataclass(frozen=True)
class Case:
    features: tuple[int, int]
    digit_bits: int
    data_in: Fixed = F8
    weight: Fixed = F8
    bias: Fixed = F8
    data_out: Fixed | None = F8
    rounding: Rounding = Rounding.HALF_EVEN
    per_stage: int = 4
    zeros: float = 0.0  # share of weights that are zero
    small: int = 0  # weights are within so much of zero
    bounds: str = "full"  # or what is known of the inputs beyond their type
    rectify: bool = False
    dead: tuple[int, ...] = ()  # inputs without a weight
    groups: int = 1
    no_bias: bool = False
    twice: bool = False  # both halves of the outputs have the same weights

    def stream(self, rng: np.random.Generator) -> Stream:
        n, fixed = self.features[0], self.data_in
        lo, hi = np.full(n, fixed.lo), np.full(n, fixed.hi)
        if self.bounds == "tight":
            ends = np.sort(rng.integers(fixed.lo, fixed.hi + 1, (2, n)), axis=0)
            lo, hi = ends
            lo[::4] = hi[::4]  # these never change
        elif self.bounds == "mixed":  # inputs of one bit among wide ones, and some that are always negative
            hi[::3], lo[::3] = 1, 0
            if fixed.signed:
                hi[1::3] = -1
        elif self.bounds == "still":
            lo = hi
        return Stream("data_in_0", n, n, fixed, tuple(lo.tolist()), tuple(hi.tolist()))

    def component(self) -> LinearSerial:
        rng = np.random.default_rng(sum(map(ord, repr(self))))
        n_in, n_out = self.features
        x = self.stream(rng)
        lo, hi = (-self.small, self.small) if self.small else (self.weight.lo, self.weight.hi)
        matrix = rng.integers(lo, hi + 1, (n_out, n_in))
        matrix[rng.random(matrix.shape) < self.zeros] = 0
        matrix[:, list(self.dead)] = 0
        if self.twice:
            matrix[n_out // 2 :] = matrix[: n_out // 2]
        bias = rng.integers(self.bias.lo, self.bias.hi + 1, n_out) * (not self.no_bias)
        alignment = align(x.fixed, self.weight, self.bias)
        result = Result(self.data_out, self.rounding) if self.data_out else None
        options = {"digit_bits": self.digit_bits, "adders_per_stage": self.per_stage, "groups": self.groups}
        found = serial("fc", x, matrix, bias << alignment.constant_shift, alignment, result, **options)
        if self.rectify:
            merged = found.rectified()
            assert isinstance(merged, LinearSerial)
            found = merged
        return replace(found, outputs=(found.output.renamed("data_out_0"),))


CASES = {
    "one bit at a time": Case((6, 5), 1),
    "one bit, more tables than fit a stage": Case((30, 3), 1, per_stage=2),
    "two bits": Case((6, 4), 2, rounding=Rounding.FLOOR),
    "three bits do not divide eight": Case((7, 4), 3, rounding=Rounding.FLOOR),
    "four bits, a long chain": Case((12, 3), 4),
    "one addition per stage": Case((8, 3), 2, per_stage=1),
    "requantized in the same cycle": Case((4, 3), 1, per_stage=8),
    "all bits in one digit": Case((5, 4), 8),
    "all bits, chain in stages": Case((16, 3), 8, per_stage=2),
    "a digit wider than the input": Case((5, 4), 11),
    "a graph": Case((4, 40), 4, small=3),
    "a graph, one digit": Case((4, 40), 8, small=3, rounding=Rounding.FLOOR),
    "a graph, three digits, two levels per stage": Case((5, 60), 3, small=3, per_stage=2, zeros=0.2),
    "a graph, exact": Case((4, 40), 4, small=3, data_out=None),
    "unsigned": Case((6, 4), 2, Fixed(7, 3, signed=False), data_out=Fixed(6, 2, signed=False)),
    "ReLU": Case((6, 5), 2, rounding=Rounding.FLOOR, rectify=True, data_out=Fixed(8, 4, signed=False)),
    "ReLU, signed": Case((6, 5), 4, rectify=True),
    "exact": Case((6, 4), 3, data_out=None),
    "one input": Case((1, 6), 2),
    "one output": Case((9, 1), 1),
    "one of each": Case((1, 1), 1, Fixed(2, 0), Fixed(2, 0), Fixed(2, 0), None),
    "many zeros": Case((12, 8), 2, zeros=0.8),
    "inputs without a weight": Case((6, 4), 3, dead=(0, 5)),
    "no weight at all": Case((4, 3), 2, dead=(0, 1, 2, 3)),
    "nothing ever changes": Case((4, 3), 1, bounds="still"),
    "tight bounds": Case((9, 5), 2, bounds="tight"),
    "tight bounds, one bit, floor": Case((9, 5), 1, bounds="tight", rounding=Rounding.FLOOR),
    "mixed widths": Case((9, 5), 3, bounds="mixed"),
    "mixed widths, exact": Case((9, 5), 1, bounds="mixed", data_out=None),
    "a graph of mixed widths": Case((6, 60), 4, small=2, bounds="mixed"),
    "a graph with tight bounds": Case((6, 60), 4, small=2, bounds="tight"),
    "fine bias shifts the products": Case((4, 4), 2, Fixed(6, 1), Fixed(6, 1), Fixed(12, 9)),
    "everything rounds away": Case((4, 4), 1, Fixed(3, 12), Fixed(3, 14), Fixed(3, 14), Fixed(4, -8)),
    "everything saturates": Case((4, 4), 2, Fixed(8, -8), Fixed(8, 0), Fixed(8, 0), Fixed(4, 16)),
    "sixteen bits": Case((5, 3), 5, Fixed(16, 8), Fixed(16, 12), Fixed(16, 8), Fixed(16, 6)),
    "two groups": Case((9, 6), 1, groups=2),
    "two groups, floor, ReLU": Case((16, 4), 1, rounding=Rounding.FLOOR, rectify=True, groups=2),
    "three groups, two bits": Case((7, 9), 2, groups=3, rounding=Rounding.FLOOR),
    "four groups, more tables than fit a stage": Case((14, 8), 1, groups=4, per_stage=2),
    "eight groups of one": Case((5, 8), 1, groups=8),
    "groups, requantized in the same cycle": Case((4, 6), 1, per_stage=8, groups=2),
    "groups, one digit": Case((4, 6), 8, groups=3),
    "groups, exact": Case((5, 6), 2, data_out=None, groups=2),
    "groups, tight bounds": Case((9, 6), 1, bounds="tight", groups=3, zeros=0.5),
    "groups, mixed widths": Case((9, 6), 3, bounds="mixed", groups=2),
    "groups, no weight at all": Case((4, 4), 2, dead=(0, 1, 2, 3), groups=2),
    "groups, no weight at all, fine bias": Case(
        (4, 4), 2, Fixed(6, 1), Fixed(6, 1), Fixed(3, 9), dead=(0, 1, 2, 3), groups=2
    ),
    "groups, the same constants": Case((4, 4), 2, dead=(0, 1, 2, 3), groups=2, no_bias=True, per_stage=1),
    "groups, the same constants in stages": Case((30, 4), 1, groups=2, no_bias=True, per_stage=2, twice=True),
    "groups, fine bias": Case((4, 4), 2, Fixed(6, 1), Fixed(6, 1), Fixed(12, 9), groups=4),
    "groups, everything saturates": Case((4, 4), 2, Fixed(8, -8), Fixed(8, 0), Fixed(8, 0), Fixed(4, 16), groups=2),
    "one bit unsigned": Case((8, 3), 1, Fixed(1, 0, signed=False), data_out=Fixed(1, 0, signed=False)),
}


# What takes fewer sites as an adder graph; every other case is made of tables.
GRAPHS = {
    *("all bits in one digit", "all bits, chain in stages", "ReLU, signed", "inputs without a weight"),
    *(name for name in CASES if name.startswith("a graph")),
}


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(CASES), ids=first_name)
def test_in_rtl(group: dict[str, Case], tmp_path: Path) -> None:
    designs = {}
    for name, case in group.items():
        component = case.component()
        assert (component.solver != TABLES) == (name in GRAPHS), name
        designs[name] = design = Design("dut", (component,))
        assert design.schedule.interval == component.interval, name
        assert design.schedule.latency == component.latency, name
    assert_all_equal(designs, tmp_path, yosys=True)


@pytest.mark.slow
def test_one_after_the_other(tmp_path: Path) -> None:
    """A fast one in front of a slow one waits for it, and the cycles are as predicted."""
    designs = {}
    for bits in ((1, 4), (4, 1), (3, 3), (8, 2), (2, 8)):
        first, second = (Case((5, 5), digit_bits).component() for digit_bits in bits)
        bounds = {"lo": (F8.lo,) * 5, "hi": (F8.hi,) * 5}  # as the second was planned for
        middle = replace(first.output.renamed("middle"), **bounds)
        design = Design("dut", (replace(first, outputs=(middle,)), replace(second, name="fd", inputs=(middle,))))
        design.verify()
        assert design.schedule.interval == max(first.interval, second.interval)
        designs["{} and {} bits".format(*bits)] = design
    assert_all_equal(designs, tmp_path)


@pytest.mark.parametrize("name", CASES)
def test_interval_is_the_digits_that_the_bounds_need(name: str) -> None:
    case = CASES[name]
    component = case.component()
    live = (component.matrix != 0).any(0) & np.array([lo < hi for lo, hi in zip(*_bounds(component), strict=True)])
    bits = [
        max((~lo if lo < 0 else lo).bit_length(), (~hi if hi < 0 else hi).bit_length()) + (lo < 0 <= hi)
        for lo, hi, used in zip(*_bounds(component), live, strict=True)
        if used
    ]
    digits = max(1, -(-max(bits, default=0) // case.digit_bits))
    assert component.interval == digits * case.groups
    assert (not component.ready_paths) == (digits > 1)


def _bounds(component: LinearSerial) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return component.input.lo, component.input.hi


@pytest.mark.parametrize("name", CASES)
def test_survives_being_stored(name: str) -> None:
    design = Design("dut", (CASES[name].component(),))
    manifest, arrays = save_design(design)
    again = load_design({**manifest, "top": "dut", "nodes": []}, arrays)
    x = np.random.default_rng(0).integers(design.input.lo, np.array(design.input.hi) + 1, (20, design.input.features))
    assert np.array_equal(design.run(x)["data_out_0"], again.run(x)["data_out_0"])
    assert again.components[0].instance() == design.components[0].instance()
    assert again.components[0].cost() == design.components[0].cost()


def test_tables_hold_every_bit_once_and_sum_up() -> None:
    rng = np.random.default_rng(1)
    for count in (1, 5, 6, 17, 64):
        weights = rng.integers(1, 128, count) * rng.choice([-1, 1], count) << rng.integers(0, 4, count)
        for groups, taken in ((1, 0), (2, 1), (3, 2), (8, 3)):
            _check_tables(weights * rng.integers(1, 4, (groups, 1)), taken, rng)


def _check_tables(weights: Integers, taken: int, rng: np.random.Generator) -> None:
    """`weights` are [group, bit]; which group it is takes so many bits of an address."""
    groups, count = weights.shape
    bits = [Bit(i, 0, tuple(weights[:, i].tolist())) for i in range(count)]
    for alone in (False, True):
        found = tables(bits, alone)
        assert sorted(bit.input for table in found for bit in table.bits) == list(range(count))
        sizes = [len(table.bits) + taken for table in found]
        assert max(sizes[1:], default=0) <= ADDED_BITS
        assert sizes[0] <= (ALONE_BITS if alone else ADDED_BITS)
        for table in found:
            group, address = int(rng.integers(groups)), int(rng.integers(1 << len(table.bits)))
            expected = sum(bit.weights[group] for k, bit in enumerate(table.bits) if address >> k & 1)
            entry = table.entries[address + (group << len(table.bits))]
            assert table.bases[group] + (entry << table.zeros) == expected
            assert len(table.entries) == 1 << len(table.bits) + taken
            assert max(table.entries) << table.zeros == table.hi
            assert min(table.entries) == 0


def test_wide_weights_do_not_widen_the_tables_of_small_ones() -> None:
    bits = [Bit(i, 0, (100 if i % 2 else 1,)) for i in range(10)]
    assert sum(table.luts for table in tables(bits, alone=False)) <= 3 + 8  # 5 ones; 5 hundreds, multiples of 4


def test_smaller_digits_cost_less() -> None:
    costs = [replace_digits(bits).cost() for bits in (8, 4, 3, 2, 1)]
    luts = [cost.lut for cost in costs]
    assert luts == sorted(luts, reverse=True)
    assert luts[-1] < luts[0] / 3


def replace_digits(bits: int) -> LinearSerial:
    return Case((16, 12), bits, small=20).component()


def test_groups_that_share_tables_cost_less_for_a_longer_interval() -> None:
    found = [Case((16, 64), 1, small=20, groups=groups).component() for groups in (1, 2, 4, 8)]
    assert [component.interval for component in found] == [8, 16, 32, 64]
    luts = [component.cost().lut for component in found]
    assert luts == sorted(luts, reverse=True)
    assert luts[-1] < luts[0] / 2


def test_raised_tables_bring_the_groups_constants_together() -> None:
    component = Case((16, 8), 1, bias=Fixed(3, 4), small=20, groups=2).component()
    apart, before = 0, 0
    for row in component.rows:
        first, second = row.constants
        raised = np.sum([table.raised for table in (*row.feed, *row.late)], 0) * component.digits.repeated(8)
        apart, before = apart + abs(first - second), before + abs(first + raised[0] - second - raised[1])
    assert 0 < apart < before / 2


def test_digits_of_inputs_that_take_no_part() -> None:
    x = Stream("x", 3, 3, F8, (-128, 5, 0), (127, 5, 3))
    digits = digits_of(x, np.array([[1, 1, 1], [0, 2, 1]]), 2)
    assert digits.live == (0, 2)
    assert digits.count == 4
    assert [digits.width(i) for i in digits.live] == [2, 2]
    assert [side.tolist() for side in digits.bounds] == [[0, 0, 0], [3, 0, 3]]
