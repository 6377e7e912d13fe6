"""`mase-hw explore` as its users run it: a table, files, JSON; and every point can be built as it is described."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

MODEL = """\
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(12)
        self.fc1 = nn.Linear(12, 10)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(self.norm(x))))
"""
WIDTHS = "".join(f"{argument}_width = 6\n{argument}_frac_width = 3\n" for argument in ("data_in", "weight", "bias"))
TOML = 'model = "net.py:Net"\n' + "".join(
    f'[passes.quantize.{op}.config]\nname = "integer"\n{WIDTHS}' for op in ("linear", "batch_norm1d")
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "net.toml").write_text(TOML, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "mase_hw", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # With --json notes go to stderr, and nothing else does.
    assert all(line.startswith("note: ") and "--json" in arguments for line in done.stderr.splitlines()), done.stderr
    return done.stdout


def emitted(folder: Path, hardware: dict[str, int]) -> dict[str, Any]:
    """The manifest of a build with these keys in [hardware]."""
    lines = "".join(f"{key} = {value}\n" for key, value in hardware.items())
    (folder / "one.toml").write_text(f"{TOML}[hardware]\n{lines}", encoding="utf-8")
    run(folder, "emit", "one.toml")
    manifest: dict[str, Any] = json.loads((folder / "build/one/manifest.json").read_text("utf-8"))
    return manifest


def assert_same(point: dict[str, Any], manifest: dict[str, Any]) -> None:
    assert (manifest["interval"], manifest["latency"]) == (point["interval"], point["latency"])
    assert manifest["cost"] == point["cost"]
    for node in manifest["nodes"]:
        chosen = point["nodes"][node["name"]]
        assert node["implementation"] in (chosen["implementation"], "merged")
        assert node["data_in_parallelism"] == chosen["data_in_parallelism"]


@pytest.mark.nightly
def test_each_point_is_what_emit_builds(folder: Path) -> None:
    points = json.loads(run(folder, "explore", "net.toml", "--json"))["points"]
    assert len(points) > 3
    sizes = [(point["interval"], point["sites"]) for point in points]
    assert sizes == sorted(sizes)
    assert [sites for _, sites in sizes] == sorted({sites for _, sites in sizes}, reverse=True)
    for point in (points[0], points[len(points) // 2], points[-1]):
        assert point["sites"] == point["cost"]["sites"] + point["cost"]["lutram"]
        assert point["luts"] == point["cost"]["lut"] + point["cost"]["lutram"] < point["sites"]
        assert_same(point, emitted(folder, point["hardware"]))


def test_a_budget_is_a_point_of_the_front(folder: Path) -> None:
    points = json.loads(run(folder, "explore", "net.toml", "--json"))["points"]
    assert_same(points[1], emitted(folder, {"lut_budget": points[0]["sites"] - 1}))


@pytest.mark.nightly
def test_with_dsp_blocks_the_front_is_lower(folder: Path) -> None:
    plain = json.loads(run(folder, "explore", "net.toml", "--json", "--max-interval", "30"))["points"]
    points = json.loads(run(folder, "explore", "net.toml", "--json", "--dsp", "--max-interval", "30"))["points"]
    assert max(point["interval"] for point in plain + points) <= 30
    assert points[-1]["sites"] < plain[-1]["sites"]
    assert points[-1]["hardware"]["dsp_budget"] == points[-1]["cost"]["dsp"] > 0
    assert_same(points[-1], emitted(folder, points[-1]["hardware"]))


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [str(value) for key, value in attrs if key in ("src", "href", "xlink:href")]


def test_the_table_and_the_files(folder: Path) -> None:
    out = run(folder, "explore", "net.toml", "--out", "front")
    points = json.loads((folder / "front/front.json").read_text("utf-8"))["points"]
    rows = [line.split() for line in out.splitlines() if re.match(r" *\d+ +\d+ +\d+ ", line)]
    keys = ("interval", "sites", "luts")
    assert [[int(cell) for cell in row[:3]] for row in rows] == [[point[key] for key in keys] for point in points]
    assert "not a vendor's figure" in out
    assert "set target_interval in [hardware]" in out
    assert (folder / "front/front.png").read_bytes().startswith(b"\x89PNG")
    text = (folder / "front/front.html").read_text("utf-8")
    page = Page()
    page.feed(text)
    assert page.outside == []
    assert "http" not in text
    assert page.tags.count("circle") == page.tags.count("tr") - 1 == len(points)
    assert "fc1: unrolled" in text


def test_help_shows_how() -> None:
    out = subprocess.run(
        [sys.executable, "-m", "mase_hw", "explore", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "Examples:" in out
    assert "mase-hw explore model.toml --max-interval 256" in out
