// SPDX-License-Identifier: Apache-2.0
//
// Skid buffer: y = x, without a combinational path from data_out_0_ready to data_in_0_ready.
//
// Beats leave in the order of arrival. There are two registers. Interval: one cycle for each beat.
// Latency 1.
module mase_skid_buffer #(
  parameter int unsigned Width = 8
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
    $fatal(1, "mase_skid_buffer: Width = %0d is below 1", Width);
  end

  logic [Width-1:0] out_q, skid_q;
  logic out_valid_q, skid_valid_q;
  logic in_fire, out_free;

  assign in_fire = data_in_0_valid && data_in_0_ready;
  assign out_free = data_out_0_ready || !out_valid_q;

  // A beat that arrives while the output register is blocked waits in the skid register. It is the
  // next to leave.
  always_ff @(posedge clk) begin
    if (out_free) out_q <= skid_valid_q ? skid_q : data_in_0;
    if (in_fire) skid_q <= data_in_0;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      out_valid_q  <= 1'b0;
      skid_valid_q <= 1'b0;
    end else if (out_free) begin
      out_valid_q  <= skid_valid_q || in_fire;
      skid_valid_q <= 1'b0;
    end else if (in_fire) begin
      skid_valid_q <= 1'b1;
    end
  end

  assign data_in_0_ready = !skid_valid_q;
  assign data_out_0 = out_q;
  assign data_out_0_valid = out_valid_q;

endmodule
