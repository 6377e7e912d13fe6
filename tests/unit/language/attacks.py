"""What a hostile build may try, as changes to the text of an emitted file, and what is said of each."""

from __future__ import annotations

END = "\nendmodule"
TOP, LAYER, AXIS, FOLDED, SKID, CHECK = (
    "residual.sv",
    "residual_layer.sv",
    "residual_axis.v",
    "net_fc.sv",
    "mase_skid_buffer.sv",
    "mase_stream_check.sv",
)
Attack = tuple[str, str, str, str]  # file, old text, new text, what is said


def more(file: str, text: str, says: str) -> Attack:
    """One more line at the end of a module."""
    return file, END, f"\n  {text}{END}", says


DIRECTIVES: dict[str, Attack] = {
    "ifdef of synthesis": more(LAYER, "`ifdef SYNTHESIS\n`endif", "a directive"),
    "ifdef of Verilator": more(LAYER, "`ifndef VERILATOR\n`endif", "a directive"),
    "ifdef of slang": more(LAYER, "`ifdef __slang__\n`endif", "a directive"),
    "a macro": (LAYER, "// SPDX", "`define clk rst\n// SPDX", "a directive"),
    "include": (LAYER, "// SPDX", '`include "/etc/passwd"\n// SPDX', "a directive"),
    "timescale": (LAYER, "// SPDX", "`timescale 1ns/1ps\n// SPDX", "a directive"),
    "default_nettype": (LAYER, "// SPDX", "`default_nettype wire\n// SPDX", "a directive"),
    "begin_keywords": (LAYER, "// SPDX", '`begin_keywords "1364-2001"\n// SPDX', "a directive"),
    "pragma protect": (LAYER, "// SPDX", "`pragma protect begin\n// SPDX", "a directive"),
    "line": (LAYER, "// SPDX", '`line 1 "mase_fifo.sv" 0\n// SPDX', "a directive"),
}

COMMENTS: dict[str, Attack] = {
    "synthesis translate_off": more(LAYER, "// synthesis translate_off", "order to a tool"),
    "synopsys": more(LAYER, "//synopsys full_case", "order to a tool"),
    "pragma": more(LAYER, "//  pragma translate_off", "order to a tool"),
    "capitals": more(LAYER, "// Synthesis off", "order to a tool"),
    "verilator": more(LAYER, "//verilator lint_off WIDTH", "order to a tool"),
    "a vendor's": more(LAYER, "// altera message_off 10036", "order to a tool"),
    "xilinx": more(LAYER, "// xilinx translate_off", "order to a tool"),
    "slang": more(LAYER, "// slang lint_off", "order to a tool"),
    "a switch within": more(LAYER, "// here: translate_off", "order to a tool"),
    "behind code": (LAYER, ");\n\n", "); // synthesis translate_off\n\n", "order to a tool"),
    "a block comment": more(LAYER, "/* nothing */", "is not in the language"),
    "a pragma in a block": more(LAYER, "/*verilator public_flat_rw*/", "is not in the language"),
    "an open block comment": more(LAYER, "/* to the end", "is not in the language"),
    "a backslash": more(LAYER, "// to be continued \\", "a comment has no backslash"),
}

BYTES: dict[str, Attack] = {
    "a carriage return": more(LAYER, "// one\rassign x0 = 8'd0;", "the character 0x0d"),
    "a NUL": more(LAYER, "// \0", "the character 0x00"),
    "a tabulator": more(LAYER, "\tassign q = 1'b0;", "the character 0x09"),
    "a form feed": more(LAYER, "\f", "the character 0x0c"),
    "a letter that is no ASCII": more(LAYER, "// é", "the character 0xc3"),
    "text that runs backwards": more(LAYER, "// \u202e", "the character 0xe2"),
    "a mark of byte order": (LAYER, "// SPDX", "\ufeff// SPDX", "the character 0xef"),
    "no last line feed": (LAYER, "endmodule\n", "endmodule", "the last line has no end"),
    "a long line": more(LAYER, "// " + "a" * 5000, "5,005 columns"),
    "a long name": more(LAYER, f"logic {'a' * 300};", "has 300 characters"),
    "an escaped name": more(LAYER, "logic \\a+b ;", "an escaped name"),
    "a dollar in a name": more(LAYER, "logic a$b;", "the system name"),
}

