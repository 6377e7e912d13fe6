"""The judge's verdicts, with the tools' answers given: what counts as killed, equivalent, alive, invalid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import gather, pipe

from mase_hw.emit import write_build
from mase_hw.ir import Design
from mase_hw.ir.plumbing import Plumbing
from mase_hw.mutate import equal
from mase_hw.mutate.campaign import Judged, MutationRequest
from mase_hw.mutate.judge import Engine, Judge, Sound, Verdict
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.report import Score, document
from mase_hw.mutate.store import Store
from mase_hw.mutate.subject import subjects
from mase_hw.mutate.work import Answer
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims.claim import Claim

WRONG = Answer("vector 0 element 1: expected 2, got 3")
FALSE = Answer(unproved=(Claim("fc", "values", "refuted", "", "bit 0 is wrong"),))
WIDE = Answer(unproved=(Claim("fc", "widths", "refuted", "", "a bit to spare"),))
OPEN = Answer(unproved=(Claim("fc", "values", "open", "", "not understood"),))
PROVED = "its values, timing and handshake are proved, for every input"
EQUAL, DIFFERS = Answer(why="the same (SAT)"), Answer("not shown to be equal")
FINE = Answer()


class Told(Worker):
    """Answers what it was told to, in the place of the tools; notes which steps it was asked for."""

    def __init__(self, **answers: Answer | Exception) -> None:
        super().__init__()
        self.answers, self.asked, self.vectors = answers, list[str](), list[object]()

    def call(self, function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        if function.__name__ == "compile_native" and "compile_native" not in self.answers:
            return FINE
        name = "compare" if function.__name__.startswith("equal_") else function.__name__
        self.asked.append(function.__name__)
        if name == "simulate":
            self.vectors.append(arguments[1])
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer


def verdict(
    folder: Path,
    told: Told,
    engine: Engine = "both",
    design: Design | None = None,
    bench: str | None = None,
    prove: float = 0.1,
    unproved: tuple[Claim, ...] = (),
    *,
    whole: bool = False,
) -> Verdict:
    build = write_build(folder / "net", design or gather(), {}, None).path
    (name,) = [name for name in subjects(build) if bool(name) != whole]
    subject = subjects(build)[name]
    sound = Sound(subject, folder / "sound", 0.1, prove, unproved)
    file = next(iter(subject.texts))
    mutant = Mutant("source", "logic", file, 1, "", subject.texts[file])
    return Judge(build, {name: sound}, engine).source(mutant, [name], folder / "mutant", told, bench)


def test_what_both_see_is_killed_by_both(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=WRONG, prove=FALSE)
    found = verdict(tmp_path, told)
    assert (found.status, found.by) == ("killed", ("bench", "prover"))
    assert told.asked == ["read", "simulate", "prove"]


def test_any_asks_the_prover_of_what_the_bench_passes(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=WRONG)
    found = verdict(tmp_path, told, "any")
    assert (found.status, found.by, found.prover, told.asked) == ("killed", ("bench",), None, ["read", "simulate"])
    told = Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=FALSE)
    assert verdict(tmp_path / "pipe", told, "any", pipe()).by == ("prover",)
    assert told.asked == ["read", "simulate", "prove"]


def test_what_the_bench_saw_of_many_at_once_is_not_asked_again(tmp_path: Path) -> None:
    told = Told(read=FINE, compare=DIFFERS, prove=FALSE)
    assert verdict(tmp_path, told, "any", bench="wrong").by == ("bench",)
    assert told.asked == ["read"]
    assert verdict(tmp_path, told, "both", bench="wrong").by == ("bench", "prover")
    assert verdict(tmp_path / "pipe", told, "any", pipe(), bench="").by == ("prover",)
    assert "simulate" not in told.asked


def test_what_the_prover_doubts_is_simulated_with_more_vectors(tmp_path: Path) -> None:
    rare = Told(read=FINE, prove=OPEN, simulate=WRONG, compare=EQUAL)
    found = verdict(tmp_path, rare, "any", bench="")
    assert (found.status, found.by) == ("killed", ("bench", "prover"))
    assert found.bench == f"with 16384 random vectors: {WRONG.no}"
    assert rare.asked == ["read", "prove", "simulate"]
    assert rare.vectors == [16384]
    unread = Told(read=FINE, prove=OPEN, compile_native=Answer("no", invalid=True), compare=EQUAL)
    assert verdict(tmp_path, unread, "any", bench="").status == "equivalent"


def test_what_is_no_design_is_found_though_a_bench_has_run(tmp_path: Path) -> None:
    assert verdict(tmp_path, Told(read=Answer("no", invalid=True)), "any", bench="").status == "invalid"


class Halves(Worker):
    """Compiles together what does not hold number 3."""

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        if function.__name__ == "together":
            return None if 3 in arguments[1] else tuple(arguments[1])
        return Answer(f"number {arguments[0].number} in {arguments[0].folder.name}")


def test_where_nobody_says_which_is_refused_halves_are_tried(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", gather(), {}, None).path
    subject = subjects(build)["gather"]
    mutants = {k: Mutant("source", "logic", "mase_gather.sv", 1, "") for k in range(1, 7)}
    judge = Judge(build, {"gather": Sound(subject, tmp_path, 0.1, 0.1, ())}, "any")
    said = judge.together(mutants, "gather", tmp_path / "batch", Halves())
    assert said == {k: f"number {k} in {'0' if k == 1 else '1' if k > 3 else '0'}" for k in (1, 2, 4, 5, 6)}


def test_what_is_proved_equivalent_is_never_killed_whatever_the_prover_says(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=FINE, compare=EQUAL, prove=OPEN)
    found = verdict(tmp_path, told)
    assert (found.status, found.by, found.why) == ("equivalent", (), "the same (SAT)")
    assert verdict(tmp_path, Told(read=Answer(same=True))).status == "equivalent"
    assert verdict(tmp_path, told, "prove").status == "equivalent"


def test_what_nobody_sees_is_alive_in_a_component_that_is_not_proved(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=FINE)
    found = verdict(tmp_path, told, unproved=OPEN.unproved)
    assert (found.status, found.by, found.why) == ("alive", (), "not shown to be equal")
    assert told.asked == ["read", "simulate", "prove", "simulate", "equal_states", "equal_streams"]
    assert verdict(tmp_path, Told(read=FINE, simulate=FINE, compare=DIFFERS), "native").status == "alive"


@pytest.mark.parametrize("design", [gather(), pipe()])
@pytest.mark.parametrize(
    ("proof", "status", "asked"),
    [
        (FINE, "equivalent", []),
        (WIDE, "equivalent", []),  # more hardware than is needed, and the same integers
        (FALSE, "killed", []),  # the prover has an input for which it is wrong
        (
            OPEN,
            "killed",
            ["simulate", "equal_states", "equal_streams"],
        ),  # a claim is lost, which an equal design might lose too
    ],
)
def test_of_what_the_bench_passes_the_prover_is_asked_first(
    tmp_path: Path, design: Design, proof: Answer, status: str, asked: list[str]
) -> None:
    told = Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=proof)
    found = verdict(tmp_path, told, "any", design)
    assert found.status == status
    assert found.why.startswith(PROVED) == (status == "equivalent")
    if proof is FALSE and isinstance(design.components[0], Plumbing):  # perhaps for inputs that never come
        asked = ["simulate", "equal_states", "equal_streams"]
    assert told.asked == ["read", "simulate", "prove", *asked]
    same = Told(read=FINE, simulate=FINE, compare=EQUAL, prove=OPEN)
    assert verdict(tmp_path, same, "any", design).status == "equivalent"


def test_a_proof_that_takes_long_comes_after_the_solver(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=OPEN)
    assert verdict(tmp_path, told, "any", prove=60.0).status == "killed"
    assert told.asked == ["read", "simulate", "equal_states", "prove", "simulate", "equal_streams"]


def test_a_top_that_is_joined_otherwise_is_killed_by_its_wiring(tmp_path: Path) -> None:
    joined = Answer(unproved=(Claim("net", "wiring", "refuted", "", "data into fc is joined otherwise"),))
    told = Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=joined)
    assert verdict(tmp_path, told, "any", whole=True).by == ("prover",)
    assert told.asked == ["read", "simulate", "equal_states", "prove"]
    same = Told(read=FINE, simulate=FINE, compare=EQUAL, prove=joined)
    assert verdict(tmp_path, same, "any", whole=True).status == "equivalent"


def test_a_stream_that_differs_is_no_equal_design_whatever_the_prover_says(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=FINE, compare=Answer(f"{equal.DIFFERS} in cycle 3"), prove=FINE)
    assert verdict(tmp_path, told, "prove").status == "alive"


def test_a_hole_of_the_prover_is_alive_and_named_where_only_the_prover_is_asked(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=WRONG, compare=DIFFERS, prove=FINE)
    found = verdict(tmp_path, told, "prove", pipe())
    assert found.status == "alive"
    assert found.why == f"every claim is proved, and yet a bench sees: {WRONG.no}"


@pytest.mark.parametrize("answer", [TimedOutError(), CrashedError("CycleError")])
def test_a_prover_without_an_answer_kills_nothing(tmp_path: Path, answer: Exception) -> None:
    found = verdict(tmp_path, Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=answer), design=pipe())
    assert (found.status, found.by) == ("alive", ())
    assert found.prover is not None
    assert found.prover.startswith("no answer")


def test_a_simulation_without_an_end_is_killed(tmp_path: Path) -> None:
    found = verdict(tmp_path, Told(read=FINE, simulate=TimedOutError(), prove=FALSE), "native")
    assert (found.status, found.by, found.prover) == ("killed", ("bench",), None)
    assert found.bench == "hangs: no end in 30 s, where the unmutated one takes 0.1 s"


def test_a_compiler_that_is_slow_kills_nothing(tmp_path: Path) -> None:
    found = verdict(tmp_path, Told(read=FINE, compile_native=TimedOutError(), compare=DIFFERS, prove=FINE))
    assert (found.status, found.by, found.bench) == ("alive", (), "no answer: it was not compiled in 900 s")


def test_what_cannot_be_read_is_invalid(tmp_path: Path) -> None:
    assert verdict(tmp_path, Told(read=Answer("no such name", invalid=True))).status == "invalid"
    told = Told(read=FINE, compile_native=Answer("Verilator says no", invalid=True))
    assert verdict(tmp_path, told).status == "invalid"


@pytest.mark.parametrize("error", [TimedOutError(), CrashedError("AssertionError: no instance")])
def test_what_cannot_be_tried_is_not_hidden(tmp_path: Path, error: Exception) -> None:
    found = verdict(tmp_path, Told(read=error))
    assert (found.status, found.why.partition(":")[0]) == ("alive", "cannot be tried")


def test_a_component_alone_needs_its_own_files_and_never_the_top(tmp_path: Path) -> None:
    design = Design("beats", gather().components)  # a word of the comments in mase_gather.sv
    found = subjects(write_build(tmp_path / "net", design, {}, None).path)
    assert "beats" in found["gather"].texts["mase_gather.sv"].partition("module")[0]
    assert list(found["gather"].texts) == ["mase_gather.sv", "mase_stream_check.sv", "beats_gather_alone.sv"]
    assert list(found[""].texts) == ["mase_gather.sv", "mase_stream_check.sv", "beats.sv"]


def judged(status: Any, line: int, **values: Any) -> Judged:
    return Judged(Mutant("source", "logic", "a.sv", line, "`&&` becomes `||`"), Verdict(status, "fc", **values))


def test_the_score_counts_neither_equivalent_nor_invalid_mutants() -> None:
    score = Score.of(
        [
            judged("killed", 1, bench="wrong", prover="values refuted"),
            judged("killed", 2, bench="wrong", prover="no answer in 20 s"),
            judged("equivalent", 3, bench="", why="the same"),
            judged("invalid", 4, why="no"),
            judged("alive", 5, bench="", prover="", why="not shown to be equal"),
        ]
    )
    assert score.lines() == [
        "2 of 3 mutants killed (66.7 %)",
        "  by the bench: 2",
        "  by the prover: 1",
        "not counted: 1 equivalent, 1 invalid",
        "equivalent a.sv:3: logic: `&&` becomes `||`\n    the same",
        "ALIVE a.sv:5: logic: `&&` becomes `||`",
        "    not shown to be equal",
    ]
    content = document(score, MutationRequest(5), stopped=False, drawn=5)
    assert [content[key] for key in ("killed", "killed_by_prover", "alive", "equivalent", "invalid")] == [2, 1, 1, 1, 1]
    assert content["operators"] == {"logic": {"killed": 2, "equivalent": 1, "invalid": 1, "alive": 1}}
    assert content["files"] == {"a.sv": content["operators"]["logic"]}


def test_a_prover_that_was_asked_about_some_says_of_how_many() -> None:
    mutants = [judged("killed", k, bench="wrong") for k in range(3)]
    score = Score.of([*mutants, judged("killed", 3, bench="", prover="values refuted")])
    assert score.lines()[1:3] == ["  by the bench: 3", "  by the prover: 1 of 1 that it was asked about"]


def test_verdicts_are_kept_and_half_a_line_is_ignored(tmp_path: Path) -> None:
    first, second = Verdict("killed", "fc", "wrong"), Verdict("alive", "fc", "")
    Store(tmp_path).put("one", first)
    path = tmp_path / "verdicts.jsonl"
    path.write_text(path.read_text() + '{"key": "half", "val')
    Store(tmp_path).put("two", second)
    found = Store(tmp_path)
    assert [found.verdict(name) for name in ("one", "half", "two")] == [first, None, second]
