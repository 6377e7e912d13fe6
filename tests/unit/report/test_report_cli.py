"""`mase-hw report`: what it prints and writes, without torch, and what it says of mistakes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from report_files import leave_certificate, leave_simulation
from support import eight_bit, randomized
from torch import nn

from mase_hw.cli import main
from mase_hw.emit import Build, write_build
from mase_hw.flow import compile_model
from mase_hw.simulate import find

NO_TORCH = "import sys; sys.modules['torch'] = None; from mase_hw.cli import main; main(sys.argv[1:])"


def _run(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a process in which torch cannot be imported."""
    command = [sys.executable, "-c", NO_TORCH, "report", *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_summary_and_the_page_without_torch(build: Build, tmp_path: Path) -> None:
    leave_simulation(build)
    leave_certificate(build)
    done = _run(str(build.path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in (
        "small: net.py:Net",
        "fc1",
        "simulated: every output equal",
        "proved for every input",
        "not synthesized",
    ):
        assert text in done.stdout
    assert "96 outputs compared" not in done.stdout
    assert "288 outputs compared, 288 equal" in done.stdout
    assert f"written: {build.path / 'report' / 'index.html'}" in done.stdout
    assert "would add to it:" in done.stdout
    assert (build.path / "report" / "index.html").read_text().startswith("<!doctype html>")


def test_json_is_all_that_is_printed(build: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(build.path), "--json", "--html", str(tmp_path / "else" / "page.html")])
    content = json.loads(capsys.readouterr().out)
    assert content["schema"] == 1
    assert content["simulation"]["status"] == "none"
    assert (tmp_path / "else" / "page.html").is_file()
    assert not (build.path / "report").exists()


def test_quiet_says_where_the_page_is(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", str(build.path), "--quiet"])
    assert capsys.readouterr() == (f"written: {build.path / 'report' / 'index.html'}\n", "")


def test_a_build_of_which_little_was_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = randomized(nn.Sequential(nn.Linear(3, 2)))
    write_build(tmp_path / "b", compile_model(model, (3,), eight_bit(), top="tiny").design, {}, None)
    main(["report", str(tmp_path / "b")])
    assert "tiny: a model, 3 features in, 2 out" in capsys.readouterr().out
    page = (tmp_path / "b" / "report" / "index.html").read_text()
    assert "does not say from which files it was made" in page
    assert "The build has no data set" in page


def test_a_toml_stands_for_its_build(
    project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project)
    main(["report", "model.toml", "--html", str(tmp_path / "page.html")])
    assert "small: net.py:Net" in capsys.readouterr().out


def test_a_report_changes_nothing_that_was_proved(build: Build) -> None:
    from mase_hw.prove.certificate import verify

    leave_certificate(build)
    main(["report", str(build.path)])
    assert verify(build)["proved"] is True


def test_open_shows_the_page_that_was_written(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("click.launch", shown.append)
    main(["report", str(build.path), "--open"])
    assert shown == [(build.path / "report" / "index.html").resolve().as_uri()]


def test_a_folder_in_the_place_of_the_page_is_a_mistake(build: Build, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    for option in ("--html", "--png"):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(build.path), option, str(tmp_path)])
        assert ended.value.code == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_names_are_no_markup_in_the_terminal_either(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = build.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["project"] = "[red]odd[/] <script>"
    path.write_text(json.dumps(manifest))
    main(["report", str(build.path)])
    assert "[red]odd[/] <script>: net.py:Net" in capsys.readouterr().out


def test_what_is_no_build_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["report", str(tmp_path)])
    assert ended.value.code == 1
    assert "is not a build" in capsys.readouterr().err


def test_a_build_that_lost_a_file_is_a_problem(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    build.places[0].unlink()
    with pytest.raises(SystemExit):
        main(["report", str(build.path)])
    assert f"{build.places[0]} is missing" in capsys.readouterr().err
    assert not (build.path / "report").exists()


@pytest.mark.parametrize("named", ["", "/nowhere/chromium"])
def test_a_picture_without_a_chromium_is_a_problem(build: Build, tmp_path: Path, named: str) -> None:
    done = _run(str(build.path), "--png", "a.png", cwd=tmp_path, PATH=str(tmp_path), MASE_HW_CHROMIUM=named)
    assert done.returncode == 1
    assert (named or "no Chromium on PATH") in done.stderr
    assert "hint: " in done.stderr
    assert not (tmp_path / "a.png").exists()
    assert not (build.path / "report").exists()


@pytest.mark.slow
def test_a_real_simulation_leaves_what_the_report_reads(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert find()
    main(["sim", str(build.path), "--only", "design", "--vectors", "4", "--stall", "none"])
    main(["sim", str(build.path), "--only", "fc1", "--vectors", "4", "--stall", "both", "--engine", "native"])
    capsys.readouterr()
    main(["report", str(build.path), "--json"])
    content = json.loads(capsys.readouterr().out)
    benches = {(bench["bench"], bench["engine"]): bench for bench in content["simulation"]["benches"]}
    assert set(benches) == {("design", "cocotb"), ("fc1", "native")}
    assert {bench["status"] for bench in benches.values()} == {"passed"}
    (pattern,) = benches["design", "cocotb"]["patterns"]
    assert pattern["interval"] == content["layers"]["total"]["interval"]
    assert pattern["latency"] == content["layers"]["total"]["latency"]
    assert pattern["compared"] == pattern["equal"] == 3 * pattern["vectors"]
    assert content["accuracy"]["hardware"] == content["accuracy"]["quantized"]
    text = build.places[-1].read_text()
    build.places[-1].write_text(text + "// edited\n")
    main(["report", str(build.path), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert content["simulation"]["status"] == "stale"
    assert content["accuracy"]["hardware"] is None
