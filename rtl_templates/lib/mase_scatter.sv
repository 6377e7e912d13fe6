// SPDX-License-Identifier: Apache-2.0
//
// Scatter: one wide beat becomes Ratio narrow beats of Width bits, y[k] = x[k*Width+:Width].
//
// The lowest bits leave first. The next wide beat is taken in the cycle in which the last narrow
// one leaves. Interval: Ratio cycles for each wide beat. Latency 1.
module mase_scatter #(
  parameter int unsigned Width = 8,
  parameter int unsigned Ratio = 2
) (
  input  logic                   clk,
  input  logic                   rst,
  input  logic [Ratio*Width-1:0] data_in_0,
  input  logic                   data_in_0_valid,
  output logic                   data_in_0_ready,
  output logic [      Width-1:0] data_out_0,
  output logic                   data_out_0_valid,
  input  logic                   data_out_0_ready
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "mase_scatter: Width = %0d is below 1", Width);
  end
  if (Ratio < 2) begin : gen_bad_ratio
    $fatal(1, "mase_scatter: Ratio = %0d is below 2", Ratio);
  end

  localparam int unsigned CountWidth = $clog2(Ratio);
  typedef logic [CountWidth-1:0] count_t;
  localparam count_t Last = count_t'(Ratio - 1);

  logic [Ratio*Width-1:0] beats_q;
  count_t count_q;
  logic valid_q;
  logic in_fire, out_fire;

  assign in_fire  = data_in_0_valid && data_in_0_ready;
  assign out_fire = data_out_0_valid && data_out_0_ready;

  // The beats are shifted down, not selected: that needs no wide multiplexer.
  always_ff @(posedge clk) begin
    if (in_fire) beats_q <= data_in_0;
    else if (out_fire) beats_q <= beats_q >> Width;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      count_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (out_fire) count_q <= (count_q == Last) ? '0 : count_q + count_t'(1);
      if (in_fire) valid_q <= 1'b1;
      else if (out_fire && count_q == Last) valid_q <= 1'b0;
    end
  end

  assign data_in_0_ready = !valid_q || (data_out_0_ready && count_q == Last);
  assign data_out_0 = beats_q[Width-1:0];
  assign data_out_0_valid = valid_q;

endmodule
