// SPDX-License-Identifier: Apache-2.0
//
// Cast: moves every lane of a stream to another fixed-point type.
//
// y = requantize(x) for each lane; with Rectify it is a ReLU, y = max(requantize(x), 0).
// mase_requantize says what its parameters mean.
//
// Lane i of the input becomes lane i of the output, in the same beat. There is one register stage,
// which loads when enable is high. Interval: one cycle for each beat. Latency 1.
module mase_cast #(
  parameter int unsigned        Lanes     = 1,
  parameter int unsigned        InWidth   = 8,
  parameter bit                 InSigned  = 1'b1,
  parameter int unsigned        SumWidth  = 9,
  parameter longint             Offset    = 64'sd0,
  parameter int unsigned        OutWidth  = 8,
  parameter bit                 OutSigned = 1'b1,
  parameter int                 Shift     = 0,
  parameter bit                 HalfEven  = 1'b1,
  parameter bit                 Rectify   = 1'b0,
  parameter bit                 ClampLo   = 1'b1,
  parameter bit                 ClampHi   = 1'b1
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic                      enable,
  input  logic [ Lanes*InWidth-1:0] data_in_0,
  input  logic                      data_in_0_valid,
  output logic [Lanes*OutWidth-1:0] data_out_0,
  output logic                      data_out_0_valid
);

  if (Lanes < 1) begin : gen_bad_lanes
    $fatal(1, "mase_cast: Lanes = %0d is below 1", Lanes);
  end
  if (InWidth < 1) begin : gen_bad_inwidth
    $fatal(1, "mase_cast: InWidth = %0d is below 1", InWidth);
  end

  // Requantize reads signed numbers: an unsigned lane gets a zero as its sign.
  localparam int unsigned ValueWidth = InWidth + (InSigned ? 0 : 1);
  typedef logic signed [ValueWidth-1:0] value_t;

  logic [Lanes-1:0][InWidth-1:0] x;
  logic [Lanes-1:0][OutWidth-1:0] y, y_q;
  logic valid_q;

  assign x = data_in_0;

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    value_t value;
    if (InSigned) begin : gen_signed
      assign value = x[i];
    end else begin : gen_unsigned
      assign value = {1'b0, x[i]};
    end
    mase_requantize #(
      .InWidth  (ValueWidth),
      .SumWidth (SumWidth),
      .Offset   (Offset),
      .OutWidth (OutWidth),
      .OutSigned(OutSigned),
      .Shift    (Shift),
      .HalfEven (HalfEven),
      .Rectify  (Rectify),
      .ClampLo  (ClampLo),
      .ClampHi  (ClampHi)
    ) u_requantize (
      .n_i(value),
      .q_o(y[i])
    );
  end

  always_ff @(posedge clk) begin
    if (enable) y_q <= y;
  end

  always_ff @(posedge clk) begin
    if (rst) valid_q <= 1'b0;
    else if (enable) valid_q <= data_in_0_valid;
  end

  assign data_out_0 = y_q;
  assign data_out_0_valid = valid_q;

endmodule
