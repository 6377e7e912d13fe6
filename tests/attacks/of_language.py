"""Text outside of the language: what tools read differently, what runs, what is no hardware. All of it is refused."""

from __future__ import annotations

from victims import Attack, Change, before, both, edit, within

TOP, FC, SKID = "net.sv", "net_fc1.sv", "mase_skid_buffer.sv"
OUT = "assign data_out_0 = {y1_q1, y0_q1};"
VALID = "assign data_out_0_valid = valid_q[0];"
WRONG = "assign data_out_0 = {y1_q1, ~y0_q1};"


def either(macro: str) -> Change:
    """Right where a macro is set, wrong elsewhere; and the other way round."""
    text = f"`ifdef {macro}\n  {OUT}\n`else\n  {WRONG}\n`endif"
    return edit(FC, OUT, text)


def unless(macro: str) -> Change:
    return edit(FC, OUT, f"`ifndef {macro}\n  {OUT}\n`else\n  {WRONG}\n`endif")


def hidden(start: str, end: str) -> Change:
    """Something that only those see who do not follow an order in a comment."""
    more = f"{start}\n  always_ff @(posedge clk) if (y0_q1[0]) y1_q1 <= '0;\n  {end}"
    return edit(FC, OUT, f"{OUT}\n  {more}")


def said(name: str, text: str, file: str = FC, victim: str = "pipes") -> Attack:
    """The text at the end of a module."""
    return Attack(name, victim, within(file, text), "refused")


def instead(name: str, old: str, new: str, file: str = FC, victim: str = "pipes") -> Attack:
    return Attack(name, victim, edit(file, old, new), "refused")


# What Verilator computes otherwise than slang and Yosys: one bit, of which the rest can be made to depend.
_DISAGREED = {
    "a cast of a constant without a size": "assign other = 8'(1'('1)) != 8'd1;",
    "a constant without a size in brackets": "assign other = 8'(1'((('1)))) != 8'd1;",
    "a constant without a size that is added": "assign other = (1'('1) + y0) == '0;",
    "a constant without a size as an index": "assign other = y0[1'('1)];",
    "a constant without a size that is repeated": "assign other = {1{'1}} == y0;",
    "shifts one after the other": "assign other = 1'(((y0 << y1[0]) << y1[0]) >> 1);",
    "shifts by a signal of two bits": "assign other = 1'((8'(y0) << y1[1:0]) << y1[1:0]);",
    "rows that are shifted": "logic [1:0][3:0] rows;\n  assign rows = {y1, y0};\n"
                             "  assign other = 4'(rows >> 5) == y0;",
    "some of the rows that are shifted": "logic [2:0][3:0] rows;\n  assign rows = {y1, y0, y1};\n"
                             "  assign other = 4'(rows[1:0] >> 5) == y0;",
    "rows that are cast": "logic [1:0][3:0] rows;\n  assign rows = {y1, y0};\n  assign other = 4'(rows) == y0;",
    "one of two rows that are shifted": "logic [1:0][3:0] rows;\n  assign rows = {y1, y0};\n"
                                        "  assign other = 4'((enable ? rows : rows) >> 5) == y0;",
    "a shift by a bit": "assign other = 1'(y0 << y1[0]);",
    "a shift by an argument": "assign other = f(enable, y0);\n"
                              "  function automatic logic f(input logic K, input logic [3:0] a);\n"
                              "    return 1'((a << K) << K);\n  endfunction\n  localparam int K = 1;",
    "a shift by a signal with the name of a loop": "assign other = 1'((y0 << enable) << enable);\n"
                              "  for (genvar enable = 0; enable < 1; enable++) begin : gen_k\n    logic k;\n"
                              "    assign k = rst;\n  end",
}  # fmt: skip
# Arguments of parameters: an expression takes the width of the parameter, or its own.
_ARGUMENTS = (
    "~8'd255", "-8'sd128", "-1'sh1", "-33'h100000000", "(31 << 1)", "$clog2(5) + 1", "1'b1 ? 4 : 5", "4'd15 + 4'd1",
    "{1'b0, 4'd5}", "(-8'sd3)", "'1", "'0", "unsigned'(-3)", "!1'b0", "4 * 2",
)  # fmt: skip
_PREFIXED = ("verilatorpublic_flat_rw", "verilator_config", "synthesisfull_case parallel_case", "SYNOPSYStranslate",
             "pragmatranslate")  # fmt: skip

