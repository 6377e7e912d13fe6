"""Every operator over a grid of types, shapes and parallelisms: torch = integer reference = RTL, with `==`.

Written once: a case is a small torch model with its tables. The software comparison runs on every case that Hypothesis
draws; the RTL comparison on the named corner cases and on a seeded draw.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_software_equal, by_type, named, randomized, spec
from together import assert_all_equal, first_name, in_groups
from torch import nn

from mase_hw.flow import Compiled, compile_model
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.operator import divisors

F8 = Fixed(8, 4)


@dataclass(frozen=True)
class Case:
    """One layer (or two) with its types and its hardware."""

    op: str
    features: tuple[int, int]
    data_in: Fixed
    weight: Fixed = F8
    bias: Fixed | None = F8
    data_out: Fixed | None = F8
    rounding: Rounding = Rounding.HALF_EVEN
    implementation: str = "auto"
    parallelism: tuple[int, int] | None = None
    fifo: int = 0

    def compile(self) -> Compiled:
        n_in, n_out = self.features
        weights = {"weight": self.weight, "bias": self.bias if self.op == "linear" else self.bias or Fixed(8, 4)}
        types = {"data_in": self.data_in, "data_out": self.data_out, **({} if self.op == "relu" else weights)}
        layers: dict[str, nn.Module] = {
            "linear": nn.Linear(n_in, n_out, bias=self.bias is not None),
            "relu": nn.ReLU(),
            "batch_norm1d": nn.BatchNorm1d(n_in),
        }
        model = randomized(nn.Sequential(layers[self.op]), seed=zlib.crc32(repr(self).encode()))
        hardware: dict[str, Any] = {"data_in_fifo_depth": self.fifo}
        if self.op == "linear":
            hardware["implementation"] = self.implementation
        if self.parallelism:
            hardware |= {"data_in_parallelism": self.parallelism[0], "data_out_parallelism": self.parallelism[1]}
        entry = by_type(**{self.op: spec(self.rounding, **types)})
        return compile_model(model, (n_in,), entry, named(_0=hardware), top="dut")


def types(draw: Any, widths: tuple[int, int] = (2, 16)) -> Fixed:
    signed = draw(st.booleans())
    return Fixed(draw(st.integers(*widths)), draw(st.integers(-4, 20)), signed)


@st.composite
def cases(draw: Any, max_features: int = 12) -> Case:
    op = draw(st.sampled_from(["linear", "linear", "batch_norm1d", "relu"]))
    n_in = draw(st.integers(1, max_features))
    n_out = draw(st.integers(1, max_features)) if op == "linear" else n_in
    return Case(
        op,
        (n_in, n_out),
        types(draw),
        types(draw),
        types(draw) if draw(st.booleans()) else None,
        types(draw) if draw(st.booleans()) else None,
        draw(st.sampled_from(Rounding)),
        draw(st.sampled_from(["unrolled", "folded"])),
        (draw(st.sampled_from(divisors(n_in))), draw(st.sampled_from(divisors(n_out)))),
        draw(st.sampled_from([0, 0, 1, 3])),
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(max_features=20))
def test_torch_equals_integers(case: Case) -> None:
    assert_software_equal(case.compile())


CORNERS = {
    "relu one lane": Case("relu", (5, 5), F8, parallelism=(1, 1)),
    "relu narrows": Case("relu", (6, 6), Fixed(16, 9), data_out=Fixed(5, 2, signed=False), parallelism=(3, 2)),
    "relu keeps its type": Case("relu", (4, 4), Fixed(2, 0), data_out=None),
    "batch norm, all lanes": Case("batch_norm1d", (8, 8), F8, parallelism=(8, 8)),
    "batch norm, beats, floor": Case("batch_norm1d", (12, 12), F8, rounding=Rounding.FLOOR, parallelism=(4, 6)),
    "batch norm, exact, unsigned": Case("batch_norm1d", (6, 6), Fixed(7, 3, signed=False), data_out=None),
    "unrolled, odd sizes": Case("linear", (7, 5), F8, implementation="unrolled"),
    "unrolled behind adapters": Case("linear", (12, 10), F8, implementation="unrolled", parallelism=(3, 2)),
    "unrolled, three levels": Case("linear", (70, 2), F8, implementation="unrolled"),
    "unrolled, exact": Case("linear", (9, 4), F8, data_out=None, implementation="unrolled"),
    "folded 1 x 1": Case("linear", (6, 4), F8, implementation="folded", parallelism=(1, 1)),
    "folded, all at once": Case("linear", (6, 4), F8, implementation="folded", parallelism=(6, 4)),
    "folded, one output beat": Case("linear", (8, 4), F8, implementation="folded", parallelism=(2, 4)),
    "folded, one input beat": Case("linear", (4, 8), F8, implementation="folded", parallelism=(4, 2)),
    "folded, two levels of sums": Case("linear", (18, 4), F8, implementation="folded", parallelism=(9, 2)),
    "folded, three levels of sums": Case("linear", (70, 2), F8, implementation="folded", parallelism=(70, 1)),
    "folded, no bias, exact": Case("linear", (6, 6), F8, bias=None, data_out=None, implementation="folded"),
    "folded, floor": Case("linear", (12, 6), F8, rounding=Rounding.FLOOR, implementation="folded", parallelism=(4, 3)),
    "folded, unsigned both ends": Case(
        "linear",
        (10, 6),
        Fixed(6, 3, signed=False),
        data_out=Fixed(6, 3, signed=False),
        implementation="folded",
        parallelism=(5, 2),
    ),
    "fine bias shifts the products": Case(
        "linear",
        (4, 4),
        Fixed(6, 1),
        Fixed(6, 1),
        Fixed(12, 9),
        Fixed(8, 4),
        implementation="folded",
        parallelism=(2, 2),
    ),
    "frac below zero and above width": Case(
        "linear", (6, 3), Fixed(5, -3), Fixed(4, 9), Fixed(6, -2), Fixed(7, -4), implementation="unrolled"
    ),
    "everything rounds away": Case("linear", (4, 4), Fixed(3, 12), Fixed(3, 14), None, Fixed(4, -8)),
    "everything saturates": Case("linear", (4, 4), Fixed(8, -8), Fixed(8, 0), None, Fixed(4, 16)),
    "two bits": Case("linear", (5, 5), Fixed(2, 0), Fixed(2, 0), Fixed(2, 0), Fixed(2, 0), implementation="folded"),
    "sixteen bits": Case("linear", (8, 4), Fixed(16, 8), Fixed(16, 12), Fixed(16, 8), Fixed(16, 6)),
    "one bit unsigned": Case("linear", (8, 3), Fixed(1, 0, signed=False), data_out=Fixed(1, 0, signed=False)),
    "fifo of one": Case("linear", (6, 4), F8, implementation="folded", parallelism=(2, 2), fifo=1),
    "fifo of three": Case("batch_norm1d", (6, 6), F8, parallelism=(2, 2), fifo=3),
}


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(CORNERS), ids=first_name)
def test_corner_in_rtl(group: dict[str, Case], tmp_path: Path) -> None:
    compiled = {name: case.compile() for name, case in group.items()}
    for one in compiled.values():
        assert_software_equal(one)
    assert_all_equal({name: one.design for name, one in compiled.items()}, tmp_path, yosys=True)


@pytest.mark.slow
@pytest.mark.parametrize("block", [0, 1, *(pytest.param(k, marks=pytest.mark.nightly) for k in (2, 3))])
def test_drawn_in_rtl(block: int, tmp_path: Path) -> None:
    """Eight drawn cases each, by a generator of our own: a shrinking search would build hundreds of simulators."""
    rng = np.random.default_rng(block)
    cases = [drawn(rng) for _ in range(8)]
    compiled = {f"{case}": case.compile() for case in cases}
    for one in compiled.values():
        assert_software_equal(one)
    assert_all_equal({name: one.design for name, one in compiled.items()}, tmp_path, count=24)


def drawn(rng: np.random.Generator) -> Case:
    def fixed() -> Fixed:
        signed = bool(rng.integers(2))
        return Fixed(int(rng.integers(2, 17)), int(rng.integers(-4, 21)), signed)

    op = str(rng.choice(["linear", "linear", "linear", "batch_norm1d", "relu"]))
    n_in = int(rng.integers(1, 13))
    n_out = int(rng.integers(1, 13)) if op == "linear" else n_in
    return Case(
        op,
        (n_in, n_out),
        fixed(),
        fixed(),
        fixed() if rng.integers(2) else None,
        fixed() if rng.integers(4) else None,
        Rounding.HALF_EVEN if rng.integers(2) else Rounding.FLOOR,
        str(rng.choice(["unrolled", "folded"])),
        (int(rng.choice(divisors(n_in))), int(rng.choice(divisors(n_out)))),
        int(rng.choice([0, 0, 2])),
    )
