"""Texts of known words that say what we never write: other clocks, other assignments, other places."""

from __future__ import annotations

import pytest
from attacks import AXIS, CHECK, END, FOLDED, LAYER, SKID, TOP, Attack, more
from designs import joined_files
from refusing import refused

from mase_hw.diagnostics import ProblemsError
from mase_hw.language import check_language

CLOCKS: dict[str, Attack] = {
    "another clock": (LAYER, "@(posedge clk)", "@(posedge enable)", "registers move with `@(posedge clk)`"),
    "a clock that is computed": (LAYER, "@(posedge clk)", "@(posedge (clk && enable))", "registers move with"),
    "two clocks": (LAYER, "@(posedge clk)", "@(posedge clk, posedge rst)", "not with `@(posedge clk, posedge rst)`"),
    "no edge": (LAYER, "@(posedge clk)", "@(clk)", "registers move with"),
    "a condition at the clock": (LAYER, "@(posedge clk)", "@(posedge clk iff enable)", "registers move with"),
    "every change": (LAYER, "@(posedge clk)", "@(*)", "closes another bracket"),
    "no clock": (LAYER, "always_ff @(posedge clk) begin", "always_ff begin", "without a clock"),
    "an incomplete list of signals": (AXIS, "always @(posedge aclk) begin", "always @(aclk) begin", "registers move"),
    "a clock in a block": (
        LAYER,
        "    if (enable) begin",
        "    @(posedge clk) if (enable) begin",
        "in SequentialBlock",
    ),
    "the clock of a check": (CHECK, "@(posedge clk)", "@(posedge rst)", "a property has the clock"),
}

ASSIGNED: dict[str, Attack] = {
    "blocking in a clocked block": (
        SKID,
        "if (in_fire) skid_q <= data_in_0",
        "if (in_fire) skid_q = data_in_0",
        "AssignmentExpression in a clocked block",
    ),
    "not blocking in always_comb": (
        FOLDED,
        "full_d = full_q;",
        "full_d <= full_q;",
        "NonblockingAssignmentExpression is not",
    ),
    "not blocking in a function": (
        FOLDED,
        "    x = number",
        "    x <= number",
        "NonblockingAssignmentExpression is not",
    ),
    "a latch": (FOLDED, "    full_d = full_q;\n", "", "full_d is read before it is assigned"),
    "a latch of one branch": (FOLDED, "    full_d = full_q;", "    if (rst) full_d = full_q;", "full_d is read before"),
    "a latch of a name": more(LAYER, "logic u;\n always_comb begin if (enable) u = x0[0]; end", "which is a latch"),
    "a value of before": more(LAYER, "logic u, v;\n always_comb begin u = v; v = x0[0]; end", "v is read before it is"),
    "a case without default": (FOLDED, "      default: row = '0;\n", "", "a case ends with its default"),
    "an increment": more(LAYER, "logic [3:0] u;\n always_ff @(posedge clk) begin u++; end", "PostincrementExpression"),
    "a sum in place": more(LAYER, "logic [3:0] u;\n always_comb begin u += 4'd1; end", "AddAssignmentExpression"),
    "an assignment in an expression": more(LAYER, "logic u, v; assign u = (v = x0[0]);", "AssignmentExpression in"),
    "an assignment by a list": more(
        LAYER, "logic u, v; assign {u, v} = x0[1:0];", "ConcatenationExpression is assigned"
    ),
    "several in one": more(LAYER, "logic u, v; assign u = x0[0], v = x0[1];", "an assign drives one signal"),
    "a delay": more(LAYER, "logic u; assign #5 u = x0[0];", "DelayControl"),
    "a delay within": (LAYER, "    if (enable) begin", "    #5 if (enable) begin", "TimingControlStatement in"),
    "an initial value": more(LAYER, "logic [7:0] u = x0;", "u has an initial value"),
    "an initial constant": (
        SKID,
        "logic out_valid_q, skid_valid_q;",
        "logic out_valid_q = 1'b1, skid_valid_q;",
        "out_valid_q has an initial value",
    ),
    "an initial value at a port": (LAYER, "input  logic rst", "input  logic rst = 1'b0", "rst has an initial value"),
    "an initial table": more(LAYER, "logic [1:0] u[2] = '{2'd0, 2'd1};", "u has an initial value"),
    "a function that looks around": (
        FOLDED,
        "    x = number",
        "    x = number ^ {6{rst}}",
        "uses rst, which is not its own",
    ),
    "a function that calls": (FOLDED, "    x = number", "    x = times_m2_1(digit, number)", "which is not its own"),
    "a function that returns early": (FOLDED, "    x = number", "    return '0;\n    x = number", "returns at its end"),
    "a function with an output": (FOLDED, "(input logic", "(output logic", "arguments of a function are inputs"),
    "a function that remembers": (FOLDED, "    logic [5:0] x;", "    logic [5:0] x = 6'd0;", "x has an initial value"),
    "a static value": (FOLDED, "function automatic", "function", "a function is automatic"),
}

