"""mase-hw show: the pages agree with the components, the RTL is what the emitter renders."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from pyslang.ast import Compilation
from pyslang.syntax import SyntaxTree
from support import assert_pyslang_elaborates, write_rtl

from mase_hw.cli import main
from mase_hw.cli.op_pages import design_of, pages, ports
from mase_hw.ops import LinearFolded, LinearSerial
from mase_hw.ops.pages import Built, Page

NAMES = [
    *("linear", "relu", "conv1d", "conv2d", "batch_norm1d", "batch_norm2d", "add", "sub", "mul", "cat"),
    *("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "zero_pad", "upsample", "thresholds"),
    *("cast", "requantize", "fifo", "gather", "scatter", "skid_buffer", "fork"),
]
CASES = [(page, way) for page in pages().values() for way in page.built]
IDS = [f"{page.name}-{way.name}" for page, way in CASES]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main(["show", *arguments])
    return capsys.readouterr().out


def test_names() -> None:
    assert sorted(pages()) == sorted(NAMES)


@pytest.mark.parametrize(("page", "way"), CASES, ids=IDS)
def test_page(page: Page, way: Built, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rtl = shown(capsys, page.name, "--built", way.name, "--rtl")
    design = design_of(way.example())
    files = write_rtl(design, tmp_path)
    assert rtl in [file.read_text("utf-8") for file in files]
    assert_pyslang_elaborates(files, "example")
    tree = SyntaxTree.fromText(rtl)
    compilation = Compilation()
    compilation.addSyntaxTree(tree)
    [module] = list(compilation.getRoot().topInstances)
    assert [port.name for port in ports(rtl)] == [port.name for port in module.body.portList]
    text = shown(capsys, page.name, "--built", way.name)
    assert rtl.rstrip() in text
    assert page.equation[0] in text
    part = design.components[0]
    assert f"interval {part.interval}, latency {part.latency}" in text


def test_formulas() -> None:
    """The formulas in words, computed here for the examples: 4 inputs of 8 bits, 2 outputs."""
    ways = {f"{page.name}-{way.name}": (way, way.example()) for page, way in CASES}

    def check(name: str, interval: int, latency: int) -> None:
        part = ways[name][1]
        assert (part.interval, part.latency) == (interval, latency), name

    serial, folded = ways["linear-serial"][1], ways["linear-folded"][1]
    assert isinstance(serial, LinearSerial)
    assert isinstance(folded, LinearFolded)
    check("linear-unrolled", 1, ways["linear-unrolled"][1].latency)
    check("linear-serial", ceil(8 / 2) * 1, ceil(8 / 2) + serial.stages + serial.hold)
    check("linear-folded", ceil(4 / 2) * ceil(2 / 1), ceil(4 / 2) + folded.stages + 1)
    check("relu-stream", 2, 1)
    check("cast-stream", 2, 1)
    check("batch_norm1d-stream", 2, 2 + len(ways["batch_norm1d-stream"][1].array.stages))  # type: ignore[attr-defined]
    check("batch_norm1d-stream_one_beat", 1, ways["batch_norm1d-stream_one_beat"][1].latency)
    check("fifo-stream", 2, 1)
    check("gather-stream", 2, 2)
    check("scatter-stream", 4, 1)
    check("skid_buffer-stream", 2, 1)
    check("fork-stream", 2, 1)
    check("fork-buffered", 2, 1)
    check("add-stream", 2, 1)
    check("sub-stream", 2, 1)
    check("cat-stream", 4, 1)
    check("cat-wide", 1, 1)


def test_list_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert all(name in shown(capsys) for name in NAMES)
    listed: list[Any] = json.loads(shown(capsys, "--json"))
    assert [entry["name"] for entry in listed] == list(pages())
    page = json.loads(shown(capsys, "linear", "--built", "folded", "--json"))
    assert page["example"]["interval"] == 4
    assert [way["name"] for way in page["built"]] == ["unrolled", "serial", "folded"]
    assert "module example_linear" in page["rtl"]
    assert {"name": "data_in_0", "direction": "input", "bits": "[15:0]"} in page["ports"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["linaer"], "error: linaer is no operator\n  hint: did you mean linear?\n"),
        (["linear", "--built", "fold"], "error: linear is not built fold\n  hint: did you mean folded?\n"),
    ],
)
def test_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["show", *arguments])
    assert ended.value.code == 1
    assert capsys.readouterr() == ("", said)
