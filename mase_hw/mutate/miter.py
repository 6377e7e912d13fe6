"""Two designs side by side as one question: can they ever differ, on a stream that keeps its rules?"""

from __future__ import annotations

from mase_hw.ir import Design

# Both start anywhere and are reset in the first cycle. They differ where valid or ready differ, or data while valid.
# What the source does is free, but it holds what it offers until it is taken, and stays within the proven bounds.
_TEXT = """
module miter (
  input clk,
  input [{x}-1:0] data,
  input valid,
  input ready,
  output bad
);
  reg first = 1'b1;
  reg good = 1'b1;
  reg waits = 1'b0;
  reg [{x}-1:0] waiting;
  wire [{y}-1:0] gold_data, gate_data;
  wire gold_valid, gate_valid, gold_ready, gate_ready;
  wire within = !valid || ({within});
  wire kept = !waits || (valid && data == waiting);
  wire now = good && !first && kept && within;
  wire wrong = gold_valid != gate_valid || gold_ready != gate_ready || (gold_valid && gold_data != gate_data);
  assign bad = now && wrong;
  always @(posedge clk) begin
    first <= 1'b0;
    good <= first || now;
    waits <= !first && valid && !gold_ready;
    waiting <= data;
  end
  gold u_gold (.clk(clk), .rst(first), .data_in_0(data), .data_in_0_valid(valid), .data_in_0_ready(gold_ready),
    .data_out_0(gold_data), .data_out_0_valid(gold_valid), .data_out_0_ready(ready));
  gate u_gate (.clk(clk), .rst(first), .data_in_0(data), .data_in_0_valid(valid), .data_in_0_ready(gate_ready),
    .data_out_0(gate_data), .data_out_0_valid(gate_valid), .data_out_0_ready(ready));
endmodule
"""


def miter_text(design: Design) -> str:
    """The Verilog text of the question; `bad` is what must never be 1."""
    x, y = design.input, design.output
    return _TEXT.format(x=x.width, y=y.width, within=within(design, "data"))


def within(design: Design, name: str) -> str:
    """Verilog for: every lane of the input, which is called `name`, is within the bounds of all that it carries."""
    x = design.input
    width = x.fixed.width
    found = ["1'b1"]
    for lane in range(x.lanes):
        lo, hi = min(x.lo[lane :: x.lanes]), max(x.hi[lane :: x.lanes])
        bits = f"{name}[{(lane + 1) * width - 1}:{lane * width}]"
        number = f"$signed({bits})" if x.fixed.signed else bits
        sign = "s" if x.fixed.signed else ""
        if lo != x.fixed.lo:
            found.append(f"{number} >= {_literal(lo, width, sign)}")
        if hi != x.fixed.hi:
            found.append(f"{number} <= {_literal(hi, width, sign)}")
    return " && ".join(found)


def _literal(value: int, width: int, sign: str) -> str:
    return f"{width}'{sign}h{value & ((1 << width) - 1):x}"


def bounded(text: str, design: Design) -> str:
    """A top's text in which the input is taken for granted to be within its bounds while it is valid."""
    x = design.input.name
    before, found, after = text.rpartition("endmodule")
    assert found, "no module"
    return f"{before}  always_comb assume (!{x}_valid || ({within(design, x)}));\n{found}{after}"
