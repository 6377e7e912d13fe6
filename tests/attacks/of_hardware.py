"""Hardware that is within the language and wrong, or strange and right."""

from __future__ import annotations

from victims import Attack, both, edit, within

TOP, FC, SKID, FIFO = "net.sv", "net_fc1.sv", "mase_skid_buffer.sv", "mase_fifo.sv"
GATHER, SCATTER, FORK, JOIN, AXIS = "mase_gather.sv", "mase_scatter.sv", "net_copies.sv", "net_joined.sv", "net_axis.v"


def wrong(name: str, victim: str, file: str, old: str, new: str, says: str = "") -> Attack:
    return Attack(name, victim, edit(file, old, new), "not proved", says)


def same(name: str, victim: str, file: str, old: str, new: str) -> Attack:
    return Attack(name, victim, edit(file, old, new), "harmless")


HARDWARE = (
    # The wiring of the top.
    Attack("a wide gate as the enable", "pipes", edit(TOP, "assign fc1_enable = data_out_0_ready || !data_out_0_valid;",
           "logic [1:0] both;\n  assign both = {data_out_0_ready, data_out_0_ready} | {!data_out_0_valid, 1'b0};\n"
           "  assign fc1_enable = both[0];"), "not proved", "wiring"),
    wrong("a register in the top", "pipes", TOP, "assign data_in_0_ready = fc1_enable;",
          "logic late_q;\n  always_ff @(posedge clk) begin\n    late_q <= fc1_enable;\n  end\n"
          "  assign data_in_0_ready = late_q;", "wiring"),
    Attack("something idle in the top", "pipes", within(TOP, "  logic [7:0] idle_q;\n"
           "  always_ff @(posedge clk) begin\n    idle_q <= data_out_0;\n  end"), "harmless"),
    wrong("lanes in another order", "pipes", TOP, ".data_in_0(fc1_out),", ".data_in_0({fc1_out[3:0], fc1_out[7:4]}),"),
    wrong("reset of one component alone", "pipes", TOP, "  net_fc2 u_fc2 (\n    .clk,\n    .rst,",
          "  net_fc2 u_fc2 (\n    .clk,\n    .rst(1'b0),", "rst"),
    wrong("a clock that is inverted", "pipes", TOP, "  net_fc2 u_fc2 (\n    .clk,",
          "  net_fc2 u_fc2 (\n    .clk(!clk),"),
    wrong("enable is held in reset", "pipes", TOP, "data_out_0_ready || !data_out_0_valid;",
          "data_out_0_ready || !data_out_0_valid || rst;", "enable"),
    wrong("one enable is another gate", "pipes",
          TOP, "  net_fc2 u_fc2 (\n    .clk,\n    .rst,\n    .enable(fc1_enable),",
          "  net_fc2 u_fc2 (\n    .clk,\n    .rst,\n    .enable(fc1_enable || data_in_0_valid),"),
    # Pipes.
    wrong("a constant of one rare vector", "pipes", FC, "assign data_out_0 = {y1_q1, y0_q1};",
          "assign data_out_0 = {y1_q1, y0_q1} ^ {7'd0, data_out_0_valid && y1_q1 == 4'd5 && y0_q1 == 4'd3};"),
    wrong("an output past the register", "pipes", FC, "assign data_out_0 = {y1_q1, y0_q1};",
          "assign data_out_0 = {y1_q1, y0};"),
    wrong("a register that does not hold", "pipes",
          FC, "    if (enable) begin\n      y0_q1 <= y0;\n      y1_q1 <= y1;\n    end",
          "    y1_q1 <= y1;\n    if (enable) y0_q1 <= y0;"),
    wrong("valid is not reset", "pipes", FC, "    if (rst) valid_q <= '0;\n    else if (enable)", "    if (enable)",
          "reset"),
    wrong("valid has a state more", "pipes", FC, "else if (enable) valid_q <= data_in_0_valid;",
          "else if (enable) valid_q <= data_in_0_valid && !(&{y1_q1, y0_q1});"),
    wrong("a sum with a sign too many", "pipes", FC, ".n_i({1'b0, n2})", ".n_i({n2[6], n2})"),
    wrong("rounding the other way", "pipes", "mase_requantize.sv", "wide[Down-1:0] == '0;", "wide[Down-1:0] == '1;"),
    wrong("a bit of saturation less", "pipes", "mase_requantize.sv", "!negative && |value[ValueWidth-2:Bits];",
          "!negative && value[ValueWidth-2];"),
    wrong("a parameter that has another value", "pipes", "mase_requantize.sv",
          "localparam longint Constant = Offset + Half;",
            "localparam longint Constant = Offset + Half + (InWidth == 9 ? 1 : 0);"),
    same("the same by other words", "pipes", FC, "assign data_out_0_valid = valid_q[0];",
         "logic again;\n  assign again = valid_q[0];\n  assign data_out_0_valid = again;"),
    same("a gate in another form", "pipes", TOP, "data_out_0_ready || !data_out_0_valid;",
         "!data_out_0_valid || data_out_0_ready;"),
    # Skid buffers.
    wrong("a skid buffer whose flag is not reset", "streams",
          SKID, "      skid_valid_q <= 1'b0;\n    end else if (out_free)",
          "    end else if (out_free)"),
    wrong("a skid buffer that is reset late", "streams", SKID, "    if (rst) begin\n      out_valid_q  <= 1'b0;",
          "    if (rst) begin\n      out_valid_q  <= out_valid_q && !out_free;"),
    wrong("a skid buffer that forgets", "streams", SKID, "skid_valid_q ? skid_q : data_in_0", "data_in_0"),
    wrong("ready looks at data", "streams", SKID, "data_in_0_ready = !skid_valid_q;",
          "data_in_0_ready = !skid_valid_q || &skid_q;"),
    wrong("valid waits for ready", "streams", SKID, "data_out_0_valid = out_valid_q;",
          "data_out_0_valid = out_valid_q && data_out_0_ready;"),
    same("data that nobody reads in a skid buffer", "streams", SKID, "if (in_fire) skid_q <= data_in_0;",
         "if (data_in_0_ready) skid_q <= data_in_0;"),
    # FIFOs.
    wrong("a FIFO that takes one too many", "streams", FIFO, "count_q != count_t'(Depth);",
          "count_q != count_t'(Depth + 1);"),
    wrong("a FIFO that wraps elsewhere", "streams", FIFO, "read_q <= (read_q == Last) ? '0",
          "read_q <= (read_q == '1) ? '0"),
    wrong("a FIFO whose place is not reset", "streams", FIFO, "      read_q  <= '0;\n      count_q", "      count_q"),
    wrong("a FIFO that is written in reset", "streams", FIFO, "    if (rst) begin\n      write_q <= '0;",
          "    if (rst) begin\n      write_q <= index_t'(in_fire);"),
    wrong("a FIFO that writes without a beat", "streams", FIFO, "if (in_fire) memory[write_q]",
          "if (data_in_0_ready) memory[read_q]"),
    wrong("a FIFO with two write ports", "streams", FIFO, "if (in_fire) memory[write_q] <= data_in_0;",
          "if (in_fire) memory[write_q] <= data_in_0;\n    if (out_fire) memory[read_q] <= ~data_in_0;"),
    wrong("a FIFO with a mask", "streams", FIFO, "if (in_fire) memory[write_q] <= data_in_0;",
          "if (in_fire) memory[write_q][Width-1:1] <= data_in_0[Width-1:1];"),
    wrong("a FIFO past its memory", "streams", FIFO, "assign data_out_0 = memory[read_q];",
          "assign data_out_0 = (count_q == count_t'(1) && in_fire) ? data_in_0 : memory[read_q];"),
    # Width adapters, also after a reset in the middle of a vector.
    wrong("a gather that goes on after reset", "streams", GATHER, "      count_q <= '0;\n      valid_q <= 1'b0;",
          "      valid_q <= 1'b0;"),
    wrong("a gather in another order", "streams", GATHER, "beats_q[count_q] <=", "beats_q[Last - count_q] <="),
    wrong("a scatter that goes on after reset", "streams", SCATTER, "      count_q <= '0;\n      valid_q <= 1'b0;",
          "      valid_q <= 1'b0;"),
    wrong("a scatter that takes too early", "streams", SCATTER, "!valid_q || (data_out_0_ready && count_q == Last);",
          "!valid_q || data_out_0_ready;"),
    wrong("a gather that offers half a vector", "streams", GATHER, "if (in_fire && count_q == Last) valid_q",
          "if (in_fire) valid_q"),
    # Folded arrays.
    wrong("one digit of a weight", "folded", "net_fc.sv", "18'h1f765", "18'h1f764", "values"),
    wrong("one digit of a later stage", "folded", "net_fc.sv", "6'h18", "6'h19", "values"),
    wrong("a bias of another block", "folded", "net_fc.sv", "15'h7680", "15'h7681", "values"),
    wrong("a table that is too short", "folded", "net_fc.sv", "assign address = {word_q};", "assign address = 1'b0;"),
    wrong("a step counter that goes on after reset", "folded", "net_fc.sv",
          "    if (rst) word_q <= '0;\n    else if (issue)",
          "    if (issue)"),
    wrong("words that are counted on after reset", "folded", "net_fc.sv",
          "    if (rst) write_word_q <= '0;\n    else if (in_fire)", "    if (in_fire)"),
    wrong("sums that go on after reset", "folded", "net_fc.sv", "    if (rst) first_q <= 1'b1;\n    else if (enable",
          "    if (enable"),
    wrong("the halves of the buffer are one", "folded", "net_fc.sv", "buffer[{read_half_q, word_q}]",
          "buffer[{write_half_q, word_q}]"),
    wrong("a step before its word", "folded", "net_fc.sv", "word_q != write_word_q;", "1'b1;"),
    same("a start that is added with the second step", "folded", "net_fc.sv", "if ({word_q} != '0) start_q <= '0;",
          "if ({word_q} == '0) start_q <= '0;"),
    # Forks and joins.
    wrong("a fork that hands on too early", "branched", FORK, "(pending_q & ~branch_ready) == '0;",
          "!(&(pending_q & ~branch_ready));"),
    wrong("a fork whose flag is not reset", "branched", FORK, "      pending_q    <= '0;\n", ""),
    wrong("a fork that gives twice", "branched", FORK, "pending_q    <= pending_q & ~branch_ready;",
          "pending_q    <= pending_q;"),
    wrong("a branch with other data", "branched", FORK, "assign data_out_1 = out_q;",
          "assign data_out_1 = {out_q[7:0], out_q[15:8]};"),
    wrong("a branch that waits for another", "branched", FORK, "assign data_out_1_valid = pending_q[1];",
          "assign data_out_1_valid = pending_q[1] && !pending_q[0];"),
    # The AXI4-Stream top.
    wrong("TLAST too early", "axis", AXIS, "in_last = in_beat == 1'd1", "in_last = in_beat == 1'd0", "axis"),
    wrong("TLAST says what is wanted", "axis", AXIS, "s_axis_tlast != in_last", "s_axis_tlast && !in_last", "axis"),
    wrong("taken in reset", "axis", AXIS, "in_ready && aresetn", "in_ready", "axis"),
    wrong("padding is read", "axis", AXIS, "s_axis_tdata[lane * 8 +: 4];", "s_axis_tdata[lane * 8 + 1 +: 4];", "axis"),
    wrong("a sign that is cut off", "axis", AXIS, "{4{out_data[lane * 4 + 3]}}", "4'd0", "axis"),
    wrong("a beat counter without reset", "axis", AXIS, "    if (!aresetn) in_beat <= 1'd0;\n    else if (in_fire)",
          "    if (in_fire)", "axis"),
    wrong("reset of the design is another", "axis", AXIS, ".rst(!aresetn)", ".rst(!aresetn && !s_axis_tvalid)", "axis"),
    Attack("more than the design in the AXI4-Stream top", "axis", both(within(AXIS,
           "  reg [7:0] idle;\n  always @(posedge aclk) begin\n    idle <= m_axis_tdata[7:0];\n  end\n"
           "  wire unused_idle;\n"
           "  assign unused_idle = |idle;"),), "harmless"),
)  # fmt: skip
