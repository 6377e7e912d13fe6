"""The AXI4-Stream top is proved, and whatever is changed in it is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import write_rtl
from test_prove_pipes import DESIGNS as PIPES
from test_prove_streams import DESIGNS as STREAMS

from mase_hw.emit.axis import axis_top, render_axis
from mase_hw.ir import Design
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate_around
from mase_hw.prove.prove import claim_axis

DESIGNS: dict[str, Callable[[], Design]] = {
    "two beats in, one out": STREAMS["folded 2 x 3"],
    "one beat in, two out": STREAMS["scatter"],
    "four beats in, three out": STREAMS["folded 1 x 1"],
    "one beat in, one out": PIPES["cast"],
}


def prove_top(design: Design, folder: Path, change: tuple[str, str] = ("", "")) -> Claim:
    axis, files = axis_top(design), write_rtl(design, folder)
    text = render_axis(design)[axis.file]
    assert change == ("", "") or text.count(change[0]) == 1, text
    files.append(folder / axis.file)
    files[-1].write_text(text.replace(*change) if change[0] else text)
    return claim_axis(design, axis, elaborate_around(files, axis.module, design.name))


@pytest.mark.parametrize("name", DESIGNS)
def test_the_axis_top_is_proved(name: str, tmp_path: Path) -> None:
    design = DESIGNS[name]()
    found = prove_top(design, tmp_path)
    assert (found.component, found.about, found.status) == ("net_axis", "axis", "proved"), found.detail
    assert f"s_axis has {design.input.beats}, m_axis has {design.output.beats}" in found.method


# What is changed in the top of "four beats in, three out", and what is said of it.
WRONG = {
    "a lane too high": ("s_axis_tdata[lane * 8 +: 6]", "s_axis_tdata[lane * 8 + 1 +: 6]", "gives to the design"),
    "an input inverted": ("= s_axis_tdata[lane * 8 +: 6]", "= ~s_axis_tdata[lane * 8 +: 6]", "gives to the design"),
    "no sign": ("{2{out_data[lane * 6 + 5]}}", "{2{1'b0}}", "data of m_axis"),
    "bits in another order": ("= out_data[lane * 6 +: 6]", "= {out_data[0], out_data[5:1]}", "data of m_axis"),
    "reset not inverted": (".rst(!aresetn)", ".rst(aresetn)", "rst of the design"),
    "a clock of its own": (".clk(aclk)", ".clk(!aclk)", "clock"),
    "taken in reset": ("in_ready && aresetn", "in_ready", "s_axis_tready"),
    "offered in reset": ("out_valid && aresetn", "out_valid", "m_axis_tvalid"),
    "ready waits for valid": (
        "in_ready && aresetn", "in_ready && aresetn && s_axis_tvalid",
        "depends on something else",
    ),
    "valid waits for ready": ("out_valid && aresetn", "out_valid && aresetn && m_axis_tready", "depends on something"),
    "a beat is hidden": ("_valid(s_axis_tvalid)", "_valid(s_axis_tvalid && !s_axis_tlast)", "valid of s_axis"),
    "a beat is given twice": ("_ready(m_axis_tready)", "_ready(m_axis_tready && out_valid)", "ready of m_axis"),
    "last too early": ("out_last = out_beat == 2'd2", "out_last = out_beat == 2'd1", "TLAST of m_axis"),
    "never last": ("m_axis_tlast = out_last", "m_axis_tlast = 1'b0", "TLAST of m_axis"),
    "last counts on": ("out_beat <= out_last ? 2'd0 :", "out_beat <=", "TLAST of m_axis"),
    "last counts what waits": ("else if (out_fire)", "else if (m_axis_tvalid)", "TLAST of m_axis"),
    "last is not reset": ("if (!aresetn) out_beat <= 2'd0;\n    else if (out_fire)", "if (out_fire)", "something else"),
    "an error that is none": ("s_axis_tlast != in_last", "s_axis_tlast", "TLAST of s_axis is wrong"),
    "an error that waits": ("in_fire && s_axis_tlast", "s_axis_tvalid && s_axis_tlast", "TLAST of s_axis is wrong"),
    "an error is forgotten": (
        "16'd0;\n    end else if",
        "16'd0;\n    end else if (in_last) begin\n      tlast_error <= 1'b0;\n    end else if",
        "kept until reset",
    ),
    "errors are counted twice": ("tlast_error_count + 16'd1", "tlast_error_count + 16'd2", "one by one"),
    "errors wrap": ("if (tlast_error_count != 16'hffff) tlast_error_count", "tlast_error_count", "one by one"),
    "errors stop early": ("!= 16'hffff", "!= 16'h7fff", "one by one"),
    "a count is not reset": ("      tlast_error_count <= 16'd0;\n", "", "one by one"),
    "a falling edge": (
        "always @(posedge aclk) begin\n    if (!aresetn) out_beat",
        "always @(negedge aclk) begin\n    if (!aresetn) out_beat",
        "rising edge",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_axis_top_is_not_proved(name: str, tmp_path: Path) -> None:
    old, new, says = WRONG[name]
    found = prove_top(DESIGNS["four beats in, three out"](), tmp_path, (old, new))
    assert found.status != "proved"
    assert says in found.detail
