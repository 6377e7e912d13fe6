"""Tiny designs written by hand: one that is right, and one for each way of being wrong."""

from __future__ import annotations

from pathlib import Path
from string import Template

import numpy as np

from mase_hw.simulate import Job, StreamSpec
from mase_hw.simulate.job import Integers

# Two registered stages: `a` after the first, the output after the second. What a wrong one changes is a $name.
_TWO_STAGES = Template("""\
module two_stages #(parameter bit CheckStreams = 1'b0) (
  input  logic clk,
  input  logic rst,
  input  logic [$top:0] data_in_0,
  input  logic data_in_0_valid,
  output logic data_in_0_ready,
  output logic [$top:0] data_out_0,
  output logic data_out_0_valid,
  input  logic data_out_0_ready
);
  logic [$top:0] a, b_d;
  logic a_valid, a_ready, b_valid;
  logic [31:0] count;

  assign data_in_0_ready = $in_ready;
  assign a_ready = $a_ready;
  assign b_d = $b_data;

  always_ff @(posedge clk) begin
    if (rst) begin
      a_valid <= 1'b0;
      b_valid <= 1'b0;
      count   <= '0;
    end else begin
      if (data_in_0_valid && data_in_0_ready) count <= count + 1;
      if (!a_valid || a_ready) a_valid <= data_in_0_valid && data_in_0_ready;
      if (a_ready) b_valid <= a_valid $keep;
    end
    if (data_in_0_ready) a <= $a_data;
    if (a_ready) data_out_0 <= b_d;
  end
  assign data_out_0_valid = $out_valid;
  $more
endmodule
""")
_RIGHT = {
    "in_ready": "!a_valid || a_ready",
    "a_ready": "!b_valid || data_out_0_ready",
    "a_data": "data_in_0",
    "b_data": "a",
    "keep": "",
    "out_valid": "b_valid",
    "more": "",
}


# Width, lanes, sign.
SHAPES = (
    (1, 1, False),
    (1, 5, False),
    (3, 3, True),
    (8, 4, True),
    (17, 4, True),
    (17, 2, False),
    (33, 3, True),
    (64, 2, True),
)
_BLINK = "logic blink_q; always_ff @(posedge clk) blink_q <= rst || !blink_q;"
_LATE = "logic late_q; always_ff @(posedge clk) late_q <= count == 20;"
# What is changed in the right design; {beats} is how many there are in all.
WRONG = {
    "a wrong value": {"b_data": "(count == 8) ? a ^ 32'h1000 : a"},
    "a wrong value inside": {"a_data": "data_in_0 & ~32'h1"},
    "a dropped beat": {"keep": "&& count != 7"},
    "a beat too many": {"out_valid": "b_valid || (count == {beats} && !a_valid)"},
    "a hang": {"in_ready": "(!a_valid || a_ready) && count < 11"},
    "valid that waits for ready": {"out_valid": "b_valid && data_out_0_ready"},
    "data that changes while stalled": {
        "more": "always_ff @(posedge clk) if (b_valid && !data_out_0_ready) data_out_0 <= data_out_0 + 1;"
    },
    "valid that falls while stalled": {"out_valid": "b_valid && (blink_q || data_out_0_ready)", "more": _BLINK},
    "late once": {"in_ready": "(!a_valid || a_ready) && !(count == 20 && !late_q)", "more": _LATE},
    "a register that is never set": {"b_data": "a ^ never_q", "more": "logic [31:0] never_q;"},
    "no reset": {"more": "logic r; always_ff @(posedge clk) r <= r | data_in_0_valid;", "b_data": "a ^ {32{r}}"},
    "an assertion of the design's own": {
        "more": "a_few: assert property (@(posedge clk) disable iff (rst) count < 12);"
    },
}


def wrong_stages(folder: Path, name: str, beats: int) -> Path:
    """Two stages of 32 bits, wrong in this way."""
    return two_stages(folder, 32, **{part: text.replace("{beats}", str(beats)) for part, text in WRONG[name].items()})


def two_stages(folder: Path, bits: int, **wrong: str) -> Path:
    path = folder / "two_stages.sv"
    path.write_text(_TWO_STAGES.substitute({"top": str(bits - 1), **_RIGHT, **wrong}), encoding="utf-8")
    return path


def values(vectors: int, features: int, width: int, signed: bool, seed: int = 1) -> Integers:
    """Random integers over the whole range, both ends included."""
    bits = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, (vectors, features), endpoint=True)
    shifted = bits >> (64 - width) if signed or width == 64 else (bits >> (63 - width)) & (2**width - 1)
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    shifted[0, 0], shifted[-1, -1] = low, high
    return shifted


def job(source: Path, carried: Integers, lanes: int, width: int, signed: bool = True, **more: object) -> Job:
    roles = (("data_in_0", "x", "input"), ("a", "fc1", "probe"), ("data_out_0", "fc2", "output"))
    streams = tuple(StreamSpec(name, label, role, lanes, width, signed) for name, label, role in roles)
    beats = carried.size // lanes
    settings = {"predicted": {"data_out_0": np.arange(beats) + 2, "a": np.arange(beats) + 1}, "watchdog": 300, **more}
    return Job((source,), "two_stages", streams, {s.name: carried for s in streams}, **settings)  # type: ignore[arg-type]
