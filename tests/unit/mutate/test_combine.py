"""Many mutants in one text: each, while it is awake, is what it would be alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import gather, pipe

from mase_hw.emit import write_build
from mase_hw.ir import Design
from mase_hw.mutate import work
from mase_hw.mutate.combine import combine
from mase_hw.mutate.items import refused
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.source import source_mutants
from mase_hw.mutate.subject import subjects

TEXT = """\
module some (
  input logic clk,
  input logic [3:0] a,
  output logic [3:0] q
);
  localparam logic [3:0] Table[2] = '{4'h3, 4'h5};  // two rows
  logic [3:0] sum, other;
  assign sum = a +
      Table[a[0]];  // a comment
  function automatic logic [3:0] twice(input logic [3:0] x);
    return x + x;
  endfunction
  logic [3:0] kept;
  always_ff @(posedge clk) begin
    kept <= twice(sum);
  end
  part u_part (
    .sum(kept),
    .out(other)
  );
  for (genvar i = 0; i < 4; i++) begin : gen_bit
    logic one;
    assign one = other[i];
    assign q[i] = !one;
  end
  for (genvar i = 0; i < 1; i++) begin : gen_hidden
    logic sum2;
    assign sum2 = sum[0];
  end
endmodule
"""
PART = "module part (input logic [3:0] sum, output logic [3:0] out);\n  assign out = sum;\nendmodule\n"
TEXTS = {"some.sv": TEXT, "part.sv": PART}


def edit(old: str, new: str, text: str = TEXT) -> Mutant:
    assert text.count(old) == 1, f"{text.count(old)} of {old}"
    start = text.index(old)
    return Mutant("source", "constant", "some.sv", 1, "", text, start, start + len(old), new)


def lines(mutant: Mutant, texts: dict[str, str] = TEXTS) -> dict[int, list[str]]:
    """The lines that belong to a mutant, and its number."""
    made = combine(texts, {7: mutant}, Path("/select"))
    text = made.text.split("\n")
    assert not refused({**texts, "some.sv": made.text}, "some.sv"), made.text
    return {number: [text[line - 1] for line in made.owners] for number in made.numbers}


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("a +", "a -", ["32'd7: sum = a - Table[a[0]];"]),
        ("!one", " one", ["32'd7: q[i] = one;"]),
        ("4'h5", "4'h4", ["localparam logic [3:0] Table__7[2] = '{4'h3, 4'h4};", "32'd7: sum = a + Table__7[a[0]];"]),
        (
            "x + x",
            "x - x",
            [
                "function automatic logic [3:0] twice__7(input logic [3:0] x); return x - x; endfunction",
                "32'd7: begin kept <= twice__7(sum); end",
            ],
        ),
        (
            "3:0] kept",
            "2:0] kept",
            [
                "logic [3:0] sum__7, other__7;",
                "32'd7: sum__7 = a + Table[a[0]];",
                "logic [2:0] kept__7;",
                "32'd7: begin kept__7 <= twice(sum__7); end",
                "part u_part__7 ( .sum(kept__7), .out(other__7) );",
                "32'd7: one = other__7[i];",
                "32'd7: sum2 = sum__7[0];",
            ],
        ),
        (
            "logic one",
            "logic [1:0] one",
            ["logic [1:0] one__7;", "32'd7: one__7 = other[i];", "32'd7: q[i] = !one__7;"],
        ),
        ("3:0] q", "4:0] q", None),  # a port
        ("i < 4", "i < 5", None),  # a loop
        ("posedge", "negedge", None),  # a clock
    ],
)
def test_a_mutant_has_its_own_statements_and_names(old: str, new: str, wanted: list[str] | None) -> None:
    assert lines(edit(old, new)) == ({7: wanted} if wanted else {})


def test_a_name_that_is_another_thing_in_a_block_is_not_renamed() -> None:
    text = TEXT.replace("sum2", "sum")  # hides the outer one
    assert lines(edit("3:0] sum, other", "2:0] sum, other", text), {"some.sv": text, "part.sv": PART}) == {}
    assert list(lines(edit("a +", "a -", text), {"some.sv": text, "part.sv": PART})) == [7]


def test_an_instance_whose_ports_are_not_known_stays_alone() -> None:
    assert lines(edit(".sum(kept)", ".sum(sum)"), {"some.sv": TEXT, "part.sv": PART})
    assert combine({"some.sv": TEXT}, {7: edit(".sum(kept)", ".sum(sum)")}, Path("/select")).numbers == ()


def task(design: Design, folder: Path) -> tuple[work.JudgingTask, str]:
    build = write_build(folder / "net", design, {}, None).path.resolve()
    (name,) = [name for name in subjects(build) if name]
    texts = subjects(build)[name].texts
    (folder / "all").mkdir()
    return work.JudgingTask(build, name, folder / "all", tuple(texts)), next(
        file for file in texts if "fc" in file or "ga" in file
    )


def one(task: work.JudgingTask, mutant: Mutant, folder: Path) -> work.JudgingTask:
    files = task.subject.write(folder, {mutant.file: mutant.text})
    return work.JudgingTask(task.build, task.component, folder, tuple(file.name for file in files))


@pytest.mark.slow
@pytest.mark.parametrize(("design", "least"), [(gather(), 45), (pipe(), 50)])
def test_the_bench_sees_of_each_what_it_sees_of_it_alone(design: Design, least: int, tmp_path: Path) -> None:
    all_of_them, file = task(design, tmp_path)
    mutants = dict(enumerate(source_mutants({file: all_of_them.subject.texts[file]}, 60, 1), 1))
    numbers = work.together(all_of_them, mutants)
    assert numbers is not None
    assert least <= len(numbers) < len(mutants)
    (all_of_them.folder / "selected.hex").write_text("0\n")
    assert not work.simulate(all_of_them).no  # none of them is awake
    said = {number: work.simulate(replace(all_of_them, number=number)).no for number in numbers}
    passed = [k for k in numbers if not said[k]][:1]
    failed = [k for k in numbers if said[k]]
    for k in [*passed, *failed[:: len(failed) // 2]]:
        alone = work.simulate(one(all_of_them, mutants[k], tmp_path / str(k))).no
        # What is wrong is the same; of bits that are undefined, each simulation has its own.
        assert re.split(r"\d", said[k])[0] == re.split(r"\d", alone)[0], mutants[k].what


@pytest.mark.slow
def test_what_is_no_design_is_left_out_and_the_others_stay(tmp_path: Path) -> None:
    all_of_them, file = task(gather(), tmp_path)
    text = all_of_them.subject.texts[file]
    wrong = edit("count_q == Last) ? '0", "nothing == Last) ? '0", text)  # slang says so
    strange = edit("if (in_fire) beats_q", "if (in_fire) $dumpall beats_q", text)
    good = edit("data_out_0_ready || !valid_q", "data_out_0_ready && !valid_q", text)
    mutants = {
        k: Mutant("source", "logic", file, 1, "", text, m.start, m.end, m.new)
        for k, m in enumerate((wrong, good, strange), 1)
    }
    assert work.together(all_of_them, mutants) == (2,)
    assert work.together(all_of_them, {1: mutants[1]}) == ()
