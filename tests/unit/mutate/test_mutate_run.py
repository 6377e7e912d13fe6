"""A small run, from the drawing of mutants to the score, with every tool; and the comparison of two designs alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tiny import fifo, gather, pipe, positive, scatter, skid

from mase_hw.cli import cli
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, write_build
from mase_hw.ir import Design
from mase_hw.mutate import equal, work
from mase_hw.mutate.campaign import MutationRequest, Run
from mase_hw.mutate.report import Score
from mase_hw.mutate.store import kept_verdicts
from mase_hw.mutate.subject import subjects

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gathering(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return write_build(tmp_path_factory.mktemp("mutate") / "a gather", gather(), {}, None)


def task(build: Build, component: str, folder: Path, old: str, new: str) -> work.JudgingTask:
    """The component with one text for another in its first file."""
    subject = subjects(build.path.resolve())[component]
    file, text = next(iter(subject.texts.items()))
    assert text.count(old) == 1, f"{text.count(old)} of {old}"
    subject.write(folder / "sound")
    files = subject.write(folder / "mutant", {file: text.replace(old, new)})
    names = tuple(path.name for path in files)
    return work.JudgingTask(build.path.resolve(), component, folder / "mutant", names, sound=folder / "sound")


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        ("if (in_fire) count_q <= (count_q == Last)", "if (in_fire) count_q <= (count_q >= Last)", "SAT"),
        ("logic [CountWidth-1:0] count_t", "logic [CountWidth:0] count_t", "ABC"),  # a bit that is never 1
        ("if (in_fire) beats_q", "if (data_in_0_ready) beats_q", "ABC"),  # written again before it is seen
        ("if (in_fire && count_q == Last)", "if (count_q == Last)", ""),
        ("if (rst) begin", "if (1'b0) begin", ""),
        ("count_q <= '0;\n      valid_q", "count_q <= 'x;\n      valid_q", ""),  # undefined is not 0
        ("data_out_0_ready || !valid_q", "data_out_0_ready && !valid_q", ""),
    ],
)
def test_equal_designs_are_told_from_others(gathering: Build, tmp_path: Path, old: str, new: str, how: str) -> None:
    found = equal.compare(task(gathering, "gather", tmp_path, old, new))
    assert (how in found.why) if how else ("differs" in found.no and not found.why)


@pytest.mark.parametrize("make", [gather, positive])
def test_what_inputs_cannot_be_does_not_count(make: Callable[[], Design], tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", make(), {}, None)
    old, new = "beats_q[count_q] <= data_in_0;", "beats_q[count_q] <= {1'b0, data_in_0[Width-2:0]};"
    found = equal.compare(task(build, "gather", tmp_path, old, new))
    assert ("SAT" in found.why) == (make is positive)  # the sign of the last element is 0 there


def test_a_component_alone_is_proved_on_less_than_its_type(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", positive(), {}, None)
    old, new = "logic in_fire;\n", "logic [3:0] in_fire;\n"
    assert work.prove(task(build, "gather", tmp_path, old, new)).unproved == ()


def test_another_wire_that_is_no_register_is_the_same_design(gathering: Build, tmp_path: Path) -> None:
    old, new = "logic in_fire;\n", "logic [3:0] in_fire;\n"
    assert "SAT" in equal.compare(task(gathering, "gather", tmp_path, old, new)).why


def test_bits_of_registers_that_lead_nowhere_are_no_state(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", skid(), {}, None)
    wide = "logic [Width-1:0] out_q, skid_q;", "logic [Width:0] out_q, skid_q;"
    assert "SAT" in equal.equal_states(task(build, "skid", tmp_path, *wide)).why
    less = "logic [Width-1:0] out_q, skid_q;", "logic [Width-2:0] out_q, skid_q;"
    assert equal.equal_states(task(build, "skid", tmp_path / "less", *less)).no


def test_every_mutant_of_a_tiny_design_is_killed_or_equivalent(gathering: Build) -> None:
    arguments = ["mutate", str(gathering.path), "--count", "12", "--jobs", "1", "--json"]
    first = CliRunner().invoke(cli, arguments)
    assert first.exit_code == 0, first.output
    found = json.loads(first.stdout)
    assert (found["drawn"], found["alive"], found["stopped"]) == (12, 0, False)
    assert found["killed"] + found["equivalent"] + found["invalid"] == 12
    assert found["killed_by_bench"] >= 6
    assert found["killed_by_prover"] >= 5
    assert {mutant["kind"] for mutant in found["mutants"] if mutant["status"] == "killed"} == {"source", "netlist"}
    assert all(mutant["line"] > 1 and mutant["file"].endswith(".sv") for mutant in found["mutants"])
    started = time.perf_counter()  # all verdicts are known now
    again = CliRunner().invoke(cli, arguments)
    assert (again.exit_code, again.stdout) == (0, first.stdout)
    assert time.perf_counter() - started < 30


SEEN = {
    "ready in every other cycle": (gather, "data_out_0_ready || !valid_q", "data_out_0_ready && !valid_q"),
    "valid that waits for ready in a register": (skid, "data_out_0_ready || !out_valid_q", "data_out_0_ready"),
    "no reset of the counter": (gather, "count_q <= '0;\n      valid_q", "valid_q"),
    "beats that nobody sent": (scatter, "else if (out_fire && count_q == Last)", "else if (1'b0)"),
    "a beat that waits is overwritten": (fifo, "if (in_fire) memory", "if (data_in_0_valid) memory"),
    "a memory that is never written": (fifo, "if (in_fire) memory", "if (1'b0) memory"),
    "nothing is ever taken": (skid, "data_in_0_ready = !skid_valid_q", "data_in_0_ready = 1'b0"),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_bench_sees_the_prover_sees_too(name: str, tmp_path: Path) -> None:
    make, old, new = SEEN[name]
    build = write_build(tmp_path / "net", make(), {}, None)
    mutant = task(build, build.design.components[0].name, tmp_path, old, new)
    assert work.simulate(mutant).no
    assert work.prove(mutant).unproved


@pytest.mark.parametrize(
    ("bad", "says"), [("p != q", "UNSATISFIABLE"), ("p && r", "asserted in frame 2"), ("r && !s", "Property proved")]
)
def test_what_abc_says_of_a_miter(bad: str, says: str, tmp_path: Path) -> None:
    text = f"""module miter(input clk, input a, output bad);
      reg p = 0, q = 0, r = 0, s = 0;
      always @(posedge clk) begin p <= a; q <= a; r <= p; s <= s | a; end
      assign bad = {bad};
    endmodule"""
    (tmp_path / "miter.v").write_text(text)
    steps = ["read_verilog miter.v", "hierarchy -top miter", "proc", "opt_clean", "techmap", "aigmap"]
    session = "from pyosys import libyosys as y; d = y.Design()\n" + "".join(
        f"y.run_pass({step!r}, d)\n" for step in (*steps, "write_aiger -zinit miter.aig")
    )
    subprocess.run([sys.executable, "-c", session], cwd=tmp_path, check=True, capture_output=True)
    said = equal.abc(tmp_path)
    assert says in said
    assert ("UNSATISFIABLE" in said or "Property proved" in said) == ("asserted" not in says)


def test_a_wider_port_is_not_the_same_design(gathering: Build, tmp_path: Path) -> None:
    subject = subjects(gathering.path.resolve())[""]
    subject.write(tmp_path / "sound")
    wider = {"net.sv": subject.texts["net.sv"].replace("input  logic [7:0] data_in_0", "input  logic [8:0] data_in_0")}
    assert wider["net.sv"] != subject.texts["net.sv"]
    files = subject.write(tmp_path / "mutant", wider)
    names = tuple(path.name for path in files)
    mutant = work.JudgingTask(gathering.path.resolve(), "", tmp_path / "mutant", names, sound=tmp_path / "sound")
    assert equal.compare(mutant).no == "its ports are not those of the design"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("output logic data_in_0_ready", "output logic [0:0] data_in_0_ready", "wiring"),
        (".data_out_0_ready(data_out_0_ready)", ".data_out_0_ready(data_out_0_ready || !data_out_0_valid)", "SAT"),
        (".data_in_0_valid(data_in_0_valid)", ".data_in_0_valid(1'b1)", ""),
    ],
)
def test_a_top_is_equal_where_its_wiring_is_proved(
    gathering: Build, tmp_path: Path, old: str, new: str, why: str
) -> None:
    subject = subjects(gathering.path.resolve())[""]
    assert subject.texts["net.sv"].count(old) == 1
    subject.write(tmp_path / "sound")
    files = subject.write(tmp_path / "mutant", {"net.sv": subject.texts["net.sv"].replace(old, new)})
    names = tuple(path.name for path in files)
    found = equal.compare(
        work.JudgingTask(gathering.path.resolve(), "", tmp_path / "mutant", names, sound=tmp_path / "sound")
    )
    assert (why in found.why) if why else found.no


def test_netlist_mutants_of_a_pipe_are_killed_by_the_prover(tmp_path: Path) -> None:
    build = write_build(tmp_path / "pipe", pipe(), {}, None)
    score = Score.of(Run(build, MutationRequest(6, 0, "prove", ("netlist",), 1)))
    assert score.those("alive") == []
    assert score.those("invalid") == []
    assert score.seen_by("prover") == score.counted >= 4


def test_what_fails_unmutated_is_a_problem(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", gather(), {}, None)
    file = next(path for path in build.places if path.name == "mase_gather.sv")
    file.write_text(file.read_text().replace("count_q == Last) valid_q", "count_q != Last) valid_q"))
    with pytest.raises(ProblemsError, match="gather fails before anything is mutated: none: data_out_0") as caught:
        list(Run(build, MutationRequest(2, 0, "native", ("source",), 1)))
    assert f"hint: mend it first: mase-hw sim {build.path}" in str(caught.value)


def test_an_interrupt_shows_what_there_is_and_leaves_no_process(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", gather(), {}, None)
    command = [sys.executable, "-m", "mase_hw", "mutate", str(build.path), "--count", "200", "--jobs", "1"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    verdicts = kept_verdicts(build.path) / "verdicts.jsonl"
    end = time.monotonic() + 120
    while time.monotonic() < end and not (verdicts.exists() and len(verdicts.read_text().splitlines()) > 2):
        time.sleep(0.2)
    running.send_signal(signal.SIGINT)
    said, errors = running.communicate(timeout=600)
    assert running.returncode == 130, errors
    assert "mutants killed" in said
    assert "stopped after" in said
    assert "Traceback" not in errors