PLACES: dict[str, Attack] = {
    "a second module": (LAYER, "endmodule\n", "endmodule\nmodule other; endmodule\n", "one module and nothing else"),
    "another module": (LAYER, "module residual_layer", "module residual_other", "is not named as its file"),
    "a declaration outside": (
        LAYER,
        "// SPDX",
        "localparam int unsigned A = 1;\n// SPDX",
        "one module and nothing else",
    ),
    "a module in a module": more(LAYER, "module inner; endmodule", "ModuleDeclaration in ModuleDeclaration"),
    "a name in another module": more(LAYER, "logic u; assign u = u_y0.sum[0];", "ScopedName"),
    "a name in the top": more(LAYER, "logic u; assign u = residual.rst;", "ScopedName"),
    "a driver in another module": more(TOP, "assign u_layer.x0 = 8'd0;", "ScopedName"),
    "ports in order": more(LAYER, "mase_requantize u_more (x0, x1);", "OrderedPortConnection"),
    "all ports": (SKID, END, "\n  mase_skid_buffer u_more (.clk, .rst());" + END, "is left open"),
    "several instances": more(LAYER, "mase_requantize u_a (.n_i(x0)), u_b (.n_i(x1));", "a statement of its own"),
    "an array of instances": more(LAYER, "mase_requantize u_a[2] (.n_i(x0));", "in InstanceName"),
    "parameters in order": more(LAYER, "mase_requantize #(8) u_a (.n_i(x0));", "OrderedParamAssignment"),
    "an old head": (
        LAYER,
        "module residual_layer (\n",
        "module residual_layer (a);\n input logic a;\n (\n",
        "expected",
    ),
    "a block that chooses": more(
        LAYER, "case (1) 1: begin : g logic u; end default: begin end endcase", "CaseGenerate"
    ),
    "a loop in a loop": more(
        LAYER,
        "for (genvar i = 0; i < 2; i++) begin : g\n for (genvar j = 0; j < 2; j++) begin : h logic u; end end",
        "LoopGenerate in GenerateBlock",
    ),
    "a branch without a block": more(LAYER, "logic u;\n if (1'b1) assign u = x0[0];", "ContinuousAssign in IfGenerate"),
    "a type of a type": more(
        LAYER, "typedef logic [7:0] a_t; a_t u; assign u = a_t'(x0);\n typedef a_t b_t;", "in Typedef"
    ),
    "an attribute": (LAYER, "(* keep *)", "(* keep, blackbox *)", "the attribute blackbox"),
    "an attribute of a tool": (LAYER, "(* keep *)", "(* anyconst *)", "the attribute anyconst"),
    "a value of an attribute": (FOLDED, '"distributed"', '"auto"', 'ram_style = "auto"'),
    "keep with a value": (LAYER, "(* keep *)", "(* keep = 0 *)", "keep = 0"),
    "an attribute of a statement": (LAYER, "    if (enable)", "    (* keep *) if (enable)", "AttributeInstance in"),
    "an attribute of a module": (
        LAYER,
        "module residual_layer",
        "(* keep *) module residual_layer",
        "AttributeInstance in",
    ),
    "an attribute of an instance": (
        TOP,
        "  residual_layer u_layer",
        "  (* keep *) residual_layer u_layer",
        "AttributeIns",
    ),
    "a check that always ends": more(LAYER, '$fatal(1, "never");', "ElabSystemTask in ModuleDeclaration"),
    "a print at elaboration": more(LAYER, 'if (1) begin : g $error("no"); end', "$error is not in the language here"),
    "a check with more": (
        SKID,
        "begin : gen_bad_width\n",
        "begin : gen_bad_width\n    logic u;\n",
        "a check of parameters stands alone",
    ),
    "an assertion": more(
        LAYER, "assert property (@(posedge clk) enable);", "assertions are in mase_stream_check alone"
    ),
    "stable outside of a check": more(LAYER, "logic u; assign u = $stable(x0);", "$stable is not in the language here"),
    "an error in a block": more(LAYER, 'always_ff @(posedge clk) begin $error("x"); end', "in a clocked block"),
    "a string as a number": more(LAYER, 'logic [7:0] u; assign u = "a";', "StringLiteralExpression in"),
    "an operator in place": more(LAYER, "logic u; assign u = x0[0] |=> x0[1];", "expected"),
    "a property as a port": (
        TOP,
        ".data_in_0(copies_out_0)",
        ".data_in_0(@(posedge clk) copies_out_0)",
        "ClockingSequenceExpr",
    ),
}