_MACROS = ("SYNTHESIS", "__slang__", "YOSYS", "QUARTUS_SYNTHESIS")
_OTHER_MACROS = ("VERILATOR", "verilator3", "SIMULATION", "COCOTB_SIM", "XILINX_SIMULATOR")
_ORDERS = (
    ("// synthesis translate_off", "// synthesis translate_on"),
    ("// synopsys translate_off", "// synopsys translate_on"),
    ("// pragma translate_off", "// pragma translate_on"),
    ("/* synthesis translate_off */", "/* synthesis translate_on */"),
    ("//synthesis  translate_off", "//synthesis  translate_on"),
    ("// verilator lint_off MULTIDRIVEN", "// verilator lint_on MULTIDRIVEN"),
)
# What is written where a directive may stand.
_DIRECTIVES = {
    "a header of one's own": '`include "other.svh"',
    "a macro that is a keyword": "`define assign assign #1",
    "another default net": "`default_nettype tri1",
    "a time scale": "`timescale 1ns/1ps",
    "other line numbers": '`line 1 "other.sv" 0',
    "protected text": "`pragma protect begin",
    "undriven nets are pulled up": "`unconnected_drive pull1",
    "cells": "`celldefine",
    "other keywords": '`begin_keywords "1364-1995"',
    "all macros forgotten": "`undefineall",
    "orders for Verilator": '`verilator_config\nsplit_var -module "net" -var "fc1_out"',
    "a package": "package p;\n  localparam int K = 1;\nendpackage",
    "a declaration outside of modules": "localparam int Shared = 1;",
    "a function outside of modules": "function automatic int f(input int x);\n  return x;\nendfunction",
    "an interface": "interface i;\n  logic a;\nendinterface",
    "a class": "class c;\n  int a;\nendclass",
    "a program": "program p;\nendprogram",
    "a primitive": "primitive u(output o, input a);\n  table 0 : 1; 1 : 0; endtable\nendprimitive",
    "a configuration": "config c;\n  design net;\n  default liblist work;\nendconfig",
    "a bound module": "bind net mase_stream_check #(.Width(8)) u_b (.clk, .rst, .data(fc1_out), "
    ".valid(1'b1), .ready(1'b0));",
    "a function of another language": 'import "DPI-C" function int system(input string s);',
    "a type outside of modules": "typedef logic [3:0] nibble_t;",
}
# What is written in a module.
_STATEMENTS = {
    "an initial block": "  initial valid_q = 1'b1;",
    "a shell": '  initial $system("touch OUTSIDE/ran");',
    "a file that is written": '  integer f;\n  initial f = $fopen("OUTSIDE/ran", "w");',
    "memory from a file": '  logic [3:0] m[4];\n  initial $readmemh("/etc/passwd", m);',
    "a shell in another language": '  import "DPI-C" function int system(input string s);\n'
                                   '  initial void\'(system("touch OUTSIDE/ran"));',
    "the end of the simulation": "  always_ff @(posedge clk) if (&y0_q1) $finish;",
    "a signal that is forced": "  initial force y0_q1 = '0;",
    "a hierarchical name": "  assign u_y0.sum[0] = 1'b1;",
    "a name above": "  always_ff @(posedge net.clk) if (net.rst) y0_q1 <= '0;",
    "a delay": "  assign #5 unused_x = 1'b0;",
    "a plain always": "  always @(posedge clk) if (enable) y0_q1 <= y0;",
    "a falling edge": "  logic late_q;\n  always_ff @(negedge clk) late_q <= valid_q[0];",
    "an asynchronous reset": "  logic late_q;\n  always_ff @(posedge clk or posedge rst) if (rst) late_q <= 1'b0;\n"
                             "    else late_q <= enable;",
    "a latch": "  logic held;\n  always_latch if (enable) held = y0[0];",
    "a latch by what is left out": "  logic held;\n  always_comb if (enable) held = y0[0];",
    "a clock of its own": "  logic half_q, more_q;\n  always_ff @(posedge clk) half_q <= !half_q;\n"
                          "  always_ff @(posedge half_q) more_q <= enable;",
    "a gated clock": "  logic gated, more_q;\n  assign gated = clk && enable;\n"
                     "  always_ff @(posedge gated) more_q <= enable;",
    "tri-state": "  tri t;\n  assign t = enable ? 1'b1 : 1'bz;",
    "a wired and": "  wand w;\n  assign w = enable;\n  assign w = rst;",
    "a gate primitive": "  nand g(unused_g, enable, rst);",
    "a pull": "  wire p;\n  pullup u_p(p);",
    "a switch": "  tranif1 u_t(data_out_0_valid, data_in_0_valid, enable);",
    "aliased nets": "  wire a1, a2;\n  alias a1 = a2;",
    "an option of the simulator": '  logic o;\n  assign o = $test$plusargs("wrong");',
    "a random number": "  logic [31:0] r;\n  assign r = $urandom;",
    "the time": "  logic [63:0] t;\n  assign t = $time;",
    "an unknown": "  logic u;\n  assign u = 1'bx;",
    "a comparison with unknowns": "  logic u;\n  assign u = y0[0] === 1'bx;",
    "whether it is unknown": "  logic u;\n  assign u = $isunknown(y0);",
    "a case with don't cares": "  logic u;\n  always_comb casez (y0) 4'b1???: u = 1'b1; default: u = 1'b0; endcase",
    "a unique case": "  logic u;\n  always_comb unique case (1'b1) y0[0]: u = 1'b1; y0[1]: u = 1'b0; endcase",
    "an attribute of a case": "  logic u;\n  always_comb (* full_case, parallel_case *) case (y0)\n"
                              "    4'd1: u = 1'b1;\n  endcase",
    "an attribute of a tool": "  (* blackbox *) logic u;\n  assign u = enable;",
    "a static function": "  function logic f(input logic a);\n    static logic k;\n    k = k ^ a;\n    return k;\n"
                         "  endfunction\n  logic u;\n  assign u = f(enable);",
    "a loop for ever": "  logic u;\n  always_comb begin u = 1'b0; while (enable) u = !u; end",
    "a loop without a register": "  logic u, v;\n  assign u = v && enable;\n  assign v = !u;",
    "a real number": "  real r;\n  assign r = 0.1;",
    "a register with a first value": "  logic first_q = 1'b1;\n  always_ff @(posedge clk) first_q <= enable;",
    "a parameter from outside": "  defparam u_y0.Shift = 1;",
    "a module in a module": "  module inner; endmodule",
    "an instance that is not connected": "  mase_requantize u_more ();",
    "a division": "  logic [3:0] d;\n  assign d = y0 / 4'd3;",
    "a power": "  logic [3:0] d;\n  assign d = y0 ** 2;",
    "a stream operator": "  logic [3:0] d;\n  assign d = {<<{y0}};",
    "a name with an escape": "  logic \\data_out_0 ;",
    "a check that does something": "  assert property (@(posedge clk) 1'b1) else valid_q = '0;",
    "coverage": "  cover property (@(posedge clk) enable);",
    "a final block": '  final $display("done");',
    "timing of paths": "  specify\n    (clk => data_out_0_valid) = 10;\n  endspecify",
    "an exported function": "  export \"DPI-C\" function times;",
    "a let": "  let l(a) = a;",
    "a block comment": "  /* nothing */",
}  # fmt: skip

