"""Small RTL whose cells can be counted by hand."""

from __future__ import annotations

from pathlib import Path

# Two components and a gate between them. one: 8 registers, no logic. two: 8 registers behind 8 gates of two inputs.
PAIR = """\
module hold (input logic clk, input logic [7:0] d, output logic [7:0] q);
  always_ff @(posedge clk) q <= d;
endmodule
module invert (input logic clk, input logic [7:0] d, e, output logic [7:0] q);
  logic [7:0] gated;
  mix u_mix (.a(d), .b(e), .y(gated));
  always_ff @(posedge clk) q <= gated;
endmodule
module mix (input logic [7:0] a, b, output logic [7:0] y);
  assign y = a ^ b;
endmodule
module dut (input logic clk, input logic [7:0] d, e, output logic [7:0] q, output logic any);
  logic [7:0] middle;
  hold u_one (.clk, .d, .q(middle));
  invert u_two (.clk, .d(middle), .e, .q);
  assign any = d[0] & e[0];
endmodule
"""
ADDER = """\
module dut (input logic clk, input logic [15:0] a, b, output logic [15:0] q);
  logic [15:0] a_q, b_q;
  always_ff @(posedge clk) begin
    a_q <= a;
    b_q <= b;
    q <= a_q + b_q;
  end
endmodule
"""
MULTIPLIER = """\
module dut (input logic clk, input logic signed [9:0] a, b, output logic signed [19:0] q);
  always_ff @(posedge clk) q <= a * b;
endmodule
"""
MEMORIES = """\
module dut (
  input logic clk, we, input logic [9:0] w, r, input logic [17:0] d,
  output logic [17:0] deep, output logic [3:0] small_now, late
);
  logic [17:0] block[1024];
  logic [3:0] table_q[32];
  logic [3:0] line[16];
  always_ff @(posedge clk) begin
    if (we) block[w] <= d;
    deep <= block[r];
    if (we) table_q[w[4:0]] <= d[3:0];
    line[0] <= d[3:0];
    for (int i = 1; i < 16; i++) line[i] <= line[i-1];
  end
  assign small_now = table_q[r[4:0]];
  assign late = line[15];
endmodule
"""
BROKEN = """\
module dut (input logic a, output logic b);
  assign b = a & missing;
endmodule
"""
LOOP = """\
module dut (input logic a, output logic y);
  logic round_about;
  assign round_about = a ^ round_about;
  assign y = round_about;
endmodule
"""


def write(folder: Path, text: str, name: str = "dut.sv") -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return [folder / name]
