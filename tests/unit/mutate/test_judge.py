"""The judge's verdicts, with the tools' answers given: what counts as killed, equivalent, alive, invalid."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny import gather, pipe

from mase_hw.emit import write_build
from mase_hw.hardware import Design
from mase_hw.mutate.judge import Engine, Judge, Sound, Verdict
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.report import Score, document
from mase_hw.mutate.run import Judged, Request
from mase_hw.mutate.store import Store
from mase_hw.mutate.subject import subjects
from mase_hw.mutate.work import Answer
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims import Claim

WRONG = Answer("vector 0 element 1: expected 2, got 3")
FALSE = Answer(unproved=(Claim("fc", "values", "refuted", "", "bit 0 is wrong"),))
WIDE = Answer(unproved=(Claim("fc", "widths", "refuted", "", "a bit to spare"),))
EQUAL, DIFFERS = Answer(why="the same (SAT)"), Answer("not shown to be equal")
FINE = Answer()


class Told(Worker):
    """Answers what it was told to, in the place of the tools; notes which steps it was asked for."""

    def __init__(self, **answers: Answer | Exception) -> None:
        super().__init__()
        self.answers, self.asked = answers, list[str]()

    def call(self, function: Callable[..., Any], *arguments: object, seconds: float) -> Any:
        if function.__name__ == "compile_native" and "compile_native" not in self.answers:
            return FINE
        self.asked.append(function.__name__)
        answer = self.answers[function.__name__]
        if isinstance(answer, Exception):
            raise answer
        return answer


def verdict(folder: Path, told: Told, engine: Engine = "both", design: Design | None = None) -> Verdict:
    build = write_build(folder / "net", design or gather(), {}, None).path
    (name,) = [name for name in subjects(build) if name]
    subject = subjects(build)[name]
    sound = Sound(subject, folder / "sound", 0.1, 0.1, ())
    file = next(iter(subject.texts))
    mutant = Mutant("source", "logic", file, 1, "", text=subject.texts[file])
    return Judge(build, {name: sound}, engine).source(mutant, [name], folder / "mutant", told)


def test_what_both_see_is_killed_by_both(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=WRONG, prove=FALSE)
    found = verdict(tmp_path, told)
    assert (found.status, found.by) == ("killed", ("bench", "prover"))
    assert told.asked == ["read", "simulate", "prove"]


def test_what_is_proved_equivalent_is_never_killed_whatever_the_prover_says(tmp_path: Path) -> None:
    told = Told(read=FINE, simulate=FINE, compare=EQUAL, prove=WIDE)
    found = verdict(tmp_path, told)
    assert (found.status, found.by, found.why) == ("equivalent", (), "the same (SAT)")
    assert verdict(tmp_path, Told(read=Answer(same=True))).status == "equivalent"
    assert verdict(tmp_path, told, "prove").status == "equivalent"


def test_what_nobody_sees_is_alive_in_a_component_that_is_not_proved_for_every_stall(tmp_path: Path) -> None:
    found = verdict(tmp_path, Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=FINE))
    assert (found.status, found.by, found.why) == ("alive", (), "not shown to be equal")


def test_a_pipe_is_proved_for_every_input(tmp_path: Path) -> None:
    found = verdict(tmp_path, Told(read=FINE, simulate=FINE, compare=DIFFERS, prove=FINE), design=pipe())
    assert (found.status, found.why.partition(",")[0]) == ("equivalent", "every claim is proved")


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
    assert list(found["gather"].texts) == ["mase_gather.sv", "beats_gather_alone.sv"]
    assert list(found[""].texts) == ["mase_gather.sv", "beats.sv"]


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
    content = document(score, Request(5), stopped=False, drawn=5)
    assert [content[key] for key in ("killed", "killed_by_prover", "alive", "equivalent", "invalid")] == [2, 1, 1, 1, 1]


def test_verdicts_are_kept_and_half_a_line_is_ignored(tmp_path: Path) -> None:
    first, second = Verdict("killed", "fc", "wrong"), Verdict("alive", "fc", "")
    Store(tmp_path).put("one", first)
    path = tmp_path / "mutate" / "verdicts.jsonl"
    path.write_text(path.read_text() + '{"key": "half", "val')
    Store(tmp_path).put("two", second)
    found = Store(tmp_path)
    assert [found.verdict(name) for name in ("one", "half", "two")] == [first, None, second]
