"""A depthwise convolution and thresholds that are wrong in one place, for one number, or after a while."""

from __future__ import annotations

import numpy as np
from of_frames import aged, entry
from victims import Attack, arrays, both, edit

FC, STEPS, TOP = "net_fc.sv", "net_steps.sv", "net.sv"
HEAD = "  logic enable, in_fire;\n"


def wrong(name: str, file: str, *changes: tuple[str, str], says: str = "") -> Attack:
    return Attack(name, "weighted", both(*(edit(file, *change) for change in changes)), "not proved", says)


def same(name: str, file: str, *changes: tuple[str, str]) -> Attack:
    return Attack(name, "weighted", both(*(edit(file, *change) for change in changes)), "harmless")


DEPTHWISE = (
    wrong("one digit of a tap of the last channel", FC, ("    5'h19,\n", "    5'h09,\n"), says="values"),
    wrong("what one channel starts from", FC, ("    3'h6\n", "    3'h7\n"), says="values"),
    wrong("what all channels start from", FC, ("Base = 9'hcc;", "Base = 9'hcd;"), says="values"),
    wrong("a row that knows another tap", FC, ("assign row1 = times_m1_2(part0[o][3:2], x0_q[o]);",
          "assign row1 = times_m1_2(part0[o][3:2], x0_q[o]) ^ 5'(word_q == 2'd3 && block_q == 1'd1);")),
    wrong("a channel that is not counted", FC, ("else if (in_fire && word_last) block_q <=",
          "else if (in_fire && word_last && !block_last) block_q <=")),
    wrong("a channel that goes on after reset", FC, ("    if (rst) block_q <= '0;\n    else if (in_fire",
          "    if (in_fire")),
    wrong("a tap that goes on after reset", FC, ("    if (rst) word_q <= '0;\n    else if (in_fire)",
          "    if (in_fire)")),
    wrong("the first tap is another after a reset", FC,
          ("if (rst) first_q <= 1'b1;", "if (rst) first_q <= !last_q[1];")),
    wrong("a sum that was begun survives a reset", FC, ("      active_q <= '0;\n      last_q", "      last_q")),
    wrong("the end of a window survives a reset", FC, ("      last_q   <= '0;\n    end else if",
          "      last_q   <= {last_q[Stages], 1'b0};\n    end else if")),
    wrong("weights move on while the pipeline waits", FC, ("      weights0_q <= Weights0[address];\n    end",
          "    end\n    weights0_q <= Weights0[address];")),
    wrong("an element moves on while the pipeline waits", FC, ("      x0_q <= element;\n",
          "      x0_q <= element;\n    end else begin\n      x0_q <= element;\n    end\n    if (enable) begin\n")),
    wrong("a finished sum is added to", FC, ("if (enable && active_q[Stages-1]) acc_q[o] <= next;",
          "if (active_q[Stages-1]) acc_q[o] <= next;")),
    wrong("taken while the end is full", FC, ("assign enable = !last_q[Stages] || free;",
          "assign enable = !last_q[Stages] || free || !valid_q;\n  logic gone;\n  assign gone = 1'b0;"),
          ("assign free = !valid_q || data_out_0_ready;", "assign free = data_out_0_ready;")),
    wrong("never full", FC, ("assign enable = !last_q[Stages] || free;", "assign enable = 1'b1;")),
    wrong("an accumulator of a bit less", FC, ("AccBits = 9;", "AccBits = 8;"), ("Base = 9'hcc;", "Base = 8'hcc;"),
          (".InWidth(9),", ".InWidth(8),"), ("AccBits'(t3)", "8'(t3[7:0])")),
    wrong("an old sum in a new window", FC, (HEAD, HEAD + aged("in_fire", "")), ("(first_q ? Base : acc_q[o])",
          "(first_q && age_q != 9'd499 ? Base : acc_q[o])")),
    wrong("rounding that knows the channel", FC, (".n_i(acc_q[i]),", ".n_i(acc_q[i] ^ 9'(block_q)),")),
    same("a channel counter in another order", FC, ("block_last ? '0 : block_q + block_t'(1)",
         "block_q - block_t'(1)")),
    Attack("weights of another depthwise layer", "weighted", arrays(lambda found: found.update(
        {"component.fc.matrix": found["component.fc.matrix"][::-1]})), "not proved"),
)  # fmt: skip
THRESHOLDS = (
    wrong("a threshold that is one too high", STEPS, ("    5'h1f,\n", "    5'h00,\n"), says="values"),
    wrong("a threshold of the second search", STEPS, ("    10'h09a,\n", "    10'h09b,\n"), says="values"),
    wrong("thresholds that are compared without a sign", STEPS, ("    logic signed [4:0] limit;\n"
          "    assign limit = limits0[i][0];", "    logic [4:0] limit;\n    assign limit = limits0[i][0];"),
          ("5'(x[i]) >= limit", "unsigned'(5'(x[i])) >= limit")),
    wrong("above, and not at, a threshold", STEPS, ("{5'(x[i]) >= limit}", "{5'(x[i]) > limit}")),
    wrong("the other threshold of the two", STEPS, ("limits1[i][found1_q[i]]", "limits1[i][!found1_q[i]]")),
    wrong("the beat of the stage before", STEPS, ("Thresholds1[beat1_q]", "Thresholds1[beat0_q]")),
    wrong("the same thresholds for all channels", STEPS, ("Thresholds0[beat0_q]", "Thresholds0[1'b0]")),
    wrong("a beat that is counted while it waits", STEPS, ("else if (data_in_0_valid && enable) beat0_q",
          "else if (data_in_0_valid) beat0_q")),
    wrong("a beat that goes on after reset", STEPS, ("    if (rst) beat0_q <= '0;\n    else if (data_in_0_valid",
          "    if (data_in_0_valid")),
    wrong("a beat of the stage behind that does not hold", STEPS, ("    if (enable) beat1_q <= beat0_q;",
          "    beat1_q <= beat0_q;")),
    wrong("a number that is found twice", STEPS, ("y_q[i] <= 3'(found);",
          "y_q[i] <= 3'(found) ^ 3'(x1_q[i] == 4'sd7);"), says="values"),
    Attack("thresholds that are not in order", "weighted", arrays(lambda found: found.update(
        {"component.steps.thresholds": found["component.steps.thresholds"][:, ::-1]})), "refused", "damaged"),
    Attack("levels of another network", "weighted", arrays(lambda found: found.update(
        {"component.steps.levels": found["component.steps.levels"] + 1})), "not proved"),
    Attack("thresholds of one channel", "weighted", arrays(lambda found: found.update(
        {"component.steps.thresholds": found["component.steps.thresholds"][:1]})), "refused", "damaged"),
    Attack("thresholds beyond the integers", "weighted", arrays(lambda found: found.update(
        {"component.steps.thresholds": found["component.steps.thresholds"].astype(np.int64) + (1 << 40)})),
        "not proved"),
    Attack("more taps than there are", "weighted", entry("fc", lambda found: found["values"].update(taps=5)), "refused",
           "damaged"),
)  # fmt: skip
WEIGHTS = (*DEPTHWISE, *THRESHOLDS)