CHECKS: dict[str, Attack] = {
    "logic only in simulation": more(
        TOP,
        "if (CheckStreams) begin : g assign layer_out = 24'd0; end",
        "instances of mase_stream_check, and nothing",
    ),
    "logic only in hardware": (TOP, "if (CheckStreams) begin", "if (!CheckStreams) begin", "a condition by itself"),
    "otherwise": more(
        TOP,
        "if (CheckStreams) begin : g end else begin : h assign layer_out = 24'd0; end",
        "without an else",
    ),
    "under another name": more(TOP, "localparam bit Other = CheckStreams;", "CheckStreams is for checks alone"),
    "as a value": more(TOP, "logic u; assign u = CheckStreams;", "CheckStreams is for checks alone"),
    "as a bit": more(TOP, "logic u; assign u = CheckStreams[0];", "CheckStreams is for checks alone"),
    "as another parameter": (TOP, ".ClampHi(1'b1)", ".ClampHi(CheckStreams)", "CheckStreams is for checks alone"),
    "as a port": (
        TOP,
        "residual_layer u_layer (\n",
        "residual_layer u_layer (\n    .CheckStreams,\n",
        "for checks alone",
    ),
    "a port of that name": (
        LAYER,
        "input  logic rst",
        "input  logic CheckStreams,\n  input logic rst",
        "is a parameter",
    ),
    "high from the start": (TOP, "CheckStreams = 1'b0", "CheckStreams = 1'b1", "is 0 unless"),
    "a check that drives": (CHECK, "input logic             ready", "output logic ready", "drives nothing"),
    "a check without a switch": more(TOP, "mase_stream_check u_c (.clk, .rst);", "is only there with CheckStreams"),
}

DRIVEN: dict[str, Attack] = {
    "an input": more(LAYER, "assign data_in_0[3] = 1'b1;", "data_in_0 is an input of residual_layer, and is driven"),
    "the reset": more(LAYER, "always_ff @(posedge clk) begin rst <= 1'b0; end", "rst is an input of residual_layer"),
    "an input by an instance": (
        TOP,
        ".data_out_0(layer_out),",
        ".data_out_0(data_in_0[23:0]),",
        "data_in_0 is read only",
    ),
    "no signal": (TOP, ".data_out_0(layer_out),", ".data_out_0({layer_out[23:1], 1'b0}),", "it is no signal"),
    "a module in itself": more(LAYER, "residual_layer u_inner (.clk);", "it holds itself"),
    "a module in itself, around": more(LAYER, "residual u_inner (.clk);", "it holds itself"),
}
TREES = {
    f"{group}: {name}": attack
    for group, attacks in (("clock", CLOCKS), ("assigned", ASSIGNED), ("place", PLACES), ("check", CHECKS))
    for name, attack in attacks.items()
}


@pytest.mark.parametrize("name", TREES)
def test_what_we_never_write_is_refused_at_its_line(name: str) -> None:
    refused(TREES[name])


@pytest.mark.parametrize("name", DRIVEN)
def test_what_is_for_reading_is_not_driven(name: str) -> None:
    if "itself" not in name:
        refused(DRIVEN[name])
        return
    file, old, new, says = DRIVEN[name]
    files, top = joined_files()
    with pytest.raises(ProblemsError, match=says):
        check_language({**files, file: files[file].replace(old.encode(), new.encode(), 1)}, top)


def test_a_module_of_a_bench_is_refused() -> None:
    files, top = joined_files()
    more_files = {"mase_stream_probe.sv": b"module mase_stream_probe;\nendmodule\n"}
    with pytest.raises(ProblemsError, match="mase_stream_probe is a module of test benches"):
        check_language(files | more_files, top)


def test_another_kind_of_file_is_refused() -> None:
    files, top = joined_files()
    with pytest.raises(ProblemsError, match=r"pyosys.py: its name does not end in .sv or .v"):
        check_language(files | {"pyosys.py": b"\n"}, top)
