// SPDX-License-Identifier: Apache-2.0
//
// FIFO of Depth beats: y = x, in the order of arrival.
//
// data_in_0_ready depends on registers alone. Interval: one cycle for each beat, or two where Depth
// is 1, because it is not filled in the cycle in which it is emptied. Latency 1.
module mase_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4
) (
  input  logic             clk,
  input  logic             rst,
  input  logic [Width-1:0] data_in_0,
  input  logic             data_in_0_valid,
  output logic             data_in_0_ready,
  output logic [Width-1:0] data_out_0,
  output logic             data_out_0_valid,
  input  logic             data_out_0_ready
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "mase_fifo: Width = %0d is below 1", Width);
  end
  if (Depth < 1) begin : gen_bad_depth
    $fatal(1, "mase_fifo: Depth = %0d is below 1", Depth);
  end

  localparam int unsigned IndexWidth = (Depth > 1) ? $clog2(Depth) : 1;
  localparam int unsigned CountWidth = $clog2(Depth + 1);
  typedef logic [IndexWidth-1:0] index_t;
  typedef logic [CountWidth-1:0] count_t;
  localparam index_t Last = index_t'(Depth - 1);

  logic [Width-1:0] memory[Depth];
  index_t write_q, read_q;
  count_t count_q;
  logic in_fire, out_fire;

  assign in_fire  = data_in_0_valid && data_in_0_ready;
  assign out_fire = data_out_0_valid && data_out_0_ready;

  always_ff @(posedge clk) begin
    if (in_fire) memory[write_q] <= data_in_0;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      write_q <= '0;
      read_q  <= '0;
      count_q <= '0;
    end else begin
      if (in_fire) write_q <= (write_q == Last) ? '0 : write_q + index_t'(1);
      if (out_fire) read_q <= (read_q == Last) ? '0 : read_q + index_t'(1);
      count_q <= count_q + count_t'(in_fire) - count_t'(out_fire);
    end
  end

  assign data_in_0_ready = count_q != count_t'(Depth);
  assign data_out_0 = memory[read_q];
  assign data_out_0_valid = count_q != '0;

endmodule
