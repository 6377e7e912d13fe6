"""run and simulate: shapes, real numbers and integers, the RTL compared, notebooks."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nets import config, seeded, types
from support import with_offset
from torch import Tensor, nn

import mase_hw
from mase_hw.html import table
from mase_hw.notebook import diagram_svg
from mase_hw.report.diagram import Box, Diagram, Wire


@pytest.fixture(scope="module")
def design() -> mase_hw.CompiledDesign:
    return mase_hw.compile(seeded(), config())


def refused(design: mase_hw.CompiledDesign, x: Any, **named: Any) -> str:
    with pytest.raises(mase_hw.ProblemsError) as found:
        design.run(x, **named)
    return str(found.value)


def test_real_numbers(design: mase_hw.CompiledDesign) -> None:
    x = np.random.default_rng(0).normal(size=(9, 4)) * 3
    quantized = np.clip(np.round(x * 16), -128, 127)  # numpy rounds half to even
    y = design.run(x)
    assert y.dtype == np.float64
    assert np.array_equal(y, design.run(quantized / 16))
    n = design.run(quantized.astype(int), integers=True)
    assert n.dtype == np.int64
    assert np.array_equal(n * 2.0**-design.output_type.frac, y)
    assert np.array_equal(design.run(x, integers=True), n)  # floats are real numbers, whatever comes back
    assert np.array_equal(design.run([[1, 2, 3, 4]]), design.run([[1.0, 2.0, 3.0, 4.0]]))  # integers are, too
    assert np.array_equal(design.run([np.inf, -np.inf, 0, 0]), design.run([1000, -1000, 0, 0]))


def test_shapes(design: mase_hw.CompiledDesign) -> None:
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    y = design.run(x)
    assert design.run(x[0]).shape == (2,)
    assert np.array_equal(design.run(x[0]), y[0])
    assert np.array_equal(design.run(torch.from_numpy(x).requires_grad_()), y)
    assert np.array_equal(design.run(x.tolist()), y)


def test_refusals(design: mase_hw.CompiledDesign) -> None:
    assert refused(design, np.zeros((3, 5))).startswith("error: x has the shape (3, 5), one sample has (4,)")
    assert refused(design, np.zeros((0, 4))).startswith("error: x has the shape (0, 4)")
    assert refused(design, 3.0).startswith("error: x has the shape ()")
    assert refused(design, [np.nan, 0, 0, 0]).startswith("error: x holds NaN")
    assert refused(design, ["a", "b", "c", "d"]).startswith("error: x is of <U1")
    assert refused(design, [[1, 2], [3]]).startswith("error: x is no array")
    said = refused(design, [128, 0, 0, 0], integers=True)
    assert said.startswith("error: x: 0..128 are not all integers of fixed(8, 4)\n  hint: -128 to 127")
    with pytest.raises(mase_hw.ProblemsError, match='stall = "nonne" is no stall pattern'):
        design.simulate([0, 0, 0, 0], stall="nonne")
    with pytest.raises(mase_hw.ProblemsError, match='engine = "naive" is unknown'):
        design.simulate([0, 0, 0, 0], engine="naive")  # type: ignore[arg-type]


def test_order_of_elements() -> None:
    """A stream may carry the elements in another order than the model's tensors."""

    class Turned(nn.Module):
        input_shape = (2, 3, 2)

        def __init__(self, matrix: bool) -> None:
            super().__init__()
            self.fc = nn.Linear(12, 2) if matrix else nn.ReLU()

        def forward(self, x: Tensor) -> Tensor:
            return self.fc(torch.flatten(x, 1))

    for matrix in (True, False):
        entries = {"linear": {"config": types()}} if matrix else {"relu": {"config": types()}}
        if not matrix:
            entries["relu"]["config"] = {"name": "integer", "data_in_width": 8, "data_in_frac_width": 4}
        design = mase_hw.compile(Turned(matrix), {"passes": {"quantize": {"by": "type", **entries}}})
        order = design._prepared.compiled.layers.input.order
        assert order is not None
        assert sorted(order) != list(order)
        x = np.random.default_rng(2).normal(size=(5, 2, 3, 2)).astype(np.float32)
        with torch.no_grad():
            expected = design.graph.model(torch.from_numpy(x)).numpy()
        assert np.array_equal(design.run(x), expected.reshape(5, -1))
        assert np.array_equal(design.run(x.reshape(5, 12)), design.run(x))
        assert np.array_equal(design.run(x[0]), expected[0].ravel())


