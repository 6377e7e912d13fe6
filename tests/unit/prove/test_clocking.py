"""Nothing is proved of RTL that the arguments are not about: other clocks, other edges, loops, what has no value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_prove_pipes import DESIGNS as PIPES
from test_prove_pipes import HALF, claim, design_of, fc, prove
from test_prove_streams import DESIGNS, skid_of

from mase_hw.diagnostics import ProblemsError

FIRST = "always_ff @(posedge clk) begin\n    if (enable)"
HOLDS = "always_ff @(posedge clk) begin\n    if (enable) y_q <= y;\n  end"
MUX = "assign data_out_0 = out_q;"
OTHER = {
    "the falling edge": ("cast", ("mase_cast.sv", FIRST, FIRST.replace("pos", "neg")), "rising edge of clk"),
    "a clock of data": ("cast", ("mase_cast.sv", FIRST, FIRST.replace("clk", "data_in_0[0]")), "rising edge of clk"),
    "the clock as data": ("cast", ("mase_cast.sv", "y_q <= y;", "y_q <= y ^ $bits(y)'(clk);"), "used as data"),
    "a latch": ("cast", ("mase_cast.sv", HOLDS, "always_latch if (enable) y_q = y;"), "$dlatch is not understood"),
    "a wider port": (
        "gather",
        ("mase_gather.sv", "[      Width-1:0] data_in_0,", "[Width:0] data_in_0,"),
        "data_in_0 has ",
    ),
    "an asynchronous reset": (
        "skid buffer",
        skid_of("@(posedge clk) begin\n    if (rst)", "@(posedge clk or posedge rst) begin\n    if (rst)"),
        "is not understood",
    ),
    "a memory, the falling edge": (
        "FIFO",
        ("mase_fifo.sv", "@(posedge clk) begin\n    if (in_fire)", "@(negedge clk) begin\n    if (in_fire)"),
        "rising edge of clk",
    ),
}


@pytest.mark.parametrize("name", OTHER)
def test_nothing_is_said_of_another_kind_of_netlist(name: str, tmp_path: Path) -> None:
    key, change, why = OTHER[name]
    design = {**PIPES, **DESIGNS}[key]()
    proof = prove(design, tmp_path, change)
    component = design.components[0].name
    for about in ("timing", "handshake", "values"):
        found = claim(proof, component, about)
        assert found.status == "open"
        assert why in found.detail


def test_a_loop_without_a_register_is_not_read(tmp_path: Path) -> None:
    """Yosys' own check speaks first."""
    loop = "logic l;\n  assign l = !l;\n  assign x = data_in_0 ^ $bits(x)'(l);"
    with pytest.raises(ProblemsError, match="Found 1 problems in 'check -assert'"):
        prove(PIPES["cast"](), tmp_path, ("mase_cast.sv", "assign x = data_in_0;", loop))


WITHIN = {
    "ready": ("skid buffer", skid_of(MUX, MUX.replace("out_q", "data_out_0_ready ? ~out_q : out_q"))),
    "valid": ("skid buffer", skid_of(MUX, MUX.replace("out_q", "data_in_0_valid ? '0 : out_q"))),
    "both": ("skid buffer", skid_of(MUX, MUX.replace("out_q", "data_in_0_valid && data_out_0_ready ? '0 : out_q"))),
}


@pytest.mark.parametrize("name", WITHIN)
def test_an_output_that_changes_with_the_handshake_is_refuted(name: str, tmp_path: Path) -> None:
    """It is right in every state as long as nothing is offered and nothing taken."""
    key, change = WITHIN[name]
    found = claim(prove(DESIGNS[key](), tmp_path, change), "skid", "values")
    assert found.status == "refuted"
    assert "a run on numbers gives" in found.detail


WIDER = {
    "beside ready": "{data_in_0_valid, data_out_0_ready} || !data_out_0_valid;",
    "beside valid": "data_out_0_ready || {data_in_0_valid, !data_out_0_valid};",
}


@pytest.mark.parametrize("name", WIDER)
def test_an_enable_with_one_more_bit_is_refuted(name: str, tmp_path: Path) -> None:
    change = ("net.sv", "data_out_0_ready || !data_out_0_valid;", WIDER[name])
    assert claim(prove(PIPES["cast"](), tmp_path, change), "net", "wiring").status == "refuted"


@pytest.mark.parametrize(("place", "status"), [(4, "proved"), (31, "open")])
def test_a_select_beyond_the_bits_has_no_value(place: int, status: str, tmp_path: Path) -> None:
    """Some tools give zeros for it, which would change nothing here; others do not."""
    lines = (
        f"logic [4:0] at;\n  assign at = out_valid_q ? 5'd{place} : 5'd0;\n  logic [Width+3:0] wide;\n  "
        f"assign wide = {{out_q, 4'b0}};\n  assign data_out_0 = wide[at+:Width] | out_q;"
    )
    found = claim(prove(DESIGNS["skid buffer"](), tmp_path, skid_of(MUX, lines)), "skid", "values")
    assert found.status == status


def test_a_memory_in_a_pipe_that_does_not_hold_is_not_proved(tmp_path: Path) -> None:
    """In place of the second of three registers: without stalls it does the same."""
    design = design_of(lambda x: replace(fc("fc", HALF, 1)(x), adders_per_stage=1), features=2)  # type: ignore[call-arg]
    register = "  always_ff @(posedge clk) begin\n    if (enable) begin\n      n2_q2 <= n2;\n    end\n  end\n"
    memory = "  logic [10:0] held[2];\n  always_ff @(posedge clk) held[0] <= n2;\n  assign n2_q2 = held[0];\n"
    found = claim(prove(design, tmp_path, ("net_fc.sv", register, memory)), "fc", "values")
    assert found.status == "refuted"
    assert "memory that is written" in found.detail
