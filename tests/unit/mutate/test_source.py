"""Source mutants are made at places of the syntax tree: comments and assignments stay what they are."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from mase_hw.mutate.literals import changed_literal
from mase_hw.mutate.source import edits, source_mutants

TEXT = """\
// a == b, 4'd3 and !c: a comment
module some #(
  parameter int Width = 8
) (
  input logic clk,
  input logic rst,
  input logic a,
  input logic b,
  output logic q
);
  localparam logic [31:0] Table[2] = '{32'h0000ffff, 32'h12345678};
  string text = "a && b";
  always_ff @(posedge clk) begin
    if (rst) q <= 1'b0;
    else if (a) q <= (a <= b) ? !b : {a, b} - 2'd1;
  end
endmodule
"""


CHECKS = """\
module some #(
  parameter bit CheckStreams = 1'b0
) (
  input logic [7:0] a,
  output logic [7:0] b
);
  if ($bits(a) < 1) begin : gen_bad
    $fatal(1, "some: %0d is below 1", $bits(a));
  end
  if (CheckStreams) begin : gen_checks
    mase_stream_check #(.Width(8)) u_check (.data(a + 8'd1));
  end
  assign b = ~a;
endmodule
"""


def test_checks_are_no_hardware() -> None:
    found = [edit for edit in edits(CHECKS) if edit.operator != "constant"]
    assert [edit.operator for edit in found] == ["inversion dropped"]
    assert {CHECKS[: edit.start].count("\n") for edit in edits(CHECKS)} == {3, 4, 12}  # the ports, and the one line
    renamed = CHECKS.replace("module some", "module mase_stream_check")
    assert edits(renamed) == []


def changes(operator: str) -> list[str]:
    return [f"{TEXT[edit.start : edit.end]}>{edit.new}" for edit in edits(TEXT) if edit.operator == operator]


@pytest.mark.parametrize(
    ("operator", "wanted"),
    [
        ("boundary", ["<=><"]),
        ("reset dropped", ["rst>1'b0"]),
        ("branch never taken", ["a>1'b0"]),
        ("condition negated", ["rst>!(rst)", "a>!(a)"]),
        ("enable dropped", ["a>1'b1"]),
        ("statement dropped", ["q <= 1'b0;>;", "q <= (a <= b) ? !b : {a, b} - 2'd1;>;"]),
        ("arms swapped", ["!b : {a, b} - 2'd1>{a, b} - 2'd1 : !b"]),
        ("operands swapped", ["{a, b} - 2'd1>2'd1 - {a, b}", "a, b>b, a"]),
        ("inversion dropped", ["!> "]),
        ("arithmetic", ["->+"]),
        ("logic", []),  # the only && is in a string
        ("comparison", []),  # the only == is in a comment
    ],
)
def test_every_change_of_a_kind(operator: str, wanted: list[str]) -> None:
    assert changes(operator) == wanted


def test_constants_of_the_text_but_no_default_that_an_instance_overrides() -> None:
    found = [change.partition(">")[0] for change in changes("constant")]
    assert "8" not in found
    assert {"32'h0000ffff", "32'h12345678", "1'b0", "2'd1"} <= set(found)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("'0", {"'1"}),
        ("1'b1", {"1'b0"}),
        ("0", {"1"}),
        ("7", {"6", "8"}),
        ("3'd7", {"3'd6"}),
        ("8'sd127", {"8'sd126"}),
        ("8'sd5", {"8'sd4", "8'sd6"}),
        ("4'bx", {None}),
    ],
)
def test_a_literal_changes_by_as_little_as_can_be(old: str, new: set[str | None]) -> None:
    assert {changed_literal(old, random.Random(seed)) for seed in range(20)} == new


def test_one_bit_of_a_row_of_a_table_is_flipped() -> None:
    new = changed_literal("64'hff00ff00ff00ff00", random.Random(0))
    assert new is not None
    assert (int(new.partition("h")[2], 16) ^ 0xFF00FF00FF00FF00).bit_count() == 1


def test_a_seed_draws_the_same_mutants_and_another_one_others() -> None:
    files = {"some.sv": TEXT}
    assert source_mutants(files, 9, 1) == source_mutants(files, 9, 1)
    assert source_mutants(files, 9, 1) != source_mutants(files, 9, 2)


def test_every_kind_of_change_comes_before_the_second_of_any() -> None:
    kinds = Counter(edit.operator for edit in edits(TEXT))
    drawn = source_mutants({"some.sv": TEXT}, len(kinds), 0)
    assert {mutant.operator for mutant in drawn} == set(kinds)
    everything = source_mutants({"some.sv": TEXT}, 1000, 0)
    assert Counter(mutant.operator for mutant in everything) == kinds


def test_a_mutant_says_where_and_what() -> None:
    mutant = next(m for m in source_mutants({"some.sv": TEXT}, 1000, 0) if m.operator == "boundary")
    assert mutant.place == "some.sv:15"
    assert mutant.what.startswith("`<=` becomes `<` in: else if (a) q <= (a <= b)")
    assert mutant.text == TEXT.replace("(a <= b)", "(a < b)")
