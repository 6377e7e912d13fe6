// Drives a stream with the beats of a binary file, one beat after the other.
//
// A beat is ceil(BITS / 8) bytes, the most significant first, as $fread fills a packed variable.
// Once valid is high, valid and data hold until ready. Between beats data is inverted, so that a
// design that ignores valid is seen.
module mase_stream_source #(
  parameter int unsigned BITS = 8,
  parameter string       FILE = ""
) (
  input  logic            clk,
  input  logic            rst,
  input  logic            gaps,
  input  logic [31:0]     seed,
  input  logic [31:0]     beats,
  output logic [BITS-1:0] data,
  output logic            valid,
  input  logic            ready
);
  localparam int BYTES = (int'(BITS) + 7) / 8;

  int                 file;
  int                 count;
  logic [8*BYTES-1:0] beat;
  logic [31:0]        sent_q;
  logic               stall;

  initial file = 0;

  mase_stream_stall u_stall (.clk, .rst, .enable(gaps), .seed, .stall);

  // Reading a file is a side effect: the file's position is the state, so these are blocking
  // assignments.
  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk) begin
    if (rst) begin
      if (file == 0) begin
        file = $fopen(FILE, "rb");
        if (file == 0) $fatal(1, "mase_stream_source: cannot open %s", FILE);
      end else if ($fseek(file, 0, 0) != 0) begin
        $fatal(1, "mase_stream_source: cannot rewind %s", FILE);
      end
      sent_q <= '0;
      valid  <= 1'b0;
    end else if (!valid || ready) begin
      if (sent_q < beats && !stall) begin
        count = $fread(beat, file);
        if (count != BYTES) $fatal(1, "mase_stream_source: %s ends within beat %0d", FILE, sent_q);
        data   <= beat[BITS-1:0];
        valid  <= 1'b1;
        sent_q <= sent_q + 32'd1;
      end else begin
        data  <= ~data;
        valid <= 1'b0;
      end
    end
  end
  /* verilator lint_on BLKSEQ */

  if (BITS % 8 != 0) begin : g_padding
    logic unused_padding;
    assign unused_padding = ^beat[8*BYTES-1:BITS];
  end
endmodule
