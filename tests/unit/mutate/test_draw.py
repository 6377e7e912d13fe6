"""What a run draws, and which mutants it tries together; the tools' answers are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny import gather

from mase_hw.emit import Build, write_build
from mase_hw.mutate import campaign as module
from mase_hw.mutate.campaign import MutationRequest, Run
from mase_hw.mutate.judge import Sound, Verdict
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.source import edits
from mase_hw.mutate.subject import read_texts, subjects


class Given:
    """A judge that kills all; notes what it was asked."""

    batches: list[list[Mutant]]
    alone: list[tuple[str, str | None]]

    def __init__(self, build: Path, sounds: Mapping[str, Sound], engine: str) -> None:
        assert engine == "any"
        Given.batches, Given.alone = [], []

    def together(self, mutants: Mapping[int, Mutant], component: str, folder: Path, worker: Any) -> dict[int, str]:
        assert len({mutant.file for mutant in mutants.values()}) == 1
        Given.batches.append(list(mutants.values()))
        return {number: f"number {number}" for number in list(mutants)[1:]}  # the first has to be tried alone

    def source(
        self, mutant: Mutant, components: Sequence[str], folder: Path, worker: Any, bench: str | None
    ) -> Verdict:
        Given.alone.append((mutant.place, bench))
        return Verdict("killed", components[0], bench or "seen alone")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    def sound(run: Run, component: str, folder: Path) -> Sound:
        return Sound(subjects(run._path)[component], folder, 0.1, 0.1, ())

    monkeypatch.setattr(module, "Judge", Given)
    monkeypatch.setattr(Run, "_sound", sound)
    monkeypatch.setattr(module, "TOGETHER", 14)


def places(build: Build) -> int:
    return sum(len(edits(text)) for text in read_texts(build).values())


@pytest.mark.usefixtures("given")
def test_all_places_are_tried_in_batches_of_a_file(tmp_path: Path) -> None:
    build = write_build(tmp_path / "net", gather(), {}, None)
    request = MutationRequest(engine="any", kinds=("source",), jobs=1, everywhere=True)
    judged = list(Run(build, request))
    assert len(judged) == places(build) > 60
    assert [len(batch) for batch in Given.batches if batch[0].file == "mase_gather.sv"] == [14] * 4  # and one alone
    assert len(judged) - 1 == sum(map(len, Given.batches))
    assert [bench for _, bench in Given.alone] == [None] * (len(Given.batches) + 1)  # all others are settled
    assert sum(j.verdict.bench == "seen alone" for j in judged) == len(Given.alone)
    again = list(Run(build, request))  # every verdict is known
    assert not Given.alone
    assert {(j.mutant, j.verdict) for j in again} == {(j.mutant, j.verdict) for j in judged}


@pytest.mark.usefixtures("given")
def test_the_axi_top_is_left_as_it_is(tmp_path: Path) -> None:
    plain = write_build(tmp_path / "net", gather(), {}, None)
    build = write_build(tmp_path / "axi", gather(), {}, None, interface="axis")
    files = {path.name for path in build.rtl}
    assert "net_axis.v" in files
    judged = list(Run(build, MutationRequest(engine="any", kinds=("source",), jobs=1, everywhere=True)))
    assert {j.mutant.file for j in judged} == files - {"net_axis.v", "mase_stream_check.sv"}
    assert len(judged) == places(plain)
