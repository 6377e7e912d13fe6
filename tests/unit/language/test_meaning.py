"""Designs whose files are each in the language, and which mean something else than they say."""

from __future__ import annotations

import pytest
from attacks import AXIS, END, FOLDED, LAYER, SKID, TOP, Attack, more
from designs import joined_files
from refusing import refused

from mase_hw.diagnostics import ProblemsError
from mase_hw.language import allowed, check_language

MEANINGS: dict[str, Attack] = {
    "a signal assigned twice": more(LAYER, "assign n0_sum = 8'd0;", "MultipleContAssigns"),
    "a kept sum assigned twice, in part": more(LAYER, "assign n0_sum[2] = 1'b0;", "MultipleContAssigns"),
    "an output of the top assigned": more(TOP, "assign data_out_0[0] = 1'b1;", "MultipleContAssigns"),
    "a stream of the top assigned": more(TOP, "assign layer_out = 24'd0;", "MultipleContAssigns"),
    "a register in the top": more(
        TOP,
        "always_ff @(posedge clk) begin layer_out <= 24'd0; end",
        "assign",  # both an instance and a register drive
    ),
    "a register loaded in two blocks": more(
        SKID,
        "always_ff @(posedge clk) begin if (in_fire) out_valid_q <= 1'b0; end",
        "MultipleAlwaysAssigns",
    ),
    "a register that is assigned too": more(SKID, "assign out_valid_q = 1'b1;", "out_valid_q"),
    "two instances on one signal": (
        TOP,
        ".data_out_0(straight_out),",
        ".data_out_0(layer_out),",
        "MultipleContAssigns",
    ),
    "a memory written twice": more(
        "mase_fifo.sv",
        "always_ff @(posedge clk) begin memory[0] <= data_in_0; end",
        "MultipleAlwaysAssigns",
    ),
    "a net with two drivers": more(AXIS, "assign in_fire = 1'b0;", "bit 0 of in_fire has two drivers"),
    "a part of a net with two drivers": more(AXIS, "assign in_data[5:3] = 3'd0;", "bit 3 of in_data has two drivers"),
    "an output net with two drivers": more(AXIS, "assign m_axis_tdata[0] = 1'b0;", "bit 0 of m_axis_tdata has two"),
    "a net that an instance drives": more(AXIS, "assign out_valid = 1'b1;", "bit 0 of out_valid has two drivers"),
    "a name that is not declared": more(LAYER, "assign undeclared = x0[0];", "ImplicitNet"),
    "a name that is not declared, at a port": (TOP, "(layer_enable)", "(layer_enabled)", "ImplicitNet"),
    "a name of nothing": (LAYER, "= 8'({~x3[7:2]}) + 8'(x3)", "= 8'({~x3[7:2]}) + 8'(x9)", "UndeclaredIdentifier"),
    "an index out of range": (LAYER, "{n0_sum, ~x3[1:0]}", "{n0_sum, ~x3[9:8]}", "RangeOOB"),
    "a row out of range": (FOLDED, "Starts[0]", "Starts[7]", "IndexOOB"),
    "a port that is not connected": (TOP, "    .enable(layer_enable),\n", "", "UnconnectedInputPort"),
    "a port that there is not": (TOP, ".enable(layer_enable)", ".enable(layer_enable), .more(rst)", "PortDoesNotExist"),
    "a port twice": (TOP, ".enable(layer_enable)", ".enable(layer_enable), .enable(rst)", "DuplicatePortConnection"),
    "a port that is too narrow": (TOP, ".enable(layer_enable)", ".enable(layer_out)", "PortWidthTruncate"),
    "a parameter that there is not": (TOP, ".Lanes(4)", ".Lanes(4), .More(1)", "ParameterDoesNotExist"),
    "a module that there is not": (
        TOP,
        "residual_layer u_layer",
        "residual_lair u_layer",
        "there is no module residual_lair",
    ),
    "a width that changes": (LAYER, "assign n0 = {n0_sum", "assign n0 = {1'b0, n0_sum", "WidthTruncate"),
    "a case that is there twice": (FOLDED, "      2'd1:", "      2'd3:", "CaseDup"),
    "a name declared twice": more(LAYER, "logic [7:0] x0;", "Redefinition"),
    "a table that is written": (FOLDED, "x0_q <= word;", "x0_q <= word;\n      Weights0[0] <= 24'd0;", "Weights0"),
    "a large signal": more(LAYER, "logic [1000000:0] u[100];", "u has more than"),
    "a loop that goes on": more(
        LAYER,
        "for (genvar i = 0; i < 1000000; i++) begin : g\n    logic u;\n  end",
        "MaxGenerateStepsExceeded",
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_what_the_design_means_is_refused_at_its_line(name: str) -> None:
    refused(MEANINGS[name])


def test_a_bad_parameter_is_refused_where_it_is_checked() -> None:
    files, top = joined_files()
    with pytest.raises(ProblemsError, match=r"mase_cast.sv:34: error: .*mase_cast: Lanes = 0 is below 1"):
        check_language({**files, TOP: files[TOP].replace(b".Lanes(4)", b".Lanes(0)", 1)}, top)


def test_a_module_that_nothing_holds_is_refused() -> None:
    files, top = joined_files()
    with pytest.raises(
        ProblemsError, match="nothing holds the modules other, residual_axis; there must be residual_axis"
    ):
        check_language(files | {"other.sv": b"module other;\nendmodule\n"}, top)


def test_the_top_is_the_one_of_the_manifest() -> None:
    files, _ = joined_files()
    with pytest.raises(ProblemsError, match="nothing holds the modules residual_axis; there must be residual alone"):
        check_language(files, "residual")


def tower(levels: int, copies: int) -> dict[str, bytes]:
    """Modules of which each holds the next `copies` times."""
    texts = {}
    for k in range(levels):
        inner = "".join(f"  m{k + 1} u_{n} (.clk);\n" for n in range(copies)) if k < levels - 1 else ""
        texts[f"m{k}.sv"] = f"module m{k} (\n  input logic clk\n);\n{inner}endmodule\n".encode()
    return texts


def test_modules_in_modules_end_somewhere() -> None:
    with pytest.raises(ProblemsError, match="more than 6 modules hold one another"):
        check_language(tower(9, 1), "m0")
    with pytest.raises(ProblemsError, match="more than 6 modules hold one another"):
        check_language(tower(40, 2), "m0")


def test_a_design_of_countless_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowed, "MAX_SYMBOLS", 1000)
    with pytest.raises(ProblemsError, match="the design has more than 1,000 names"):
        check_language(tower(5, 30), "m0")


def test_only_the_first_problems_are_listed() -> None:
    files, top = joined_files()
    text = files[LAYER].replace(END.encode(), b"".join(b"\n  initial;" for _ in range(30)) + END.encode())
    many = files[LAYER].replace(b"(* keep *)", b"(* keeps *)")
    with pytest.raises(ProblemsError) as error:
        check_language({**files, LAYER: many}, top)
    assert len(error.value.problems) == 11
    assert "more places are outside of the language" in error.value.problems[-1].message
    with pytest.raises(ProblemsError) as error:
        check_language({**files, LAYER: text}, top)
    assert len(error.value.problems) == 1  # a word is told once
