"""Two designs side by side as one question: can they ever differ, on streams that keep their rules?"""

from __future__ import annotations

from mase_hw.ir import Design, Stream

# Both start anywhere and are reset in the first cycle. They differ where valid or ready differ, or data while valid.
# What a source does is free, but it holds what it offers until it is taken, and stays within the proven bounds.
_TEXT = """
module miter (
  input clk,
{ports},
  output bad
);
  reg first = 1'b1;
  reg good = 1'b1;
{inputs}
{outputs}
  wire now = good && !first{kept};
  wire wrong = {wrong};
  assign bad = now && wrong;
  always @(posedge clk) begin
    first <= 1'b0;
    good <= first || now;
  end
  gold u_gold (.clk(clk), .rst(first){gold});
  gate u_gate (.clk(clk), .rst(first){gate});
endmodule
"""

_INPUT = """
  wire gold_{x}_ready, gate_{x}_ready;
  reg {x}_waits = 1'b0;
  reg [{width}-1:0] {x}_waiting;
  wire {x}_within = !{x}_valid || ({within});
  wire {x}_kept = !{x}_waits || ({x}_valid && {x} == {x}_waiting);
  always @(posedge clk) begin
    {x}_waits <= !first && {x}_valid && !gold_{x}_ready;
    {x}_waiting <= {x};
  end"""

_OUTPUT = """
  wire [{width}-1:0] gold_{y}, gate_{y};
  wire gold_{y}_valid, gate_{y}_valid;"""


def miter_text(design: Design) -> str:
    """The Verilog text of the question; `bad` is what must never be 1."""
    ports, wrong, kept = [], [], ""
    for x in design.inputs:
        ports += [f"  input [{x.width}-1:0] {x.name}", f"  input {x.name}_valid"]
        wrong.append(f"gold_{x.name}_ready != gate_{x.name}_ready")
        kept += f" && {x.name}_kept && {x.name}_within"
    for y in design.outputs:
        ports.append(f"  input {y.name}_ready")
        valid = f"gold_{y.name}_valid"
        wrong += [f"{valid} != gate_{y.name}_valid", f"({valid} && gold_{y.name} != gate_{y.name})"]
    inputs = [_INPUT.format(x=x.name, width=x.width, within=within(x)) for x in design.inputs]
    outputs = [_OUTPUT.format(y=y.name, width=y.width) for y in design.outputs]
    return _TEXT.format(
        ports=",\n".join(ports),
        inputs="".join(inputs),
        outputs="".join(outputs),
        kept=kept,
        wrong=" || ".join(wrong),
        gold=_wires(design, "gold"),
        gate=_wires(design, "gate"),
    )


def _wires(design: Design, side: str) -> str:
    """The ports of one of the two; what they share comes from outside."""
    found = ""
    for x in (stream.name for stream in design.inputs):
        found += f",\n    .{x}({x}), .{x}_valid({x}_valid), .{x}_ready({side}_{x}_ready)"
    for y in (stream.name for stream in design.outputs):
        found += f",\n    .{y}({side}_{y}), .{y}_valid({side}_{y}_valid), .{y}_ready({y}_ready)"
    return found


def within(x: Stream) -> str:
    """Verilog for: every lane of an input is within the bounds of all that it carries."""
    width = x.fixed.width
    found = ["1'b1"]
    for lane in range(x.lanes):
        lo, hi = min(x.lo[lane :: x.lanes]), max(x.hi[lane :: x.lanes])
        bits = f"{x.name}[{(lane + 1) * width - 1}:{lane * width}]"
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
    """A top's text in which every input is taken for granted to be within its bounds while it is valid."""
    before, found, after = text.rpartition("endmodule")
    assert found, "no module"
    assumed = "".join(f"  always_comb assume (!{x.name}_valid || ({within(x)}));\n" for x in design.inputs)
    return f"{before}{assumed}{found}{after}"
