// Watches a stream: records every accepted beat with its cycle, counts the beats, and checks the
// stream rule.
//
// The record is a binary file of little-endian 64-bit words: the cycle, then the data in ceil(BITS
// / 64) words, the least significant first. The rule: after valid && !ready, valid stays high and
// data stays the same. A broken rule does not stop the run; its first cycle is kept and judged at
// the end, with everything else. Verilator has no unknown bits: registers without a reset start
// with random ones instead.
module mase_stream_probe #(
  parameter int unsigned BITS = 8,
  parameter string       NAME = ""
) (
  input  logic            clk,
  input  logic            rst,
  input  logic [31:0]     run,
  input  logic [63:0]     cycle,
  input  logic [BITS-1:0] data,
  input  logic            valid,
  input  logic            ready,
  output logic            fire,
  output logic [31:0]     seen,
  output logic            broken,
  output logic [63:0]     broken_cycle
);
  localparam int unsigned WORDS = (BITS + 63) / 64;

  int file;

  initial file = 0;

  assign fire = valid && ready && !rst;

  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk) begin
    if (rst) begin
      if (file != 0) $fclose(file);  // the bench reads the file while reset is high
      file = 0;
      seen <= '0;
    end else begin
      if (file == 0) begin
        file = $fopen($sformatf("%0d.%s.bin", run, NAME), "wb");
        if (file == 0) $fatal(1, "mase_stream_probe: cannot write %0d.%s.bin", run, NAME);
      end
      if (fire) begin
        seen <= seen + 32'd1;
        $fwrite(file, "%u", {(64 * WORDS)'(data), cycle});
      end
    end
  end
  /* verilator lint_on BLKSEQ */

  // The rule as registers, not as `valid && !ready |=> valid && $stable(data)`, which it equals: a
  // failing assertion only prints, and here the first cycle is kept for the verdict.
  logic            held_q;
  logic [BITS-1:0] data_q;
  logic            breaks;

  assign breaks = held_q && (!valid || data != data_q);

  always_ff @(posedge clk) begin
    if (rst) begin
      held_q <= 1'b0;
      broken <= 1'b0;
    end else begin
      held_q <= valid && !ready;
      data_q <= data;
      if (breaks && !broken) begin
        broken       <= 1'b1;
        broken_cycle <= cycle;
      end
    end
  end
endmodule