@pytest.mark.slow
def test_rtl(design: mase_hw.CompiledDesign, tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(40, 4)) * 4
    expected = design.run(x)
    hidden = design.simulate(x)
    assert np.array_equal(hidden, expected)
    assert np.array_equal(design.simulate(x[0], integers=True, stall="none"), design.run(x[0], integers=True))
    assert np.array_equal(design.simulate(x[:3], engine="cocotb"), expected[:3])
    build = design.emit(tmp_path / "net")
    file = build.path / "rtl" / f"{design.name}_fc2.sv"
    text = file.read_text("utf-8")
    file.write_text(with_offset(text, 1), encoding="utf-8")
    with pytest.raises(mase_hw.SimulationError, match=r"expected .*, got ") as found:
        design.simulate(x)
    assert not found.value.outcome.passed
    assert "vector 0 element" in str(found.value)
    file.write_text(text, encoding="utf-8")
    assert np.array_equal(design.simulate(x), expected)
    file.unlink()
    with pytest.raises(mase_hw.ProblemsError, match="is missing"):
        design.simulate(x)


@pytest.mark.slow
def test_prove_and_synth(tmp_path: Path) -> None:
    design = mase_hw.compile(seeded(), config())
    build = design.emit(tmp_path / "net")
    proof = design.prove()
    assert proof.proved
    count = len(proof.claims)
    assert repr(proof) == f"<proof: {count} of {count} claims proved>"
    shown = proof._repr_html_()
    assert shown.startswith(f"<div><b>{count} of {count}</b> claims proved, for every input</div>")
    assert shown.count("<td>proved</td>") == count
    assert f'<td style="text-align:left">{proof.claims[0].method}</td>' in shown
    assert len(repr(design.build)) < 200
    assert (build.path / "certificate.json").is_file()
    report = design.synth("generic", flat=True)
    assert report["top"] == design.name
    assert report["total"]["ff"] > 0
    assert (build.path / "report" / "synth-generic.json").is_file()
    page = design.report()
    assert page == build.path / "report" / "index.html"
    assert design.name in page.read_text("utf-8")


def test_design_html(design: mase_hw.CompiledDesign) -> None:
    html = design._repr_html_()
    svg = html[html.index("<svg") : html.index("</svg>") + 6]
    ElementTree.fromstring(svg)  # well formed
    assert svg.count("<rect") == len(design.hardware.components) + 2
    for node in design.hardware.nodes:
        assert f"<td>{node.name}</td><td>{node.op}</td>" in html
    assert f"interval {design.interval}, latency {design.latency}" in html
    graph = design.graph._repr_html_()
    assert "<td>fc1</td><td>linear</td><td>x</td><td>(3,)</td><td>data_in_0 8.4, weight 8.4, bias 8.4</td>" in graph


def test_a_mistake_in_a_notebook_is_shown_as_on_the_command_line() -> None:
    """IPython asks an exception for `_render_traceback_` before it makes a traceback of its own."""
    with pytest.raises(mase_hw.ProblemsError) as found:
        mase_hw.compile(seeded(), {"hardware": {"target_intervall": 4}})
    lines = found.value._render_traceback_()
    assert lines[:2] == [
        "config: error: hardware: unknown key target_intervall",
        "  hint: did you mean target_interval?",
    ]


def test_plain_graph_html() -> None:
    assert "<td>act</td><td>relu</td>" in mase_hw.MaseGraph(seeded())._repr_html_()


def test_everything_is_escaped() -> None:
    evil = "<script>&\"'"
    assert "<script>" not in table([evil], [[evil]])
    box = Box(0, 0, 9, 9, "end", (evil, evil), evil)
    svg = diagram_svg(Diagram(9, 9, (box,), (Wire("M0 0H9", 1, 4, 4, "middle", evil, evil, evil),)))
    ElementTree.fromstring(svg)
    assert "<script>" not in svg
