"""A build with an AXI4-Stream top: its ports are named, and it is proved with the design inside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from report_files import leave_certificate
from support import eight_bit, randomized
from torch import nn

from mase_hw.cli import main
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, write_build
from mase_hw.flow import compile_model
from mase_hw.prove.certificate import verify
from mase_hw.report import document, render_page


@pytest.fixture
def axis(tmp_path: Path) -> Build:
    design = compile_model(randomized(nn.Sequential(nn.Linear(6, 4))), (6,), eight_bit(), top="tiny").design
    return write_build(tmp_path / "b", design, {}, None, interface="axis")


def test_every_port_is_the_rtl_s(axis: Build) -> None:
    content = document(axis)["axis"]
    assert (content["top"], content["inner"], content["file"]) == ("tiny_axis", "tiny", "rtl/tiny_axis.v")
    text = (axis.path / content["file"]).read_text()
    declared = re.findall(r"^\s+(input|output)\s+(?:wire|reg)?\s*(?:\[\s*(\d+):0\])?\s*(\w+),?$", text, re.MULTILINE)
    assert [(kind[: -len("put")], int(high or 0) + 1, name) for kind, high, name in declared] == [
        (port["direction"], port["width"], port["name"]) for port in content["ports"]
    ]
    assert all(port["about"] for port in content["ports"])
    names = {port["name"] for port in content["ports"]}
    assert {port["tlast"] for side in ("inputs", "outputs") for port in content[side]} | {
        "tlast_error",
        "tlast_error_count",
    } <= names
    assert content["inputs"][0]["beats"] == axis.design.input.beats


def test_the_page_and_the_terminal_name_it(axis: Build, capsys: pytest.CaptureFixture[str]) -> None:
    leave_certificate(axis)
    page = render_page(document(axis))
    assert "top module <code>tiny_axis</code>" in page
    assert '<td class="name">s_axis_tdata</td><td>in</td><td class="n">48</td>' in page
    assert "<th>wiring</th><th>readers</th><th>axis</th>" in page
    main(["report", str(axis.path)])
    shown = capsys.readouterr().out
    assert "AXI4-Stream top tiny_axis around tiny: TDATA of s_axis 48 bits in, of m_axis" in shown
    assert "a wrong one sets tlast_error and is counted in tlast_error_count" in shown


def test_a_plain_build_says_nothing_of_it(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    leave_certificate(build)
    content = document(build)
    assert content["axis"] is None
    main(["report", str(build.path)])
    main(["verify", str(build.path)])
    assert "AXI" not in capsys.readouterr().out + render_page(content)


def test_verify_wants_the_claim_of_the_top(axis: Build, capsys: pytest.CaptureFixture[str]) -> None:
    path = leave_certificate(axis)
    main(["verify", str(axis.path)])
    assert capsys.readouterr().out.endswith("claims, all proved\n")
    main(["verify", str(axis.path), "--json"])
    assert json.loads(capsys.readouterr().out)["top"] == "tiny_axis"
    content = json.loads(path.read_text())
    content["claims"] = [claim for claim in content["claims"] if claim["about"] != "axis"]
    path.write_text(json.dumps(content))
    with pytest.raises(ProblemsError, match="not proved: axis of tiny_axis"):
        verify(axis)


@pytest.mark.slow
def test_prove_proves_it(axis: Build, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["prove", str(axis.path)])
    assert ended.value.code == 0
    capsys.readouterr()
    assert [claim["status"] for claim in verify(axis)["claims"] if claim["about"] == "axis"] == ["proved"]
