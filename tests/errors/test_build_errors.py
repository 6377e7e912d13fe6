"""What is said of places that cannot be written and builds that cannot be simulated, and what an interrupt leaves."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk import MODEL, Desk, snapshot

NOT_OURS = "exists and is not a build of mase-hw\n  hint: choose another folder with --out, or delete it\n"


@pytest.mark.parametrize("inside", ["thesis.txt", "manifest.json"])
def test_out_is_a_folder_of_other_things(inside: str, desk: Desk) -> None:
    Path("work").mkdir()
    desk.write({f"work/{inside}": "{}"})
    assert desk.refused("emit", "model.toml", "--out", "work") == f"error: work {NOT_OURS}"


def test_out_is_a_file(desk: Desk) -> None:
    assert desk.refused("emit", "model.toml", "--out", "mlp.py") == f"error: mlp.py {NOT_OURS}"


def test_out_is_the_current_folder(desk: Desk) -> None:
    assert desk.refused("emit", "model.toml", "--out", ".") == f"error: . {NOT_OURS}"


def test_out_cannot_be_made(desk: Desk) -> None:
    assert desk.refused("emit", "model.toml", "--out", "mlp.py/build") == (
        "error: mlp.py/build cannot be written: File exists\n"
        "  hint: choose another place: --out FOLDER, where mlp.py can be made and written\n"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_out_may_not_be_written(desk: Desk) -> None:
    Path("locked").mkdir(0o555)
    assert desk.refused("emit", "model.toml", "--out", "locked/build") == (
        "error: locked/build cannot be written: Permission denied\n"
        "  hint: choose another place: --out FOLDER, where locked can be made and written\n"
    )


def test_an_empty_folder_and_an_older_build_are_taken(desk: Desk) -> None:
    Path("empty").mkdir()
    old = desk.place_build("old")
    (old / "rtl" / "stale.sv").touch()
    for out in ("empty", "old"):
        assert desk.run("emit", "model.toml", "--out", out).code == 0
    assert snapshot(Path("empty")) == snapshot(Path("old"))


def edited(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def edit(build: Path) -> None:
        manifest = json.loads((build / "manifest.json").read_text())
        change(manifest)
        (build / "manifest.json").write_text(json.dumps(manifest))

    return edit


def no_rtl(build: Path) -> None:
    (build / "rtl" / "model_fc1.sv").unlink()
    (build / "parameters.npz").unlink()


# name: (what happens to a build, the text)
BUILDS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (
        lambda build: (build / "manifest.json").unlink(),
        """\
error: b is not a build: it has no manifest.json
  hint: `mase-hw emit model.toml` writes one to build/<project>
""",
    ),
    "broken manifest": (
        lambda build: (build / "manifest.json").write_text("{nope"),
        """\
