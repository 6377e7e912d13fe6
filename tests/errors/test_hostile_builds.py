"""A build folder from somebody else: nothing outside it is read or written, and nothing in it is run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import branching
import numpy as np
import pytest
from desk import Desk, snapshot

from mase_hw.emit import read_build, write_build
from mase_hw.prove.certificate import OF_THE_WHOLE, hashes, write_certificate
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import Proof


@pytest.fixture
def build(desk: Desk) -> Path:
    """With samples, and a certificate that says that all was proved."""
    path = desk.place_build("b")
    design = read_build(path).design
    x = np.zeros((2, design.input.features), np.int64)
    labels = np.zeros(2, np.int64)
    (path / "sim").mkdir(exist_ok=True)
    with (path / "sim" / "samples.npz").open("wb") as file:
        np.savez(file, x=x, y=design.results(x)[0], labels=labels, float_labels=labels)
    words = ("timing", "handshake", "values", "widths")
    whole = [(design.name, word) for word in OF_THE_WHOLE]
    about = [*whole, *((c.name, word) for c in design.components for word in words)]
    write_certificate(read_build(path), Proof(tuple(Claim(name, word, "proved", "by decree") for name, word in about)))
    return path


def edit(build: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((build / "manifest.json").read_text())
    change(manifest)
    (build / "manifest.json").write_text(json.dumps(manifest))


def test_the_build_itself_verifies(build: Path, desk: Desk) -> None:
    ran = desk.run("verify", "b")
    assert (ran.code, ran.err) == (0, ""), ran
    assert "sim/samples.npz" in hashes(read_build(build))


FILES = ["manifest.json", "parameters.npz", "rtl/files.f", "rtl/model_fc1.sv", "sim/samples.npz", "certificate.json"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["link", "FIFO", "device", "folder", "huge"])
def test_what_is_no_file_of_the_build_is_refused(name: str, kind: str, build: Path, desk: Desk) -> None:
    file = build / name
    aside = desk.path / "aside"
    file.rename(aside)
    if kind == "link":
        file.symlink_to(aside)
    elif kind == "FIFO":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "folder":
        file.mkdir()
    else:
        with file.open("wb") as sparse:
            sparse.truncate(1 << 34)
    ran = desk.run("verify", "b")
    assert ran.code == 1, ran
    said = {"link": "is a link", "device": "is a link", "huge": "are the most"}.get(kind, f"is a {kind}")
    assert f"{file.relative_to(desk.path)} {said}" in ran.err or f"{name} {said}" in ran.err or said in ran.err


@pytest.mark.parametrize("folder", ["rtl", "sim"])
def test_a_linked_folder_is_refused(folder: str, build: Path, desk: Desk) -> None:
    (build / folder).rename(desk.path / "elsewhere")
    (build / folder).symlink_to(desk.path / "elsewhere")
    for command in ("verify", "sim", "report"):
        ran = desk.run(command, "b")
        assert ran.code == 1, (command, ran)
        assert "is a link, not a folder" in ran.err


@pytest.mark.parametrize("name", ["sim/samples.npz", "rtl/files.f", "rtl/model_fc1.sv", "parameters.npz"])
def test_verify_covers_every_file_that_a_command_reads(name: str, build: Path, desk: Desk) -> None:
    data = bytearray((build / name).read_bytes())
    data[-1] ^= 1
    (build / name).write_bytes(data)
    ran = desk.run("verify", "b")
    assert ran.code == 1
    assert name in ran.err


@pytest.mark.parametrize("text", ["", "model.sv\n", "../../evil.sv\n", "model_fc1.sv\n"])
def test_a_file_list_that_is_not_the_manifest_s(text: str, build: Path, desk: Desk) -> None:
    (build / "rtl" / "files.f").write_text(text)
    for command in (("prove", "b"), ("sim", "b"), ("synth", "b"), ("export", "b", "--to", "vivado")):
        assert desk.refused(*command) == (
            "error: b/rtl/files.f does not list the files of the manifest in their order\n"
            "  hint: emit the build again: mase-hw emit model.toml --out b\n"
        )


NAMES = [
    *("rtl/good/model.sv", "../model.sv", "/etc/passwd", "rtl/a b.sv", "rtl/-v.sv", "rtl/x.sv;id", "model.sv"),
    *("rtl/x.sv\n", "rtl/pyosys.py", "rtl/$HOME.sv", "rtl/../x.sv", "rtl/é.sv", f"rtl/{'x' * 300}.sv"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_are_plain(name: str, build: Path, desk: Desk) -> None:
    edit(build, lambda manifest: manifest["files"][0].update(path=name))
    said = desk.refused("prove", "b")
    assert said.startswith("error: b/manifest.json is damaged: files[0].path is ")
    assert "which is no RTL file" in said


COMMANDS = ["x; exec -- touch ran", "x\nexec -- touch ran", "-x", "a b", "$(touch ran)", "`touch ran`", "a/b", "", "é"]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "key", [("top",), ("components", 0, "name"), ("components", 0, "kind"), ("streams", 0, "name"), ("clock",)]
)
def test_names_that_go_into_commands_are_identifiers(key: tuple[Any, ...], name: str, build: Path, desk: Desk) -> None:
    def change(manifest: Any) -> None:
        for part in key[:-1]:
            manifest = manifest[part]
        manifest[key[-1]] = name

    edit(build, change)
    assert desk.refused("synth", "b").startswith(f"error: b/manifest.json is damaged: {key[0]}")
    assert not Path("ran").exists()


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no files": (lambda m: m.update(files=[]), "files is []"),
    "another latency": (lambda m: m.update(latency=m["latency"] + 1), "latency is "),
    "another interval": (lambda m: m["components"][0].update(interval=77), "interval of "),
    "another port": (lambda m: m["inputs"][0].update(lanes=1, beats=99), "inputs are not those of the design"),
    "a component with another port": (lambda m: m["components"][0].update(inputs=["nowhere"]), "KeyError: 'nowhere'"),
    "a renamed component": (lambda m: m["components"][0].update(name="other"), ""),
    "a step that is a number": (lambda m: m["components"][0]["values"].update(step=1), "the values of "),
    "a wide stream": (lambda m: m["streams"][0].update(width=1 << 40), "streams[0].width is "),
    "a long frame": (lambda m: m["streams"][0].update(frame=[1 << 20] * 8), "elements"),
    "escapes": (lambda m: m["tools"].update(torch="\x1b]0;evil\x07"), "control characters"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_manifest_that_lies(name: str, build: Path, desk: Desk) -> None:
    change, said = CHANGES[name]
    edit(build, change)
    found = desk.refused("sim", "b")
    assert found.startswith("error: b/manifest.json is damaged: ")
    assert said in found


@pytest.mark.parametrize("folder", ["report", "export", "sim/design", "sim"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_results_are_not_written_through_links(folder: str, kind: str, build: Path, desk: Desk) -> None:
    outside = desk.path / "outside"
    outside.mkdir()
    shutil.rmtree(build / folder, ignore_errors=True)
    if kind == "link":
        (build / folder).symlink_to(outside)
    else:
        (build / folder).write_text("")
    command = {"report": ["report", "b"], "export": ["export", "b", "--to", "cpp"]}.get(folder, ["sim", "b"])
    ran = desk.run(*command)
    assert ran.code == 1, ran
    assert f"a {kind}, not a folder" in ran.err
    assert list(outside.iterdir()) == []


def test_a_page_replaces_a_link(build: Path, desk: Desk) -> None:
    desk.write({"thesis.txt": "years of work"})
    (build / "report").mkdir()
    (build / "report" / "index.html").symlink_to(desk.path / "thesis.txt")
    assert desk.run("report", "b").code == 0
    assert Path("thesis.txt").read_text() == "years of work"
    assert not (build / "report" / "index.html").is_symlink()


def test_a_certificate_replaces_a_link(build: Path, desk: Desk) -> None:
    desk.write({"thesis.txt": "years of work"})
    for name in ("certificate.json", "certificate.new"):
        (build / name).unlink(missing_ok=True)
        (build / name).symlink_to(desk.path / "thesis.txt")
    write_certificate(read_build(build), Proof(()))
    assert Path("thesis.txt").read_text() == "years of work"
    assert json.loads((build / "certificate.json").read_text())["schema"] == 2


EVIL = "import pathlib; pathlib.Path({!r}).touch()\nraise SystemExit(3)\n"
PLACES = ("pyosys.py", "sitecustomize.py", "usercustomize.py", "json.py", "numpy.py", "encodings.py")


@pytest.mark.slow
def test_no_python_of_the_current_folder_is_run_by_prove(build: Path, desk: Desk, monkeypatch: Any) -> None:
    ran = desk.path / "ran"
    for folder in (desk.path, build, build / "rtl"):
        for name in PLACES:
            (folder / name).write_text(EVIL.format(str(ran)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (desk.path, build / "rtl"))))
    opened = read_build(build)
    names = [component.name for component in opened.design.components]
    for folder in (desk.path, build / "rtl"):
        monkeypatch.chdir(folder)
        assert set(elaborate(opened.rtl, opened.design.name, names)) == {"", *names}
    assert not ran.exists()


@pytest.mark.slow
def test_no_python_of_the_build_is_run_by_the_simulator(build: Path, desk: Desk) -> None:
    ran = desk.path / "ran"
    work = build / "sim" / "design"
    work.mkdir(parents=True)
    for name in (*PLACES, "cocotb.py"):
        (work / name).write_text(EVIL.format(str(ran)))
    (work / "sim").mkdir()
    (work / "sim" / "__init__.py").write_text(EVIL.format(str(ran)))
    command = [sys.executable, "-P", "-m", "mase_hw", "sim", "b", "--only", "design", "--stall", "none", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not ran.exists()


def test_nothing_is_left_of_a_hostile_build(build: Path, desk: Desk) -> None:
    edit(build, lambda manifest: manifest.update(top="a; exec -- touch ran"))
    before = snapshot(desk.path)
    for command in ("prove", "verify", "sim", "synth", "report", "mutate"):
        assert desk.run(command, "b").code == 1
    assert snapshot(desk.path) == before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("model.sv", "u_fc1 ", "u_other ", "the top model has no u_fc1"),
        ("model_fc1.sv", "data_out_0_valid", "data_out_0_other", "output port 'data_out_0_other' has no connection"),
    ],
)
def test_rtl_that_is_not_the_manifest_s(file: str, old: str, new: str, said: str, build: Path, desk: Desk) -> None:
    text = (build / "rtl" / file).read_text()
    assert old in text
    (build / "rtl" / file).write_text(text.replace(old, new))
    assert said in desk.refused("prove", "b")


def test_a_design_that_stops_is_refused(desk: Desk) -> None:
    write_build(desk.path / "q", branching.queued(), {}, None)
    edit(desk.path / "q", lambda m: [c["values"].update(depth=0) for c in m["components"] if c["kind"] == "fifo"])
    assert "the design is deadlocked" in desk.refused("prove", "q")
