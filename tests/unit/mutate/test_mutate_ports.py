"""Mutants of components with several ports: compared, simulated and judged like others."""

from __future__ import annotations

from pathlib import Path

import branching
import pytest

from mase_hw.emit import write_build
from mase_hw.ir import Design
from mase_hw.mutate import equal, work
from mase_hw.mutate.campaign import MutationRequest, Run
from mase_hw.mutate.miter import bounded, miter_text
from mase_hw.mutate.subject import subjects


def test_every_port_is_in_the_question() -> None:
    text = miter_text(branching.crossed())
    for x in ("data_in_0", "data_in_1"):
        assert f"gold_{x}_ready != gate_{x}_ready" in text
        assert f"{x}_kept && {x}_within" in text
    for y in ("data_out_0", "data_out_1"):
        assert f"(gold_{y}_valid && gold_{y} != gate_{y})" in text
    assert bounded("module m; endmodule", branching.crossed()).count("always_comb assume") == 2


def asked(design: Design, component: str, folder: Path, old: str, new: str) -> work.JudgingTask:
    build = write_build(folder / "build", design, {}, None)
    subject = subjects(build.path.resolve())[component]
    file, text = next((file, text) for file, text in subject.texts.items() if old in text)
    assert text.count(old) == 1, f"{text.count(old)} of {old}"
    subject.write(folder / "sound")
    files = subject.write(folder / "mutant", {file: text.replace(old, new)})
    names = tuple(path.name for path in files)
    return work.JudgingTask(build.path.resolve(), component, folder / "mutant", names, sound=folder / "sound")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        # A beat that no branch waits for is not seen.
        ("if (in_fire) out_q <= data_in_0;", "if (data_in_0_ready) out_q <= data_in_0;", True),
        ("assign data_out_2 = out_q;", "assign data_out_2 = ~out_q;", False),
        ("{data_out_2_ready, data_out_1_ready,", "{data_out_2_ready, data_out_0_ready,", False),
    ],
)
def test_equal_forks_are_told_from_others(tmp_path: Path, old: str, new: str, same: bool) -> None:
    task = asked(branching.copied(), "copies", tmp_path, old, new)
    found = equal.equal_streams(task)
    assert bool(found.why) == same, found
    assert ("differs" in found.no) != same
    assert bool(work.simulate(task).no) != same


@pytest.mark.slow
def test_a_run_with_the_bench_alone(tmp_path: Path) -> None:
    build = write_build(tmp_path / "build", branching.met(), {}, None)
    run = Run(build, MutationRequest(count=6, engine="native", jobs=1))
    found = [judged.verdict.status for judged in run]
    assert len(found) == run.mutants == 6
    assert "killed" in found
    assert "alive" not in found