error: b/manifest.json is no JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "another manifest": (
        lambda build: (build / "manifest.json").write_text("[]"),
        """\
error: b/manifest.json is of another version of mase-hw: this one reads schema 2
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "another schema": (
        edited(lambda manifest: manifest.update(schema=3)),
        """\
error: b/manifest.json is of another version of mase-hw: this one reads schema 2
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "keys left out": (
        edited(lambda manifest: (manifest.pop("streams"), manifest.pop("nodes"))),
        """\
error: b/manifest.json has no nodes
  hint: emit the build again: mase-hw emit model.toml --out b
error: b/manifest.json has no streams
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "another shape": (
        edited(lambda manifest: manifest.update(streams=[{"name": "x"}])),
        """\
error: b/manifest.json is damaged: streams[0] has no frame
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "no parameters, no RTL": (
        no_rtl,
        """\
error: b/rtl/model_fc1.sv is missing
  hint: emit the build again: mase-hw emit model.toml --out b
error: b/parameters.npz is missing
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
    "damaged parameters": (
        lambda build: (build / "parameters.npz").write_bytes(b"123"),
        """\
error: b/parameters.npz is damaged: it is not the file that emit wrote
  hint: emit the build again: mase-hw emit model.toml --out b
""",
    ),
}


@pytest.mark.parametrize(("change", "text"), BUILDS.values(), ids=list(BUILDS))
def test_build(change: Callable[[Path], Any], text: str, desk: Desk) -> None:
    change(desk.place_build("b"))
    assert desk.refused("sim", "b") == text


@pytest.mark.parametrize("name", ["nowhere", "mlp.py"])
def test_no_build(name: str, desk: Desk) -> None:
    assert desk.refused("sim", name) == (
        f"error: {name} is not a build: it has no manifest.json\n"
        "  hint: `mase-hw emit model.toml` writes one to build/<project>\n"
    )


def test_builds_that_are_there_are_named(desk: Desk) -> None:
    (desk.path / "build").mkdir()
    desk.place_build("build/net")
    for name in (".", "build", "build/nett"):
        assert desk.refused("report", name) == (
            f"error: {name} is not a build: it has no manifest.json\n"
            "  hint: `mase-hw emit model.toml` writes one to build/<project>; there are build/net\n"
        )


@pytest.mark.parametrize("command", ["emit", "explore"])
def test_a_model_in_the_place_of_its_toml(command: str, desk: Desk) -> None:
    assert desk.refused(command, "mlp.py") == (
        "error: mlp.py is a model, and a TOML that describes it is wanted\n"
        "  hint: `mase-hw new` writes one: mase-hw new --model mlp.py:CLASS, with your class's name for CLASS\n"
    )


def test_a_page_that_cannot_be_written_leaves_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.place_build("b") / "report").mkdir()

    def full(self: Path, target: Path) -> None:
        assert self.parent == target.parent.resolve()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert desk.refused("report", "b") == (
        "error: b/report/index.html: No space left on device\n"
        "  hint: check that the disk has room and that you may write there\n"
    )


def test_samples_that_are_damaged(desk: Desk) -> None:
    build = desk.place_build("b")
    (build / "sim").mkdir()
    (build / "sim" / "samples.npz").write_bytes(b"123")
    assert desk.refused("sim", "b") == (
        "error: b/sim/samples.npz is no npz, or it is damaged: File is not a zip file\n"
        "  hint: emit the build again: mase-hw emit model.toml --out b\n"
    )


def test_a_toml_that_was_not_emitted(desk: Desk) -> None:
    assert desk.refused("sim", "model.toml") == (
        "error: build/model is not a build: it has no manifest.json\n"
        "  hint: `mase-hw emit model.toml` writes one to build/<project>\n"
    )


GET = (
    "install one: `apt install g++`, `dnf install gcc-c++` or `xcode-select --install`; "
    "without root: `pip install ziglang`\n"
)


def test_no_compiler(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.place_build("b")
    monkeypatch.setenv("CXX", "/nonexistent")
    assert desk.refused("sim", "b") == f"error: CXX: '/nonexistent' does not run\n  hint: unset CXX, or {GET}"
    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "ziglang" else real(name))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "")
    assert desk.refused("sim", "b") == (
        f"error: C++ compiler: none of g++, clang++, c++ runs, and $CXX is not set\n  hint: {GET}"
    )


INTERRUPTED = ("", "\ninterrupted; nothing half-written is left behind\n")  # a new line after the terminal's ^C


def interrupted(process: subprocess.Popen[str], seen: Callable[[], bool]) -> tuple[str, str]:
    """The outputs of a command that gets Ctrl-C once `seen` says so."""
    deadline = time.monotonic() + 60
    while not seen():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it never came so far"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130, (out, err)
    return out, err


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from mase_hw.cli import main; main()", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


SLOW = MODEL.replace("def __init__(self):\n", "def __init__(self):\n        waits()\n") + (
    "\n\ndef waits():\n    import pathlib, time\n    pathlib.Path('reached').touch()\n    time.sleep(60)\n"
)


@pytest.mark.slow
def test_interrupted_emit_leaves_the_old_build(desk: Desk) -> None:
    desk.place_build("build/model")
    desk.write({"mlp.py": SLOW, "reached": ""})
    before = snapshot(desk.path)
    Path("reached").unlink()
    process = start("emit", "model.toml")
    assert interrupted(process, Path("reached").exists) == INTERRUPTED
    assert snapshot(desk.path) == before


def children(process: int) -> list[str]:
    """The commands of the processes that a process started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(words[1]) == process:
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_interrupted_sim_leaves_no_simulator(desk: Desk) -> None:
    desk.place_build("b")
    before = snapshot(Path("b"))
    process = start("sim", "b", "--vectors", "200000", "--only", "design")
    try:
        said = interrupted(process, lambda: any("/simulator " in command for command in children(process.pid)))
    finally:
        process.kill()
    assert said == INTERRUPTED
    simulators = [entry for entry in Path("/proc").glob("[0-9]*/cwd") if _inside(entry, desk.path)]
    assert simulators == []
    assert before.items() <= snapshot(Path("b")).items()


def _inside(link: Path, folder: Path) -> bool:
    if link.parent.name == str(os.getpid()):
        return False  # this test's own folder
    try:
        return link.readlink().is_relative_to(folder)
    except OSError:  # ended meanwhile, or another user's
        return False


def test_unexpected_trouble_with_files_has_no_traceback(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "build/model")

    monkeypatch.setattr("os.rename", full)
    assert desk.refused("emit", "model.toml", "--out", "new") == (
        "error: build/model: No space left on device\n"
        "  hint: check that the disk has room and that you may write there\n"
    )
