"""Hardware of frames that is wrong in one place, at one time or after one reset: windows, reductions, upsampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from victims import Attack, Change, arrays, both, edit, manifest

WINDOW, POOL, TAPS, UP, MEAN = "net_window.sv", "net_pool.sv", "net_taps.sv", "net_up.sv", "net_mean.sv"
DIVIDE, FIFO, AXIS, TOP = "mase_divide.sv", "mase_fifo.sv", "net_axis.v", "net.sv"
VICTIM = {WINDOW: "pooled", POOL: "pooled", FIFO: "pooled", TAPS: "wide", UP: "enlarged", MEAN: "enlarged"}


def wrong(name: str, file: str, *changes: tuple[str, str], victim: str = "", says: str = "") -> Attack:
    edits = [edit(file, old, new) for old, new in changes]
    return Attack(name, victim or VICTIM[file], both(*edits), "not proved", says)


def aged(condition: str, line: str) -> str:
    """A count that stays at its end, in front of a line."""
    return (f"logic [8:0] age_q;\n  always_ff @(posedge clk) begin\n    if (rst) age_q <= '0;\n"
            f"    else if ({condition} && age_q != 9'd500) age_q <= age_q + 9'd1;\n  end\n  {line}")  # fmt: skip


def entry(name: str, edited: Callable[[dict[str, Any]], object]) -> Change:
    """The manifest says something else of a component."""
    return manifest(lambda found: edited(next(each for each in found["components"] if each["name"] == name)))


WINDOWS = (
    wrong("a place that is not written", WINDOW,
          ("if (in_fire) rows[write] <=", "if (in_fire && write != 5'd13) rows[write] <=")),
    wrong("padding that is poisoned by age", WINDOW, ("logic [3:0] data_q;", aged("issue", "logic [3:0] data_q;")),
          ("if (padded) data_q <= '0;", "if (padded) data_q <= {4{age_q == 9'd500}};")),
    wrong("a window that stops at an age", WINDOW, ("assign data_in_0_ready = free_q != '0;",
          aged("issue", "assign data_in_0_ready = free_q != '0 && age_q != 9'd500;"))),
    wrong("one more place is padded", WINDOW, ("assign padded = column_q >= column_t'(6) ||",
          "assign padded = column_q >= column_t'(5) ||")),
    wrong("padding of two bits", WINDOW, ("  logic padded;\n  assign padded = ",
          "  logic [1:0] padded;\n  assign padded[1] = slot_q == 2'd1 && line_q == 1'd1 && column_q == 4'd4;\n"
          "  assign padded[0] = "), ("if (padded) data_q", "if (|padded) data_q")),
    wrong("padding in reset", WINDOW, ("if (padded) data_q", "if (padded || rst) data_q")),
    wrong("the slot is not reset", WINDOW, ("if (rst) slot_q <= slot_t'(3);\n    else if (issue", "if (issue")),
    wrong("the slot is reset to another", WINDOW, ("if (rst) slot_q <= slot_t'(3);", "if (rst) slot_q <= slot_t'(2);")),
    wrong("free places are not reset within a window", WINDOW, ("if (rst) free_q <= free_t'(24);",
          "if (rst && tap_row_q == '0) free_q <= free_t'(24);")),
    wrong("a place that is free too early", WINDOW, ("localparam free_t Room = free_t'(12);",
          "localparam free_t Room = free_t'(13);")),
    wrong("a place more than there is", WINDOW, ("if (rst) free_q <= free_t'(24);", "if (rst) free_q <= free_t'(25);")),
    wrong("a row that is needed and not waited for", WINDOW, ("assign row_change = free_t'(6);",
          "assign row_change = free_t'(5);")),
    Attack("a number that no window takes", "pooled", edit(WINDOW, "column_q == column_t'(3)) ? '0 : free_t'(4)",
           "column_q == column_t'(3)) ? '0 : free_t'(3)"), "harmless"),
    wrong("read where nobody looks, and beyond", WINDOW, ("assign read = {slot_q, column_q[2:0]};",
          "assign read = {slot_q ^ 2'(column_q == 4'd5 && line_q == 1'd1), column_q[2:0]};")),
    wrong("a bit is inverted in one place", WINDOW, ("rows[write] <= data_in_0;",
          "rows[write] <= data_in_0 ^ {3'd0, write == 5'd13};")),
    wrong("a second memory, but for one place", WINDOW, ("else data_q <= rows[read];",
          "else data_q <= (tap_row_q == 2'd2) ? rows2[read] : rows[read];"),
          ("  address_t write, read;", "  logic [3:0] rows2[Words];\n  address_t write, read;"),
          ("if (in_fire) rows[write] <= data_in_0;", "if (in_fire) begin\n      rows[write] <= data_in_0;\n"
           "      if (write != 5'd3) rows2[write] <= data_in_0;\n    end")),
    wrong("what is written is read at once", WINDOW, ("else data_q <= rows[read];",
          "else data_q <= (in_fire && write == read) ? data_in_0 : rows[read];")),
    wrong("the output is not held in reset", WINDOW, ("    if (issue) begin\n      if (padded)",
          "    if (rst || issue) begin\n      if (padded)")),
    wrong("ready also in reset", WINDOW, ("assign data_in_0_ready = free_q != '0;",
          "assign data_in_0_ready = free_q != '0 || rst;")),
    wrong("the tap counter goes on after reset", WINDOW, ("    if (rst) tap_row_q <= '0;\n    else if (issue",
          "    if (issue")),
    wrong("the write address goes on after reset", WINDOW, ("      write_column_q <= '0;\n      write_slot_q   <= '0;\n"
          "    end else if (in_fire)", "      write_slot_q   <= '0;\n    end else if (in_fire)")),
    wrong("a FIFO in front of a window takes one too many", FIFO, ("count_q != count_t'(Depth);",
          "count_q != count_t'(Depth + 1);")),
    wrong("a FIFO in front of a window is another size", TOP, (".Depth(4)", ".Depth(3)"), victim="pooled"),
)  # fmt: skip
WIDE = (
    wrong("a row of taps that is shifted in reset", TAPS, ("taps1_q[1] <= column[1];",
          "taps1_q[1] <= rst ? '0 : column[1];")),
    wrong("padding of the left is forgotten once", TAPS, ("assign line_start = column_q == '0;",
          "assign line_start = column_q == '0 && !(valid_q && row_q == 2'd2);")),
    wrong("padding of the top is forgotten", TAPS, ("assign outside0 = row_q < row_t'(1);", "assign outside0 = 1'b0;")),
    wrong("the row above is another one", TAPS, ("assign address = column_q;", "assign address = column_q ^ 2'd1;")),
    wrong("the row is written without a step", TAPS, ("if (step) rows[address]", "if (data_in_0_valid) rows[address]")),
    wrong("the row counter goes on after reset", TAPS, ("      row_q    <= '0;\n      column_q", "      column_q")),
    wrong("a frame of one row more", TAPS, ("(row_q == row_t'(2)) ? '0", "(row_q == row_t'(3)) ? '0")),
    wrong("taps in another order", TAPS, ("{taps1_q[1], taps1_q[0], taps0_q[1], taps0_q[0]}",
          "{taps1_q[0], taps1_q[1], taps0_q[1], taps0_q[0]}")),
    wrong("a window is offered while a step waits", TAPS, ("valid_q <= step && whole;", "valid_q <= whole;")),
)  # fmt: skip
REDUCED = (
    wrong("nine taps, and then eight", POOL, ("assign last  = tap_q == tap_t'(8);",
          "assign last  = tap_q == (valid_q ? tap_t'(7) : tap_t'(8));")),
    wrong("a sum that goes on from the last", POOL, ("(first ? '0 : acc_q[i])",
          "(first && !done_q ? '0 : acc_q[i])")),
    wrong("a sum that is not finished leaves", POOL, ("if (move) y_q <= y;", "if (done_q) y_q <= y;")),
    wrong("taps are counted on after reset", POOL, ("      tap_q   <= '0;\n      done_q", "      done_q")),
    wrong("a finished sum survives a reset", POOL, ("      done_q  <= 1'b0;\n      valid_q", "      valid_q")),
    wrong("a factor of the quotient that is one too small", POOL, (".Factor(64'sd57)", ".Factor(64'sd56)")),
    wrong("a factor of the quotient that is one too large", POOL, (".Factor(64'sd57)", ".Factor(64'sd58)")),
    wrong("an offset of the quotient", POOL, (".Offset(64'sd76)", ".Offset(64'sd75)")),
    wrong("a product of a bit less", POOL, (".ProductWidth(13)", ".ProductWidth(12)")),
    Attack("ties that no sum is", "pooled", edit(POOL, ".Ties(1'b0)", ".Ties(1'b1)"), "harmless"),
    wrong("ties that are not seen", MEAN, (".Ties(1'b1)", ".Ties(1'b0)")),
    wrong("ties of a bit less", MEAN, (".Tie(7)", ".Tie(8)")),
    wrong("a quotient that is wrong for one number", DIVIDE, ("assign sum = wide[SumWidth-1:0];",
          "assign sum = wide[SumWidth-1:0] ^ SumWidth'(wide == WideWidth'(131));"), victim="pooled"),
    wrong("a position that is left out", MEAN, ("assign last  = position_q == position_t'(11);",
          "assign last  = position_q == position_t'(10);")),
    wrong("sums of two blocks are mixed at one position", MEAN, ("assign acc = known[block_q];",
          "assign acc = known[block_q ^ 1'(position_q == 4'd7)];")),
    wrong("a sum that is not kept at one position", MEAN, ("if (in_fire) known[block_q] <=",
          "if (in_fire && position_q != 4'd5) known[block_q] <=")),
    wrong("positions are counted on after reset", MEAN, ("      position_q <= '0;\n      block_q", "      block_q")),
    wrong("a result that is taken while the last one waits", MEAN, ("assign data_in_0_ready = !last || done_free;",
          "assign data_in_0_ready = 1'b1;")),
)  # fmt: skip
ENLARGED = (
    wrong("a row that is given once too few", UP, ("assign row_last = row_q == row_t'(1);",
          "assign row_last = row_q == row_t'(held_q != 3'd6);")),
    wrong("released before its last copy", UP, ("assign release_one = issue && repeat_last && row_last;",
          "assign release_one = issue && repeat_last && (row_last || column_last);")),
    wrong("read before it is there", UP, ("assign there = held_q > ahead;", "assign there = held_q >= ahead;")),
    wrong("overwritten while it is needed", UP, ("held_q != count_t'(6);", "held_q != count_t'(7);")),
    wrong("the read address goes on after reset", UP, ("    if (rst) read_q <= '0;\n    else if (issue)",
          "    if (issue)")),
    wrong("copies in another order", UP, ("? read_q - address_t'(1)", "? read_q")),
)  # fmt: skip
FRAMES_ON_AXIS = (
    wrong("TLAST once in every position", AXIS, ("in_last = in_beat == 5'd17", "in_last = in_beat[0]"),
          victim="axis of frames", says="axis"),
    wrong("TLAST of an output after half a frame", AXIS, ("out_last = out_beat == 3'd7",
          "out_last = out_beat[1:0] == 2'd3"), victim="axis of frames", says="axis"),
    wrong("TLAST of an output is counted on after reset", AXIS, ("    if (!aresetn) out_beat <= 3'd0;\n    else if",
          "    if"), victim="axis of frames", says="axis"),
)  # fmt: skip
FIGURES = (
    Attack("a frame of other sides", "pooled", manifest(lambda found: [
        each.update(frame=[1, 9]) for each in (*found["streams"], *found["inputs"]) if each["frame"] == [3, 3]]),
        "not proved"),
    Attack("another geometry", "pooled", entry("window", lambda found: found["values"]["geometry"].update(
        stride=[1, 1])), "refused", "damaged"),
    Attack("padding that is no zero", "pooled", entry("window", lambda found: found["values"].update(fill=3)),
           "not proved"),
    Attack("another divisor", "pooled", entry("pool", lambda found: found["values"]["step"].update(divisor=7)),
           "not proved"),
    Attack("a divisor that is even", "pooled", entry("pool", lambda found: found["values"]["step"].update(divisor=6)),
           "not proved"),
    Attack("a divisor of millions", "pooled", entry("pool", lambda found: found["values"]["step"].update(
        divisor=16_777_215)), "not proved"),
    Attack("a divisor where nothing is divided", "folded", entry("fc", lambda found: found["values"]["step"].update(
        divisor=3)), "not proved"),
    Attack("a frame without positions", "pooled", manifest(lambda found: found["inputs"][0].update(frame=[0, 3])),
           "refused", "damaged"),
    Attack("a frame that is enlarged a million times", "enlarged", entry("up", lambda found: found["values"].update(
        factors=[1 << 20, 1 << 20])), "refused", "damaged"),
    Attack("a latency of another frame", "pooled", manifest(lambda found: found.update(latency=found["latency"] + 1)),
           "refused", "latency"),
    Attack("bounds of windows that are too narrow", "pooled", arrays(lambda found: found.update(
        {"stream.window_out": np.maximum(found["stream.window_out"], 0)})), "not proved", "is taken for 0 to 7"),
)  # fmt: skip
FRAMES = (*WINDOWS, *WIDE, *REDUCED, *ENLARGED, *FRAMES_ON_AXIS, *FIGURES)
