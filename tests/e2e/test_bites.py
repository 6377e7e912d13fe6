"""The benches bite: one thing broken in emitted RTL, and the run fails and points at it."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import eight_bit, randomized

from mase_hw.emit import Build, read_build, write_build
from mase_hw.flow import compile_model
from mase_hw.models import get_model
from mase_hw.simulate.check import Checked, SimRequest, check

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """jsc-toy with its first linear layer folded, the others unrolled."""
    unrolled = {"config": {"implementation": "unrolled"}}
    folded = {"config": {"implementation": "folded", "data_in_parallelism": 4, "data_out_parallelism": 2}}
    hardware = {"by": "name", "default": unrolled, "seq_blocks_2": folded}
    model = randomized(get_model("jsc-toy"), seed=1)
    design = compile_model(model, (16,), eight_bit(), hardware, top="toy").design
    return write_build(tmp_path_factory.mktemp("bites") / "toy", design, {}, None)


@dataclass(frozen=True)
class Mutant:
    """One replacement in one emitted file, and what the failure must name."""

    file: str
    old: str
    new: str
    says: str
    only: str = "design"


MUTANTS = {
    "a folded weight": Mutant(
        "toy_seq_blocks_2.sv", r"(Weights\d?\[\d+\] = '\{\s+\d+'h)(.)", r"\1FLIP\2", "seq_blocks_2_out (seq_blocks_2)"
    ),
    "an unrolled weight": Mutant(
        "toy_seq_blocks_5.sv", r"(n0_sum = [^;]*?) \+ ", r"\1 - ", "seq_blocks_5_out (seq_blocks_5)"
    ),
    "a batch norm's shift": Mutant("toy_seq_blocks_3.sv", r"(\.Offset\(-?64'sd)(\d+)", r"\1PLUS\2", "(seq_blocks_3)"),
    "a batch norm's table": Mutant(
        "toy_seq_blocks_0.sv", r"(Scales0\[\d+\] = '\{\s+\d+'h)(.)", r"\1FLIP\2", "(seq_blocks_0)"
    ),
    "ties round up": Mutant("mase_requantize.sv", r" & ~ValueWidth'\(tie\)", "", "(seq_blocks_"),
    "saturation too late": Mutant(
        "mase_requantize.sv", r"\|value\[ValueWidth-2:Bits\]", "&value[ValueWidth-2:Bits]", "(seq_blocks_"
    ),
    "a ReLU that lets negative numbers pass": Mutant(
        "mase_requantize.sv", r"!OutSigned \|\| Rectify", "!OutSigned", "seq_blocks_0_out"
    ),
    "stages that do not wait": Mutant(
        "toy.sv", r"(assign seq_blocks_3_enable) = [^;]+", r"\1 = 1'b1", "stream rule broken"
    ),
    "a skid buffer that loses a beat": Mutant(
        "mase_skid_buffer.sv", r"skid_valid_q <= 1'b1", "skid_valid_q <= 1'b0", "_skid_out"
    ),
    "a buffer that never frees": Mutant(
        "toy_seq_blocks_2.sv",
        r"full_d\[read_half_q\] = 1'b0",
        "full_d[read_half_q] = 1'b1",
        "(seq_blocks_2)",
    ),
    "valid that waits for ready": Mutant(
        "toy_seq_blocks_2.sv", r"data_out_0_valid = valid_q", r"\g<0> && data_out_0_ready", "hang", "seq_blocks_2"
    ),
    "no reset in a pipe": Mutant(
        "toy_seq_blocks_9.sv", r"if \(rst\) valid_q <= '0;", "if (rst) valid_q <= valid_q;", "(seq_blocks_"
    ),
    "no reset of the double buffer": Mutant(
        "toy_seq_blocks_2.sv", r"write_half_q <= 1'b0;", "", "(seq_blocks_2)", "seq_blocks_2"
    ),
    "no reset of a finished beat": Mutant(
        "toy_seq_blocks_2.sv",
        r"if \(rst\) valid_q <= 1'b0;",
        "if (rst) valid_q <= valid_q;",
        "(seq_blocks_2)",
        "seq_blocks_2",
    ),
    "no reset of a skid buffer's second register": Mutant(
        "mase_skid_buffer.sv", r"skid_valid_q <= 1'b0;\n    end else if", "end else if", "_skid_out"
    ),
    "one cycle too many": Mutant(
        "toy_seq_blocks_2.sv",
        r"  assign issue = enable && there;",
        "  logic waited_q;\n  always_ff @(posedge clk) begin\n    if (rst) waited_q <= 1'b0;\n"
        "    else waited_q <= there && word_q == '0 && !waited_q;\n  end\n"
        "  assign issue = enable && (word_q != '0 || waited_q) && there;",
        "cycle",
    ),
}


def mutate(build: Build, mutant: Mutant, folder: Path) -> Build:
    copy = folder / "toy"
    shutil.copytree(build.path, copy)
    file = copy / "rtl" / mutant.file
    text = file.read_text()
    found = re.search(mutant.old, text, re.S)
    assert found, f"{mutant.old} is not in {mutant.file}"
    new = found.expand(mutant.new)
    new = re.sub(r"FLIP(.)", lambda m: "0" if m[1] != "0" else "5", new)
    new = re.sub(r"PLUS(\d+)", lambda m: str(int(m[1]) - 1 if int(m[1]) else 1), new)
    assert new != found[0]
    file.write_text(text[: found.start()] + new + text[found.end() :])
    return read_build(copy)


def run(build: Build, only: str) -> Checked:
    return next(iter(check(build, SimRequest(vectors=200, only=only))))


def test_sound_build_passes(sound: Build) -> None:
    for checked in check(sound, SimRequest(vectors=200)):
        assert checked.outcome.passed, checked.outcome.failures


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_caught(name: str, sound: Build, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    outcome = run(mutate(sound, mutant, tmp_path), mutant.only).outcome
    assert not outcome.passed
    assert any(mutant.says in failure for failure in outcome.failures), outcome.failures


def test_mismatch_names_everything_in_one_line(sound: Build, tmp_path: Path) -> None:
    broken = mutate(sound, MUTANTS["a folded weight"], tmp_path)
    line = run(broken, "design").outcome.failures[0]
    place = r"none: seq_blocks_2_out \(seq_blocks_2\): vector \d+ element \d+ \(lane \d\)"
    model = r"; made by seq_blocks_2, the linear at jsc\.py:\d+"
    assert re.fullmatch(place + r": expected -?\d+, got -?\d+, cycle \d+" + model, line), line


def test_component_bench_catches_what_the_design_cannot_reach(sound: Build, tmp_path: Path) -> None:
    """The same flipped weight, seen by the component's own bench over its whole input range."""
    broken = mutate(sound, MUTANTS["a folded weight"], tmp_path)
    checked = run(broken, "seq_blocks_2")
    assert not checked.outcome.passed
    assert "(seq_blocks_2)" in checked.outcome.failures[0]
