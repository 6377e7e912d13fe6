// Cast: every lane to another fixed-point type, y = requantize(x); with Rectify, a ReLU: y = requantize(max(x, 0)).
//
// One register stage; takes and gives a beat in every cycle. Latency 1.
module mase_cast #(
  parameter int unsigned Lanes     = 1,
  parameter int unsigned InWidth   = 8,
  parameter bit          InSigned  = 1'b1,
  parameter int unsigned OutWidth  = 8,
  parameter bit          OutSigned = 1'b1,
  parameter int          Shift     = 0,
  parameter bit          HalfEven  = 1'b1,
  parameter bit          Saturate  = 1'b1,
  parameter bit          Rectify   = 1'b0
) (
  input  logic                      clk,
  input  logic                      rst,
  input  logic [ Lanes*InWidth-1:0] data_in_0,
  input  logic                      data_in_0_valid,
  output logic                      data_in_0_ready,
  output logic [Lanes*OutWidth-1:0] data_out_0,
  output logic                      data_out_0_valid,
  input  logic                      data_out_0_ready
);

  localparam int unsigned ValueWidth = InWidth + (InSigned ? 0 : 1);  // signed, whatever the input is
  typedef logic signed [ValueWidth-1:0] value_t;

  logic [Lanes-1:0][InWidth-1:0] x;
  value_t [Lanes-1:0] value;
  logic [Lanes-1:0][OutWidth-1:0] y, y_q;
  logic valid_q;
  logic enable;

  assign x = data_in_0;
  assign enable = data_out_0_ready || !valid_q;

  for (genvar i = 0; i < Lanes; i++) begin : gen_lanes
    if (InSigned) begin : gen_signed
      assign value[i] = (Rectify && x[i][InWidth-1]) ? '0 : x[i];
    end else begin : gen_unsigned
      assign value[i] = {1'b0, x[i]};
    end
    mase_requantize #(
      .InWidth  (ValueWidth),
      .OutWidth (OutWidth),
      .OutSigned(OutSigned),
      .Shift    (Shift),
      .HalfEven (HalfEven),
      .Saturate (Saturate)
    ) u_requantize (
      .n_i(value[i]),
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

  assign data_in_0_ready = enable;
  assign data_out_0 = y_q;
  assign data_out_0_valid = valid_q;

endmodule
