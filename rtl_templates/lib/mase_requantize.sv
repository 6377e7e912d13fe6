// SPDX-License-Identifier: Apache-2.0
//
// Requantize: moves an integer plus a constant to another fixed-point type.
//
// q = clamp(round((n + Offset) * 2**-Shift)). Rounding is floor, or with HalfEven to the nearest,
// ties to the even neighbour. A negative Shift appends zeros. With Rectify, negative results become
// 0. SumWidth signed bits hold n + Offset, or with HalfEven n + Offset + 2**(Shift-1). ClampLo = 0
// promises that no result is too small, ClampHi = 0 that none is too large.
//
// This is the only module that drops bits of a value. It is combinational: latency 0.
module mase_requantize #(
  parameter int unsigned        InWidth   = 16,
  parameter int unsigned        SumWidth  = 17,
  parameter longint             Offset    = 64'sd0,
  parameter int unsigned        OutWidth  = 8,
  parameter bit                 OutSigned = 1'b1,
  parameter int                 Shift     = 4,
  parameter bit                 HalfEven  = 1'b1,
  parameter bit                 Rectify   = 1'b0,
  parameter bit                 ClampLo   = 1'b1,
  parameter bit                 ClampHi   = 1'b1
) (
  input  logic signed [ InWidth-1:0] n_i,
  output logic        [OutWidth-1:0] q_o
);

  if (InWidth < 1) begin : gen_bad_inwidth
    $fatal(1, "mase_requantize: InWidth = %0d is below 1", InWidth);
  end
  if (SumWidth < 1) begin : gen_bad_sumwidth
    $fatal(1, "mase_requantize: SumWidth = %0d is below 1", SumWidth);
  end
  if (OutWidth < 1) begin : gen_bad_outwidth
    $fatal(1, "mase_requantize: OutWidth = %0d is below 1", OutWidth);
  end
  if (Shift > 63 || Shift < -63) begin : gen_bad_shift
    $fatal(1, "mase_requantize: Shift = %0d is not within -63 to 63", Shift);
  end

  localparam int unsigned Down = (Shift > 0) ? unsigned'(Shift) : 0;
  localparam int unsigned Up = (Shift < 0) ? unsigned'(-Shift) : 0;
  // At least one bit of the sum is left after the shift, and two where ties go to even: -1 becomes
  // -2.
  localparam int unsigned LeastWidth = Down + ((HalfEven && Down > 0) ? 2 : 1);
  localparam int unsigned WideWidth = (SumWidth > LeastWidth) ? SumWidth : LeastWidth;
  localparam int unsigned ValueWidth = WideWidth - Down + Up;

  // Half to even is the floor of the sum with one half, except for a tie, whose lowest bit is
  // cleared.
  localparam longint Half = (HalfEven && Down > 0) ? longint'(1) <<< (Down - 1) : 64'sd0;
  localparam longint Constant = Offset + Half;

  // `keep` is for Yosys: without it, its pass alumacc merges this addition with the ones before it
  // into a sum of many operands, which takes more LUTs than one carry chain for each addition.
  (* keep *) logic signed [SumWidth-1:0] sum;
  logic signed [WideWidth-1:0] wide;
  logic signed [ValueWidth-1:0] value;

  if (Constant != 64'sd0) begin : gen_sum
    assign sum = SumWidth'(n_i) + SumWidth'(Constant);
  end else begin : gen_no_sum
    assign sum = SumWidth'(n_i);
  end
  if (InWidth > SumWidth) begin : gen_unused_high
    logic unused_high;  // the proven range of the sum is narrower than n
    assign unused_high = ^n_i[InWidth-1:SumWidth];
  end

  assign wide = WideWidth'(sum);
  if (Shift > 0) begin : gen_down
    if (HalfEven) begin : gen_half_even
      logic tie;
      assign tie   = wide[Down-1:0] == '0;
      assign value = wide[WideWidth-1:Down] & ~ValueWidth'(tie);
    end else begin : gen_floor
      logic unused_rest;
      assign value = wide[WideWidth-1:Down];
      assign unused_rest = ^wide[Down-1:0];
    end
  end else if (Shift < 0) begin : gen_up
    assign value = {wide, {Up{1'b0}}};
  end else begin : gen_same
    assign value = wide;
  end

  // The output has Bits bits without its sign. The bits of the value above them show whether it is
  // too large or too small.
  localparam bit NonNegative = !OutSigned || Rectify;
  localparam int unsigned Bits = OutWidth - (OutSigned ? 1 : 0);
  logic negative, above, below;
  assign negative = value[ValueWidth-1];
  if (ValueWidth > Bits + 1) begin : gen_wide
    assign above = ClampHi && !negative && |value[ValueWidth-2:Bits];
    assign below = ClampLo && negative && (NonNegative || !(&value[ValueWidth-2:Bits]));
  end else begin : gen_narrow
    assign above = 1'b0;
    assign below = ClampLo && negative && NonNegative;
  end
  if (Bits > 0) begin : gen_bits
    assign q_o[Bits-1:0] = (Bits'(value) | {Bits{above}}) & ~{Bits{below}};
  end
  if (OutSigned) begin : gen_sign
    assign q_o[OutWidth-1] = Rectify ? 1'b0 : negative;
  end

endmodule
