"""Branches are proved, and nothing that is broken in a fork, a join, a concatenation or between them is."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl

from mase_hw.ir import Design, Stream, full_range
from mase_hw.ir.branches import concat
from mase_hw.ir.design import DesignError
from mase_hw.ir.finish import Result
from mase_hw.ir.meaning import Meaning, Move
from mase_hw.ir.plumbing import Fifo
from mase_hw.language import check_language
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.add import add
from mase_hw.ops.cast import Cast, cast
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design

sys.path.insert(0, str(Path(__file__).parents[1] / "lowering"))

from layer_graphs import graphs
from test_branching import planned

F6 = Fixed(6, 2)


def proved(design: Design, folder: Path, old: str = "", new: str = "", file: str = "") -> list[Claim]:
    """The claims of the emitted design, with one place of one file changed."""
    files = write_rtl(design, folder)
    if old:
        (changed,) = [path for path in files if path.name == file]
        text = changed.read_text("utf-8")
        assert text.count(old) >= 1, f"{old} is not in {file}"
        changed.write_text(text.replace(old, new), encoding="utf-8")
    netlists = elaborate(files, design.name, [component.name for component in design.components])
    return [claim for claim in prove_design(design, netlists).claims if claim.status != "proved"]


@pytest.mark.parametrize("name", graphs())
def test_every_claim_is_proved(name: str, tmp_path: Path) -> None:
    for interval in (1, 12):
        design = planned(graphs()[name], interval)[1]
        assert proved(design, tmp_path / str(interval)) == []


@pytest.mark.parametrize(("lo", "bits"), [(-32, 6), (-1, 4)])
def test_a_lane_that_is_constant_counts_for_the_width(lo: int, bits: int, tmp_path: Path) -> None:
    """Lanes of one array have the width of the widest: here of one whose sum is always the same."""
    a = Stream("data_in_0", 2, 2, Fixed(6, 6), (0, lo), (0, lo))
    b = Stream("data_in_1", 2, 2, Fixed(5, 4, signed=False), (0, 0), (2, 0))
    total = add("sum", [a, b], (1, -1), Result(Fixed(4, 2, signed=False), Rounding.FLOOR))
    assert total.finish.width == bits
    design = Design("dut", (replace(total, outputs=(total.output.renamed("data_out_0"),)),))
    files = write_rtl(design, tmp_path)
    netlists = elaborate(files, "dut", ["sum"])
    assert [c.status for c in prove_design(design, netlists, any_input=False).claims if c.about == "widths"] == [
        "proved"
    ]
    (path,) = [path for path in files if path.name == "dut_sum.sv"]
    wider = path.read_text("utf-8").replace(f"signed [{bits - 1}:0] sum_t", f"signed [{bits}:0] sum_t")
    path.write_text(wider.replace(f"Width({bits})", f"Width({bits + 1})"), encoding="utf-8")
    netlists = elaborate(files, "dut", ["sum"])
    assert [c.status for c in prove_design(design, netlists, any_input=False).claims if c.about == "widths"] != [
        "proved"
    ]


def test_wide_sums_of_several_beats_and_types(tmp_path: Path) -> None:
    """Types of different widths and signs, bounds of their own in each beat, two beats to a vector."""
    a = Stream("data_in_0", 4, 2, Fixed(7, 3), (-64, -5, 0, 3), (63, 9, 1, 3))
    b = full_range("data_in_1", 4, 2, Fixed(4, 1, signed=False))
    total = add("sum", [a, b], (1, -1), Result(F6, Rounding.HALF_EVEN))
    design = Design("dut", (replace(total, outputs=(total.output.renamed("data_out_0"),)),))
    assert [c for c in proved(design, tmp_path) if c.about != "wiring"] == []


@pytest.mark.parametrize("first", [(0, 20), (-20, -1)])
def test_the_widest_sum_of_several_beats_may_be_negative(first: tuple[int, int], tmp_path: Path) -> None:
    """The second beat has the sum that needs the most bits; those of the first are larger, or all negative."""
    a = Stream("data_in_0", 2, 1, Fixed(7, 3), (first[0], -64), (first[1], 9))
    b = Stream("data_in_1", 2, 1, Fixed(7, 3), (first[0], -64), (first[1], 9))
    total = add("sum", [a, b], (1, 1), Result(F6, Rounding.HALF_EVEN))
    design = Design("dut", (replace(total, outputs=(total.output.renamed("data_out_0"),)),))
    assert [c for c in proved(design, tmp_path) if c.about != "wiring"] == []


def test_a_sum_narrower_than_its_shift(tmp_path: Path) -> None:
    """Inputs that are always 0, with binary points four places apart: the sum has two bits."""
    a = Stream("data_in_0", 2, 2, Fixed(2, 0), (0, 0), (0, 0))
    b = Stream("data_in_1", 2, 2, Fixed(3, 4, signed=False), (0, 0), (0, 0))
    total = add("sum", [a, b], (1, 1), None)
    design = Design("dut", (replace(total, outputs=(total.output.renamed("data_out_0"),)),))
    assert total.finish.width < 4
    check_language({path.name: path.read_bytes() for path in write_rtl(design, tmp_path)}, "dut")
    assert [c for c in proved(design, tmp_path) if c.about != "wiring"] == []


def streaming_concat() -> Design:
    x, z = full_range("data_in_0", 4, 2, F6), full_range("data_in_1", 2, 2, F6)
    made = concat("both", [x, z])
    return Design("dut", (replace(made, outputs=(made.output.renamed("data_out_0"),)),))


def test_beats_one_after_the_other(tmp_path: Path) -> None:
    assert proved(streaming_concat(), tmp_path) == []


FORK = ("residual", "dut_r0_fork.sv")
TOP = ("residual", "dut.sv")
_SIDES = ".data_in_0({}),\n    .data_in_0_valid(d_joined),\n    .data_in_1({})"
BROKEN: dict[str, tuple[tuple[str, str], str, str]] = {
    "the fork forgets a branch": (
        FORK,
        "(pending_q & ~branch_ready) == '0",
        "(pending_q[0] & ~branch_ready[0]) == '0",
    ),
    "the fork gives a beat twice": (FORK, "<= pending_q & ~branch_ready", "<= pending_q"),
    "the fork loses the skid": (FORK, "skid_valid_q ? skid_q : data_in_0", "data_in_0"),
    "a branch is turned round": (FORK, "assign data_out_1 = out_q;", "assign data_out_1 = {out_q[0], out_q[19:1]};"),
    "the fork takes while it is full": (FORK, "data_in_0_ready = !skid_valid_q;", "data_in_0_ready = 1'b1;"),
    "a flag that is not reset": (
        FORK,
        "      skid_valid_q <= 1'b0;\n    end else if (out_free)",
        "    end else if (out_free)",
    ),
    "a difference the other way": (("input skipped", "dut_d.sv"), "term0 - term1", "term1 - term0"),
    "operands exchanged in the top": (
        ("input skipped", "dut.sv"),
        _SIDES.format("d_skid0_out", "d_skip1_out"),
        _SIDES.format("d_skip1_out", "d_skid0_out"),
    ),
    "a join that looks at one valid": (TOP, "sum_skip0_out_valid && sum_skid1_out_valid", "sum_skip0_out_valid"),
    "a join that takes one input alone": (TOP, "sum_enable && sum_skid1_out_valid", "sum_enable"),
    "the enable of a run": (TOP, "fc1_enable = fc1_out_ready || !fc1_out_valid", "fc1_enable = fc1_out_ready"),
    "a shifted operand": (("exact sum", "dut_sum.sv"), "= term0 + term1", "= term0 + (term1 <<< 1)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_not_proved(name: str, tmp_path: Path) -> None:
    (graph, file), old, new = BROKEN[name]
    assert proved(planned(graphs()[graph], 1)[1], tmp_path, old, new, file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("beat_q < beat_t'(2)", "beat_q < beat_t'(1)"),
        ("next = data_in_1;", "next = data_in_0;"),
        ("if (take) out_q", "if (out_free) out_q"),
    ],
)
def test_broken_concatenations(old: str, new: str, tmp_path: Path) -> None:
    claims = proved(streaming_concat(), tmp_path, old, new, "dut_both.sv")
    assert bool(claims) is (old != "if (take) out_q")  # the last one does no harm: nothing valid is overwritten


def test_a_design_that_deadlocks_is_refuted(tmp_path: Path) -> None:
    design = planned(graphs()["residual"], 64)[1]
    fifo = next(c for c in design.components if isinstance(c, Fifo))
    stopped = Design("dut", tuple(replace(fifo, depth=1) if c is fifo else c for c in design.components))
    assert not stopped.progress.goes_on
    object.__setattr__(stopped, "schedule", design.schedule)
    (claim,) = [c for c in proved(stopped, tmp_path) if c.about == "progress"]
    assert claim.status == "refuted"
    assert claim.detail.startswith("it stops; beats wait on ")


@dataclass(frozen=True, eq=False)
class Reversed(Cast):
    """Says that it turns its vector round, and is built as a plain cast."""

    kind = "reversed_for_a_test"

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (x[0][:, ::-1],)

    def meaning(self) -> Meaning | None:
        return Move((tuple((0, k) for k in reversed(range(self.input.features))),))


@dataclass(frozen=True, eq=False)
class Silent(Reversed):
    """States nothing."""

    kind = "silent_for_a_test"

    def meaning(self) -> Meaning | None:
        return None


@dataclass(frozen=True, eq=False)
class Liar(Reversed):
    """Computes one thing and states another."""

    kind = "liar_for_a_test"

    def meaning(self) -> Meaning | None:
        return Move.copies(self.input.features)


def made_of(kind: type[Reversed]) -> Design:
    plain = cast("turn", full_range("data_in_0", 4, 4, F6), Result(F6, Rounding.FLOOR))
    out = plain.output.renamed("data_out_0")
    return Design("dut", (kind("turn", plain.inputs, (out,), finish=plain.finish),))


def test_an_operator_that_is_built_as_another_is_not_proved(tmp_path: Path) -> None:
    design = made_of(Reversed)
    design.verify()
    x = np.arange(4)[None]
    assert design.results(x)[0].tolist() == [[3, 2, 1, 0]]
    claims = {claim.about: claim for claim in proved(design, tmp_path)}
    assert claims["values"].status == "refuted"


def test_an_operator_that_states_nothing_stays_open(tmp_path: Path) -> None:
    claims = {claim.about: claim for claim in proved(made_of(Silent), tmp_path)}
    assert claims["values"].status == "open"
    assert "states nothing" in claims["values"].detail


def test_an_operator_that_states_something_else_is_refused() -> None:
    with pytest.raises(DesignError, match="turn: its meaning is not what it computes"):
        made_of(Liar).verify()
