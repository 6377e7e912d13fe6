"""Hardware that is right for a long time, or until it was reset some times, or where nobody looks at first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from victims import Attack, Change, arrays, both, edit, within

# A count of beats that is reset, one that is not, one of resets, and one of cycles. Each is full once in a while.
AGES = {
    "beats": "    if (rst) age_q <= '0;\n    else if (MOVES) age_q <= age_q + 20'd1;\n",
    "beats of all time": "    if (MOVES) age_q <= age_q + 20'd1;\n",
    "resets": "    if (rst) age_q <= age_q + 20'd1;\n",
    "cycles": "    age_q <= age_q + 20'd1;\n",
    "cycles since a reset": "    if (rst) age_q <= '0;\n    else age_q <= age_q + 20'd1;\n",
}
# By victim: the file, when something moves, a line with data, and one with valid or ready.
PLACES = {
    "pipes": ("net_fc1.sv", "enable", "assign data_out_0 = {y1_q1, y0_q1};", "assign data_out_0_valid = valid_q[0];"),
    "FIFO": ("mase_fifo.sv", "in_fire", "assign data_out_0 = memory[read_q];",
             "assign data_out_0_valid = count_q != '0;"),
    "skid buffer": ("mase_skid_buffer.sv", "in_fire", "assign data_out_0 = out_q;",
           "assign data_in_0_ready = !skid_valid_q;"),
    "gather": ("mase_gather.sv", "in_fire", "assign data_out_0 = beats_q;", "assign data_out_0_valid = valid_q;"),
    "scatter": ("mase_scatter.sv", "in_fire", "assign data_out_0 = beats_q[Width-1:0];",
           "assign data_out_0_valid = valid_q;"),
    "folded": ("net_fc.sv", "issue", "assign word = stored;", "assign issue = enable && there;"),
    "fork": ("net_copies.sv", "in_fire", "assign data_out_1 = out_q;", "assign data_out_1_valid = pending_q[1];"),
}  # fmt: skip
VICTIM = {"pipes": "pipes", "folded": "folded", "fork": "branched"}


def late() -> Iterator[Attack]:
    """Every place with every age: data that are inverted, and a handshake that is missing, where the count is full."""
    for place, (file, moves, data, handshake) in PLACES.items():
        for age, text in AGES.items():
            block = (
                "logic [19:0] age_q;\n  always_ff @(posedge clk) begin\n" + text.replace("MOVES", moves) + "  end\n  "
            )
            victim = VICTIM.get(place, "streams")
            yield Attack(f"{place}: data after many {age}", victim, _wrong(file, data, block), "not proved")
            yield Attack(f"{place}: a handshake after many {age}", victim, _wrong(file, handshake, block), "not proved")


def _wrong(file: str, line: str, block: str) -> Change:
    """A line with a value that is another one where the count is full: data inverted, a handshake missing."""
    target, _, value = line.removesuffix(";").partition(" = ")
    if target.endswith(("_valid", "_ready", "issue")):
        return edit(file, line, f"{block}{target} = ({value}) && !(&age_q);")
    return edit(file, line, f"{block}{target} = (&age_q) ? ~{{{value}}} : ({value});")


LATE = tuple(late())

BOTH = "net_fc1.sv"


def weights(more: int) -> Change:
    key = "component.fc1.matrix"
    return arrays(lambda found: found.update({key: found[key].astype(np.int64) + more}))


HIDDEN = (
    # What no one drives, or only in part.
    Attack("a lane that nobody drives", "streams", edit("mase_cast.sv", "for (genvar i = 0; i < Lanes; i++)",
           "for (genvar i = 0; i < Lanes - 1; i++)"), "not proved"),
    Attack("an input that nobody drives", "pipes", edit("net.sv", "    .data_in_0(fc1_out),",
           "    .data_in_0(),"), "refused"),
    Attack("an enable that nobody drives", "pipes", edit("net.sv",
           "  net_fc2 u_fc2 (\n    .clk,\n    .rst,\n    .enable(fc1_enable),",
           "  net_fc2 u_fc2 (\n    .clk,\n    .rst,\n    .enable(),"), "refused"),
    Attack("a signal that nobody drives", "pipes", edit(BOTH, "assign data_out_0 = {y1_q1, y0_q1};",
           "logic [3:0] free;\n  assign data_out_0 = {y1_q1, free};"), "not proved"),
    Attack("a register that nobody drives", "pipes", edit(BOTH, "      y1_q1 <= y1;\n", ""), "not proved"),
    Attack("an index out of range", "pipes", edit(BOTH, "assign data_out_0_valid = valid_q[0];",
           "assign data_out_0_valid = valid_q[1];"), "refused"),
    Attack("an index that runs out of range", "streams", edit("mase_gather.sv", "assign data_out_0_valid = valid_q;",
           "logic [2:0] three;\n  assign three = {3{valid_q}};\n"
           "  assign data_out_0_valid = three[{valid_q, count_q[0]}];"),
           "not proved"),
    # A table that changes.
    Attack("a table with a first value", "folded", edit("net_fc.sv", "localparam logic [17:0] Weights0[2]",
           "(* rom_style = \"block\" *) logic [17:0] Weights0[2]"), "harmless"),
    Attack("a table that a reset changes", "folded", both(
        edit("net_fc.sv", "localparam logic [17:0] Weights0[2]",
               "(* rom_style = \"block\" *) logic [17:0] Weights0[2]"),
        within("net_fc.sv", "  always_ff @(posedge clk) begin\n    if (rst && full_q[0]) Weights0[0] <= '0;\n  end")),
        "not proved"),
    # Right after the first reset, wrong after the second: what was written meanwhile is read in the first vector alone.
    Attack("a table that is changed until the next reset", "folded", both(
        edit("net_fc.sv", "  assign pass_last = word_last;",
             "  (* rom_style = \"block\" *) logic [17:0] First[2] = '{18'h1f765, 18'h22690};\n  logic [2:0] age_q;\n"
             "  always_ff @(posedge clk) begin\n    if (rst) age_q <= '0;\n"
             "    else if (issue && vector_last && age_q != '1) age_q <= age_q + 3'd1;\n  end\n"
             "  always_ff @(posedge clk) begin\n    if (age_q == '1) First[0] <= '0;\n  end\n"
             "  assign pass_last = word_last;"),
        edit("net_fc.sv", "weights0_q <= Weights0[address];",
             "weights0_q <= (age_q == '0) ? First[address] : Weights0[address];")), "not proved"),
    Attack("a memory with a first value", "streams", edit("mase_fifo.sv", "logic [Width-1:0] memory[Depth];",
           "logic [Width-1:0] memory[Depth] = '{default: '1};"), "refused"),
    # Wrong for one size alone, in a module that is used with several.
    Attack("wrong for one width", "streams", edit("mase_skid_buffer.sv", "assign data_out_0 = out_q;",
           "if (Width == 16) begin : gen_a\n    assign data_out_0 = ~out_q;\n  end else begin : gen_b\n"
           "    assign data_out_0 = out_q;\n  end"), "not proved"),
    Attack("another default that nobody takes", "streams", edit("mase_skid_buffer.sv",
           "parameter int unsigned Width = 8",
           "parameter int unsigned Width = 9"), "harmless"),
    Attack("an argument that is left out", "streams", edit("net.sv",
           "  mase_skid_buffer #(\n    .Width(8)\n  ) u_skid (",
           "  mase_skid_buffer u_skid ("), "harmless"),
    # Reset as data: nothing is claimed of a beat in reset, and nobody takes one.
    Attack("data that are other ones in reset", "pipes", edit(BOTH, "assign data_out_0 = {y1_q1, y0_q1};",
           "assign data_out_0 = {y1_q1, y0_q1 ^ {4{rst}}};"), "not proved"),
    Attack("a reset that needs two cycles", "streams", edit("mase_skid_buffer.sv",
           "    if (rst) begin\n      out_valid_q  <= 1'b0;\n"
           "      skid_valid_q <= 1'b0;", "    if (rst) begin\n      out_valid_q  <= 1'b0;\n"
           "      skid_valid_q <= skid_valid_q && out_valid_q;"), "not proved"),
    Attack("a FIFO whose reset needs two cycles", "streams", edit("mase_fifo.sv", "      count_q <= '0;",
           "      count_q <= (write_q == '0) ? '0 : count_q;"), "not proved"),
    # Clock as data, by the rules of the language.
    Attack("the clock as data", "pipes", edit(BOTH, "assign data_out_0_valid = valid_q[0];",
           "assign data_out_0_valid = valid_q[0] && !clk;"), "not proved"),
    Attack("the clock goes through a gate", "pipes", edit("net.sv", "  net_fc2 u_fc2 (\n    .clk,",
           "  logic other;\n  assign other = clk && !rst;\n  net_fc2 u_fc2 (\n    .clk(other),"), "not proved"),
    # Parameters whose sums leave the integers that software computes with.
    Attack("weights that overflow in software", "pipes", weights(1 << 61), "refused", "beyond 53 bits"),
    Attack("sums that overflow in software", "pipes", weights(1 << 52), "not proved", "the exact sums reach"),
)  # fmt: skip
TIME = (*LATE, *HIDDEN)
