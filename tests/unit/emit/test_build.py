"""The build folder: whole or not at all, read back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support import eight_bit, randomized

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import build as build_module
from mase_hw.emit import read_build, render, write_build
from mase_hw.flow import compile_model
from mase_hw.ir import Design
from mase_hw.models import get_model
from mase_hw.simulate.stimulus import stimulus


@pytest.fixture(scope="module")
def design() -> Design:
    model = randomized(get_model("jsc-toy"))
    return compile_model(model, (16,), eight_bit(relu=True), target_interval=4, top="toy").design


def test_a_build_comes_back_as_it_was(design: Design, tmp_path: Path) -> None:
    back = read_build(write_build(tmp_path / "b", design, {}, None).path).design
    assert back.nodes == design.nodes
    assert back.streams == design.streams
    assert [c.kind for c in back.components] == [c.kind for c in design.components]
    assert render(back) == render(design)
    x = stimulus(design, 50, 0).x
    for name, values in design.run(x).items():
        assert np.array_equal(back.run(x)[name], values)
    assert back.schedule.interval == design.schedule.interval == 4


def test_an_interrupted_write_leaves_the_old_build(
    design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b"
    write_build(path, design, {"first": True}, None)
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_build(path, design, {"first": False}, None)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_build_replaces_the_old_one_whole(design: Design, tmp_path: Path) -> None:
    path = tmp_path / "b"
    write_build(path, design, {}, None)
    (path / "sim").mkdir(exist_ok=True)
    (path / "sim" / "stale").write_text("from the build before")
    write_build(path, design, {}, None)
    assert not (path / "sim" / "stale").exists()
    assert list(tmp_path.iterdir()) == [path]


def test_another_folder_is_left_alone(design: Design, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ProblemsError, match="exists and is not a build of mase-hw"):
        write_build(tmp_path / "mine", design, {}, None)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_an_interrupt_between_the_two_renames_keeps_the_old_build(
    design: Design, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b"
    write_build(path, design, {"first": True}, None)
    rename, calls = build_module.os.rename, []

    def second_is_interrupted(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(build_module.os, "rename", second_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_build(path, design, {"first": False}, None)
    assert read_build(path).manifest["config"] == {"first": True}
    assert list(tmp_path.iterdir()) == [path]
