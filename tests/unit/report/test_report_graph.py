"""The report of designs with branches and several ports: the drawing in levels, every port in the tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import branching
import pytest

from mase_hw.cli import main
from mase_hw.emit import write_build
from mase_hw.ir import Design
from mase_hw.report import document, render_page
from mase_hw.report.diagram import WIDTH, diagram
from mase_hw.report.layered import layered


def test_levels_and_lines_that_pass_by() -> None:
    # 0 -> 1 -> 2 -> 3 with a short cut from 0 to 3, and 4, which begins late, into 3.
    found = layered(5, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert found.levels[:4] == (0, 1, 2, 3)
    assert found.full == (2, 2, 2, 1)  # node 4 alone stands at the start
    assert [len(route) for route in found.routes] == [0, 0, 0, 2]
    late = layered(4, [(0, 2), (2, 3), (1, 3)])
    assert late.levels == (0, 1, 1, 2)
    crossing = layered(6, [(0, 2), (1, 3), (2, 5), (3, 4)])
    assert (crossing.slots[2] < crossing.slots[3]) == (crossing.slots[5] < crossing.slots[4])


@pytest.mark.parametrize("make", branching.ALL)
def test_the_drawing_has_every_component_port_and_stream(tmp_path: Path, make: Callable[[], Design]) -> None:
    design = make()
    drawn = diagram(document(write_build(tmp_path / "b", design, {}, None))["flow"])
    assert len(drawn.boxes) == len(design.components) + len(design.inputs) + len(design.outputs)
    assert len(drawn.wires) == len(design.streams)
    for k, one in enumerate(drawn.boxes):
        assert 0 <= one.x <= one.x + one.width <= WIDTH
        assert 0 <= one.y <= one.y + one.height <= drawn.height
        for other in drawn.boxes[k + 1 :]:  # no two overlap
            beside = one.x + one.width <= other.x or other.x + other.width <= one.x
            assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y
    boxes = {box.title.partition(":")[0]: box for box in drawn.boxes}
    for k, y in enumerate(design.outputs):
        name = "output" if len(design.outputs) == 1 else f"output {k}"
        assert boxes[name].title == f"{name}: {y.name}, {y.features} features"
    for stream, wire in zip(design.streams, drawn.wires, strict=True):
        writer = design.writers.get(stream.name)
        assert wire.title.startswith(f"{stream.name}: ")
        if writer is not None:  # the line begins at the box that writes it, and ends at another's height
            box = boxes[writer.name]
            assert wire.path.startswith(f"M{box.x + box.width:g} {box.y + box.height / 2:g}")
        for x, y0, y1 in _verticals(wire.path):  # no line runs through a box
            for box in drawn.boxes:
                assert not (box.x < x < box.x + box.width and y0 < box.y + box.height and box.y < y1), wire.path


def _verticals(path: str) -> list[tuple[float, float, float]]:
    """The upright parts of a line: x, and from where to where."""
    found, x, y = [], 0.0, 0.0
    for kind, a, b in re.findall(r"([MHV])(-?[\d.]+)(?: (-?[\d.]+))?", path):
        if kind == "M":
            x, y = float(a), float(b)
        elif kind == "H":
            x = float(a)
        else:
            found.append((x, *sorted((y, float(a)))))
            y = float(a)
    return found


def test_every_port_is_in_the_page_and_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = write_build(tmp_path / "b", branching.crossed(), {}, None, interface="axis")
    content = document(build)
    assert [port["name"] for port in content["model"]["inputs"]] == ["data_in_0", "data_in_1"]
    assert [port["name"] for port in content["axis"]["outputs"]] == ["m_axis", "m_axis_1"]
    assert [row["name"] for row in content["values"]["layers"]] == ["input 0", "input 1"]
    page = render_page(content)
    assert "2 x 3 x 4 and 2 x 3 x 2 features in, 2 x 3 x 4 and 2 x 3 x 6 out" in page
    for name in ("data_in_1", "data_out_1", "s_axis_1_tdata", "m_axis_1_tlast"):
        assert name in page
    main(["report", str(build.path)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "TDATA of s_axis 16 bits and s_axis_1 16 bits in, of m_axis 16 bits and m_axis_1 16 bits out" in shown
    assert "TLAST on the last of 12 and 6 and 12 and 18 beats" in shown
