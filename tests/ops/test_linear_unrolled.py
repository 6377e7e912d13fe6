"""Unrolled layers whose inputs have narrow ranges: upper bits of sums are known, and what gives them is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl
from together import assert_all_equal

from mase_hw.ir import Design, Stream
from mase_hw.numerics import Fixed
from mase_hw.ops.linear.adder_text import Sum, nodes_text
from mase_hw.ops.linear.make import linear
from mase_hw.ops.linear.unrolled import LinearUnrolled
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design

F6 = Fixed(6, 0)


def layer(seed: int) -> LinearUnrolled:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    lo = rng.integers(-20, 20, n)
    hi = np.minimum(lo + rng.integers(1, 8, n), F6.hi)
    x = Stream("data_in_0", n, n, F6, tuple(lo.tolist()), tuple(hi.tolist()))
    weight, bias = rng.integers(-9, 10, (2, n)), rng.integers(-3, 4, 2)
    found = linear("fc", x, weight, bias, F6, F6, None, out_lanes=2, folded=False)
    assert isinstance(found, LinearUnrolled)
    return replace(found, outputs=(found.output.renamed("data_out_0"),))


def sums(component: LinearUnrolled) -> list[Sum]:
    return [each for stage in nodes_text(component.pipeline) for each in stage.sums]


CUT = {(0, False, 1), (1, True, 1), (15, True, 2), (78, False, 2)}  # seed, in an adder or not, of how many operands


@pytest.mark.slow
def test_operands_with_bits_that_do_not_matter(tmp_path: Path) -> None:
    """In an adder, or where nothing is added; of one operand, or of both."""
    designs = {}
    for seed, added, operands in sorted(CUT):
        component = layer(seed)
        assert (added, operands) in {(bool(each.adder), len(each.unused)) for each in sums(component)}
        designs[f"seed {seed}"] = design = Design("net", (component,))
        netlists = elaborate(write_rtl(design, tmp_path / f"proof{seed}"), "net", ["fc"])
        proof = prove_design(design, netlists, any_input=False)
        assert [claim for claim in proof.claims if claim.status != "proved"] == []
    assert_all_equal(designs, tmp_path)


def test_operands_that_are_read_whole_leave_nothing_out() -> None:
    rng = np.random.default_rng(0)
    x = Stream("data_in_0", 4, 4, F6, (F6.lo,) * 4, (F6.hi,) * 4)
    found = linear("fc", x, rng.integers(-9, 10, (3, 4)), np.zeros(3, int), F6, F6, None, out_lanes=3, folded=False)
    assert isinstance(found, LinearUnrolled)
    assert [each.name for each in sums(found) if each.unused] == []
