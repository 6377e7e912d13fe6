"""The report in a build: what it says, that it is whole or not there, and that it knows of which RTL it speaks."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_rtl import PAIR, write

from mase_hw.cost.cost import Cost
from mase_hw.emit import Build
from mase_hw.synth import synthesize
from mase_hw.synth.report import document, predictions, read_report, report_path, uses_dsp, write_report
from mase_hw.untrusted import Folder


def make_build(path: Path, **second: Any) -> Build:
    write(path / "rtl", PAIR)
    one: dict[str, Any] = {"name": "one", "kind": "hold", "values": {}}
    two: dict[str, Any] = {"name": "two", "kind": "invert", "values": {}, **second}
    files = [{"path": "rtl/dut.sv", "sha256": "not looked at"}]
    (path / "rtl" / "files.f").write_text("dut.sv\n")
    return Build(path, {"top": "dut", "files": files, "components": [one, two]}, Folder(path))


def make_document(build: Build) -> dict[str, Any]:
    return document(build, synthesize(build.rtl, "dut", "generic", keep_components=["one", "two"]))


def test_report(tmp_path: Path) -> None:
    build = make_build(tmp_path / "b", cost={"lut": 7, "ff": 8})
    content = make_document(build)
    path = write_report(build, content)
    assert path == tmp_path / "b" / "report" / "synth-generic.json"
    assert [entry.name for entry in path.parent.iterdir()] == ["synth-generic.json"]
    assert json.loads(path.read_text("utf-8")) == content == read_report(build, "generic")
    one, two = content["components"]
    assert (one["name"], one["kind"], one["lut"], one["ff"]) == ("one", "hold", 0, 8)
    assert "predicted" not in one
    assert (two["lut"], two["predicted"]["lut"], two["cells"]) == (8, 7, {"$_DFF_P_": 8, "$lut": 8})
    assert content["total"]["cells"] == {"$_DFF_P_": 16, "$lut": 9}
    assert content["scripts"]["flat"].startswith("read_slang --top dut rtl/dut.sv\nsynth -flatten -lut 6 -top dut\n")
    assert "keep_hierarchy 1 *$dut.u_two" in content["scripts"]["components"]
    assert content["tools"]["yosys"].startswith("Yosys ")


def test_a_report_of_other_rtl_is_not_read(tmp_path: Path) -> None:
    build = make_build(tmp_path)
    assert read_report(build, "generic") is None
    write_report(build, make_document(build))
    assert read_report(build, "generic") is not None
    assert read_report(build, "xcup") is None
    write(tmp_path / "rtl", PAIR + "\n")
    assert read_report(build, "generic") is not None  # the bytes that were synthesized: a build is read once
    assert read_report(replace(build, folder=Folder(tmp_path)), "generic") is None


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = make_build(tmp_path)
    write_report(build, {"target": "generic", "old": True})

    def full(aside: str, path: Path) -> None:
        raise OSError(28, "No space left on device", aside)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_report(build, {"target": "generic", "old": False})
    path = report_path(build, "generic")
    assert json.loads(path.read_text("utf-8"))["old"] is True
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_what_the_manifest_predicts(tmp_path: Path) -> None:
    assert predictions(make_build(tmp_path).manifest) == {}
    assert predictions(make_build(tmp_path, cost={"lut": 5, "depth": 2}).manifest) == {"two": Cost(lut=5, depth=2)}


def test_dsp_blocks_are_used_where_a_component_was_built_for_them(tmp_path: Path) -> None:
    assert not uses_dsp(make_build(tmp_path, values={"use_dsp": False}, cost={"lut": 5}).manifest)
    assert uses_dsp(make_build(tmp_path, values={"use_dsp": True}).manifest)
    assert uses_dsp(make_build(tmp_path, cost={"dsp": 1}).manifest)