WORDS: dict[str, Attack] = {
    "plain always": more(LAYER, "logic u; always @(x0) u = x1[0];", "`always` is not in the language"),
    "always_latch": more(LAYER, "logic u; always_latch if (enable) u = x1[0];", "`always_latch`"),
    "initial": more(LAYER, "logic u; initial u = 1'b0;", "`initial`"),
    "final": more(LAYER, "final begin end", "`final`"),
    "a falling edge": (LAYER, "@(posedge clk)", "@(negedge clk)", "`negedge`"),
    "both edges": (LAYER, "@(posedge clk)", "@(edge clk)", "`edge`"),
    "an asynchronous reset": (LAYER, "@(posedge clk)", "@(posedge clk or posedge rst)", "`or`"),
    "force": more(LAYER, "always_comb begin force x0 = 8'd0; end", "`force`"),
    "bind": more(LAYER, "bind mase_requantize residual_last u_b (.clk);", "`bind`"),
    "defparam": more(LAYER, "defparam u_y0.Shift = 3;", "`defparam`"),
    "inout": (LAYER, "input  logic rst", "inout logic rst", "`inout`"),
    "a wire": more(LAYER, "wire [7:0] w; assign w = x0;", "`wire`"),
    "wand": more(LAYER, "wand w; assign w = x0[0]; assign w = x1[0];", "`wand`"),
    "tri": more(LAYER, "tri w;", "`tri`"),
    "supply": more(LAYER, "supply1 w;", "`supply1`"),
    "strengths": more(LAYER, "logic w; assign (weak0, weak1) w = x0[0];", "`weak0`"),
    "a gate": more(LAYER, "logic w; and (w, x0[0], x1[0]);", "`and`"),
    "a switch": more(LAYER, "logic w; tranif1 (w, x0[0], x1[0]);", "`tranif1`"),
    "a task": more(LAYER, "task t; endtask", "`task`"),
    "DPI": more(LAYER, 'import "DPI-C" function int system(input string s);', "`import`"),
    "a class": more(LAYER, "class c; endclass", "`class`"),
    "a struct": more(LAYER, "struct packed { logic a; } s;", "`struct`"),
    "an enumeration": more(LAYER, "enum logic { A, B } e;", "`enum`"),
    "a union": more(LAYER, "union packed { logic a; logic b; } s;", "`union`"),
    "a real number": more(LAYER, "real r;", "`real`"),
    "a loop": more(LAYER, "logic u; always_comb begin while (1'b1) u = 1'b0; end", "`while`"),
    "a wait": more(LAYER, "logic u; always_comb begin wait (enable); u = 1'b0; end", "`wait`"),
    "unique case": (FOLDED, "    case (digit)", "    unique case (digit)", "`unique`"),
    "unique0": (FOLDED, "    case (digit)", "    unique0 case (digit)", "`unique0`"),
    "priority": (FOLDED, "    case (digit)", "    priority case (digit)", "`priority`"),
    "casez": (FOLDED, "    case (digit)", "    casez (digit)", "`casez`"),
    "casex": (FOLDED, "    case (digit)", "    casex (digit)", "`casex`"),
    "case inside": (FOLDED, "case (digit)", "case (digit) inside", "`inside`"),
    "a static function": (FOLDED, "function automatic", "function static", "`static`"),
    "an assumption": (CHECK, "  assert property", "  assume property", "`assume`"),
    "a package": (LAYER, "// SPDX", "package p; endpackage\n// SPDX", "`package`"),
    "an interface": (LAYER, "// SPDX", "interface i; endinterface\n// SPDX", "`interface`"),
    "a program": (LAYER, "// SPDX", "program p; endprogram\n// SPDX", "`program`"),
    "a primitive": (LAYER, "// SPDX", "primitive p (o, a); endprimitive\n// SPDX", "`primitive`"),
    "a checker": (LAYER, "// SPDX", "checker c; endchecker\n// SPDX", "`checker`"),
    "a configuration": (LAYER, "// SPDX", "config c; endconfig\n// SPDX", "`config`"),
    "a time unit": more(LAYER, "timeunit 1ns;", "`1ns`"),
    "logic in Verilog": more(AXIS, "logic u;", "`logic`"),
    "always_ff in Verilog": (AXIS, "always @(posedge aclk)", "always_ff @(posedge aclk)", "`always_ff`"),
    "a register in SystemVerilog": more(LAYER, "reg u;", "`reg`"),
}

