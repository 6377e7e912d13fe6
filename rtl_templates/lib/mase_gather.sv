// SPDX-License-Identifier: Apache-2.0
//
// Gather: Ratio narrow beats of Width bits become one wide beat, y = {x[Ratio-1], ..., x[0]}.
//
// The first narrow beat is in the lowest bits. A narrow beat is taken in every cycle, unless the
// wide beat before it has not been taken. Interval: Ratio cycles for each wide beat. Latency Ratio.
module mase_gather #(
  parameter int unsigned Width = 8,
  parameter int unsigned Ratio = 2
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic [      Width-1:0] data_in_0,
  input  logic                   data_in_0_valid,
  output logic                   data_in_0_ready,
  output logic [Ratio*Width-1:0] data_out_0,
  output logic                   data_out_0_valid,
  input  logic                   data_out_0_ready
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "mase_gather: Width = %0d is below 1", Width);
  end
  if (Ratio < 2) begin : gen_bad_ratio
    $fatal(1, "mase_gather: Ratio = %0d is below 2", Ratio);
  end

  localparam int unsigned CountWidth = $clog2(Ratio);
  typedef logic [CountWidth-1:0] count_t;
  localparam count_t Last = count_t'(Ratio - 1);

  logic [Ratio-1:0][Width-1:0] beats_q;
  count_t count_q;
  logic valid_q;
  logic in_fire;

  assign in_fire = data_in_0_valid && data_in_0_ready;

  always_ff @(posedge clk) begin
    if (in_fire) beats_q[count_q] <= data_in_0;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      count_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (in_fire) count_q <= (count_q == Last) ? '0 : count_q + count_t'(1);
      if (in_fire && count_q == Last) valid_q <= 1'b1;
      else if (data_out_0_ready) valid_q <= 1'b0;
    end
  end

  assign data_in_0_ready = data_out_0_ready || !valid_q;
  assign data_out_0 = beats_q;
  assign data_out_0_valid = valid_q;

endmodule