LANGUAGE = (
    *(Attack(f"right for {macro}", "pipes", either(macro), "refused") for macro in _MACROS),
    *(Attack(f"wrong for {macro}", "pipes", unless(macro), "refused") for macro in _OTHER_MACROS),
    *(Attack(f"order {k}: {start}", "pipes", hidden(start, end), "refused") for k, (start, end) in enumerate(_ORDERS)),
    *(Attack(name, "pipes", before(FC, text), "refused") for name, text in _DIRECTIVES.items()),
    *(said(name, text) for name, text in _STATEMENTS.items()),
    *(said(f"read otherwise: {name}", f"  logic other;\n  {text}") for name, text in _DISAGREED.items()),
    *(instead(f"an argument that is an expression, {k}", ".Width(8)\n  ) u_skid (", f".Width({text})\n  ) u_skid (",
              TOP, "streams") for k, text in enumerate(_ARGUMENTS)),
    *(said(f"an order without a space, {k}", f"  // {text}") for k, text in enumerate(_PREFIXED)),
    # The cases that were proved once.
    said(
        "two drivers: a counter through z",
        "  logic [7:0] rare_q;\n  always_ff @(posedge clk) rare_q <= rst ? '0 : rare_q + 8'd1;\n"
        "  assign data_out_0 = (&rare_q) ? 8'hff : 8'bz;", TOP,
    ),
    said("two drivers: a stream of the top", "  assign fc1_out = 8'hff;", TOP),
    said("two drivers: a kept sum", "  assign sum = '1;", "mase_requantize.sv"),
    said("two drivers: one bit of a register", "  always_ff @(posedge clk) if (enable) valid_q[0] <= 1'b1;"),
    said("two drivers: a port", "  assign data_in_0_ready = 1'b1;", TOP),
    instead("a list without a signal", "assign out_free = ", "always @(out_valid_q) out_free = ", SKID, "streams"),
    instead("blocking in a clocked block", "      y0_q1 <= y0;", "      y0_q1 = y0;"),
    instead(
        "a race of two clocked blocks", "      y0_q1 <= y0;\n      y1_q1 <= y1;",
        "      y0_q1 = y0;\n    end\n  end\n  always_ff @(posedge clk) begin\n"
        "    if (enable) begin\n      y1_q1 = y0_q1;",
    ),
    # Text that looks like other text.
    instead("a letter of another alphabet", VALID, VALID.replace("valid_q[0]", "vаlid_q[0]")),
    instead("a carriage return in a comment", VALID, f"// \r  {VALID}"),
    instead("a line that goes on", VALID, f"// \\\n  {VALID}"),
    instead("a form feed", VALID, f"// \f  {VALID}"),
    instead("a null byte", VALID, f"// \0\n  {VALID}"),
    instead("text from right to left", VALID, f"// \u202e\n  {VALID}"),
    Attack("a line of a megabyte", "pipes", before(FC, "// " + "x" * 1_000_000), "refused"),
    Attack("brackets without end", "pipes",
          edit(FC, VALID, f"assign data_out_0_valid = {'(' * 20_000}valid_q[0];"), "refused"),
    # The checks of streams, which are left out of the hardware and in the simulation.
    instead("other hardware where streams are checked", VALID,
            f"if (1'b1 == 1'b1) begin : gen_a\n    {VALID}\n  end else begin : gen_b\n"
            "    assign data_out_0_valid = 1'b0;\n  end"
            "\n  $info(\"x\");"),
    said("a check that is something else", "  if (CheckStreams) begin : gen_more\n    net_fc1 u_more (.clk, .rst, "
         ".enable(1'b1), .data_in_0(data_in_0), .data_in_0_valid(1'b1), .data_out_0(), .data_out_0_valid());\n  end",
           TOP),
    instead("wrong while streams are checked", "  assign fc1_out_ready = fc1_enable;",
            "  assign fc1_out_ready = CheckStreams ? 1'b0 : fc1_enable;", TOP),
    said("a check with a driver", "  if (CheckStreams) begin : gen_more\n    assign fc1_out[0] = 1'b0;\n  end", TOP),
    Attack("a checker that reaches out", "pipes", within("mase_stream_check.sv",
          "  assign net.fc1_out[0] = 1'b0;"), "refused"),
    Attack("a checker that writes", "pipes", within("mase_stream_check.sv",
           '  initial $fdisplay($fopen("OUTSIDE/ran", "w"), "x");'), "refused"),
    Attack("a checker with an output", "pipes", both(
        edit("mase_stream_check.sv", "  input logic             ready\n", "  output logic            ready\n"),
        within("mase_stream_check.sv", "  assign ready = 1'b0;")), "refused"),
    # The AXI4-Stream top, which is in another language.
    said("an initial block in the AXI4-Stream top", "  initial tlast_error = 1'b0;", "net_axis.v", "axis"),
    said("a falling edge in the AXI4-Stream top", "  reg late;\n  always @(negedge aclk) late <= aresetn;",
          "net_axis.v", "axis"),
    said("a shell in the AXI4-Stream top", '  initial $system("touch OUTSIDE/ran");', "net_axis.v", "axis"),
    said("a list in the AXI4-Stream top", "  reg x;\n  always @(aresetn) x = in_ready;", "net_axis.v", "axis"),
    said("two drivers in the AXI4-Stream top", "  assign m_axis_tdata[0] = 1'b0;", "net_axis.v", "axis"),
    instead("an implicit net in the AXI4-Stream top", ".rst(!aresetn)", ".rst(aresetm)", "net_axis.v", "axis"),
)  # fmt: skip