MARKS: dict[str, Attack] = {
    "high impedance": more(LAYER, "logic u; assign u = 1'bz;", "is not in the language"),
    "unknown": more(LAYER, "logic u; assign u = 1'bx;", "is not in the language"),
    "a question mark": more(LAYER, "logic u; assign u = 4'b1?0;", "is not in the language"),
    "all unknown": more(LAYER, "logic u; assign u = 'x;", "is not in the language"),
    "unknown in hexadecimal": more(LAYER, "logic [7:0] u; assign u = 8'hx1;", "is not in the language"),
    "a division": more(LAYER, "logic [7:0] u; assign u = x0 / x1;", "`/` is not in the language"),
    "a remainder": more(LAYER, "logic [7:0] u; assign u = x0 % x1;", "`%` is not in the language"),
    "a power": more(LAYER, "logic [7:0] u; assign u = x0 ** x1;", "`**` is not in the language"),
    "case equality": more(LAYER, "logic u; assign u = x0 === x1;", "`===` is not in the language"),
    "wildcard equality": more(LAYER, "logic u; assign u = x0 ==? x1;", "`==?` is not in the language"),
    "an arithmetic shift": more(LAYER, "logic [7:0] u; assign u = x0 >>> 2;", "`>>>` is not in the language"),
    "a scope": more(LAYER, "logic u; assign u = $unit::x;", "`$unit` is not in the language"),
    "a stream of bits": more(LAYER, "logic [7:0] u; assign u = {<<{x0}};", "is not in the language"),
    "a large number": more(LAYER, "logic [99999999:0] u;", "the number 99999999 is above"),
    "a long number": more(LAYER, f"logic [{'9' * 200}:0] u;", "is above"),
    "a wide constant": more(LAYER, "logic u; assign u = 9999999'd0;", "has more than"),
    "a real constant": more(LAYER, "logic [7:0] u; assign u = 1.5;", "is not in the language"),
    "a time": more(LAYER, "logic u; assign #1ns u = x0[0];", "is not in the language"),
}

SYSTEM: dict[str, Attack] = {
    name: more(LAYER, text, f"`{name}` is not in the language")
    for name, text in {
        "$system": 'logic u; assign u = $system("touch /tmp/x");',
        "$fopen": 'logic [31:0] u; assign u = $fopen("/tmp/x");',
        "$readmemh": '$readmemh("/tmp/x", x0);',
        "$c": 'always_comb begin $c("abort();"); end',
        "$random": "logic [31:0] u; assign u = $random;",
        "$time": "logic [63:0] u; assign u = $time;",
        "$finish": "always_comb begin $finish; end",
        "$value$plusargs": 'logic u; assign u = $value$plusargs("a", x0);',
        "$bits": "localparam int unsigned B = $bits(x0);",
        "$past": "logic u; assign u = $past(x0[0]);",
        "$isunknown": "logic u; assign u = $isunknown(x0);",
    }.items()
}
