"""The AXI4-Stream top of a design with several ports: each has its own wires, TLAST and beats; errors are summed."""

from __future__ import annotations

from pathlib import Path

import branching
import pytest
from support import assert_pyslang_elaborates, assert_yosys_elaborates

from mase_hw.emit import Build, write_build
from mase_hw.export.block import block_of
from mase_hw.export.ipxact import ipxact_component
from mase_hw.simulate import Outcome, lint
from mase_hw.simulate.axis import fewer, simulate_axis
from mase_hw.simulate.job import Pattern
from mase_hw.simulate.stimulus import stimulus


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return write_build(tmp_path / "build", branching.crossed(), {}, None, interface="axis")


def run(build: Build, *patterns: Pattern) -> Outcome:
    assert build.axis is not None
    files, vectors = tuple(build.rtl), stimulus(build.design, 12, 3)
    return simulate_axis(build.design, build.axis, files, vectors, patterns, 5, build.path / "sim" / "axis")


def test_every_port_is_listed(build: Build) -> None:
    axis = build.manifest["axis"]
    assert [port["name"] for port in axis["inputs"]] == ["s_axis", "s_axis_1"]
    assert [port["name"] for port in axis["outputs"]] == ["m_axis", "m_axis_1"]
    block = block_of(build)
    names = [port.name for port in block.ports]
    assert names[:2] == ["aclk", "aresetn"]
    assert names[2:10] == [f"s_axis{k}_t{wire}" for k in ("", "_1") for wire in ("data", "valid", "ready", "last")]
    assert names[10:18] == [f"m_axis{k}_t{wire}" for k in ("", "_1") for wire in ("data", "valid", "ready", "last")]
    assert block.about == "2 x 3 x 4 x fixed(8, 4), 2 x 3 x 2 x fixed(6, 3) in, " + (
        "2 x 3 x 4 x ufixed(5, 2), 2 x 3 x 6 x fixed(6, 3) out"
    )
    xml = ipxact_component(block, 200.0)["crossed_axis.xml"].decode()
    for name, mode in (("s_axis", "slave"), ("s_axis_1", "slave"), ("m_axis", "master"), ("m_axis_1", "master")):
        interface = xml.partition(f"<ipxact:busInterface>\n      <ipxact:name>{name}</ipxact:name>")[2]
        assert f"<ipxact:{mode} />" in interface.partition("</ipxact:busInterface>")[0]


def test_a_plain_block_has_every_port(tmp_path: Path) -> None:
    block = block_of(write_build(tmp_path / "build", branching.split(), {}, None))
    found = [(port.name, port.direction, port.width) for port in block.ports[2:]]
    assert found == [
        ("data_in_0", "in", 16), ("data_in_0_valid", "in", 1), ("data_in_0_ready", "out", 1),
        ("data_out_0", "out", 10), ("data_out_0_valid", "out", 1), ("data_out_0_ready", "in", 1),
        ("data_out_1", "out", 16), ("data_out_1_valid", "out", 1), ("data_out_1_ready", "in", 1),
    ]  # fmt: skip


def test_it_is_clean(build: Build) -> None:
    assert build.axis is not None
    assert lint(build.rtl, build.axis.module) == []
    assert_pyslang_elaborates(build.rtl, build.axis.module)


@pytest.mark.slow
def test_yosys_elaborates_it(build: Build) -> None:
    assert build.axis is not None
    assert_yosys_elaborates(build.rtl, build.axis.module)


def test_fewer_samples_keep_their_positions(build: Build) -> None:
    assert build.axis is not None
    whole = stimulus(build.design, 3000, 0)
    less = fewer(build.axis, whole)
    assert less.samples < whole.samples
    assert [len(rows) for rows in less.inputs] == [6 * less.samples] * 2
    last = [rows.reshape(-1, 6, rows.shape[1])[-1].tolist() for rows in whole.inputs]
    assert [rows.reshape(-1, 6, rows.shape[1])[-1].tolist() for rows in less.inputs] == last


@pytest.mark.slow
def test_every_sample_through_every_port(build: Build) -> None:
    outcome = run(build, "none", "both")
    assert outcome.passed, outcome.failures
    samples = stimulus(build.design, 12, 3).samples
    for result in outcome.patterns:
        assert [(s.name, s.beats) for s in result.streams] == [
            ("s_axis", 12 * samples), ("s_axis_1", 6 * samples), ("m_axis", 12 * samples), ("m_axis_1", 18 * samples)
        ]  # fmt: skip
    assert all(stream.cycles_checked for stream in outcome.pattern("none").outputs())
    assert outcome.notes[0].startswith("TLAST on the last beat of every sample; ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("m_axis_1_tlast = out_1_last", "m_axis_1_tlast = 1'b1", "m_axis_1: TLAST came after 1 beats of vector 0"),
        ("+ {16'd0, wrong[1]}", "", "tlast_error: "),
    ],
)
def test_a_wrong_wrapper_is_caught(build: Build, right: str, wrong: str, says: str) -> None:
    path = build.path / "rtl" / "crossed_axis.v"
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    outcome = run(build, "none")
    assert says in outcome.failures[0], outcome.failures


@pytest.mark.slow
def test_the_count_stops_at_its_largest(build: Build) -> None:
    """Also where beats at both inputs are wrong in one cycle."""
    path = build.path / "rtl" / "crossed_axis.v"
    text = path.read_text().replace("tlast_error_count <= 16'd0", "tlast_error_count <= 16'hfffc")
    for side, beat in (("in", "4'd11"), ("in_1", "3'd5")):
        assert f"{side}_last = {side}_beat == {beat};" in text
        text = text.replace(f"{side}_last = {side}_beat == {beat};", f"{side}_last = {side}_beat == {beat} && 1'b0;")
    path.write_text(text)
    assert "the count is 65535 and the flag 1" in run(build, "none").failures[0]
