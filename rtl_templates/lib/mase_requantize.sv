// Requantize: an integer plus a constant to another fixed-point type, the only place where bits are lost. Combinational.
//
// q = clamp(round((n + Offset) * 2**-Shift)) with round = floor, or half to even (ties go to the even neighbour); a
// negative Shift appends zeros. With Rectify negative results become 0. SumWidth signed bits hold n + Offset, or with
// half to even n + Offset + 2**(Shift-1). ClampLo = 0 promises that no result is too small, ClampHi = 0 that none is too
// large.
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

  localparam int unsigned Down = (Shift > 0) ? unsigned'(Shift) : 0;
  localparam int unsigned Up = (Shift < 0) ? unsigned'(-Shift) : 0;
  // What is left of the sum has a bit at least, and two where a tie makes it even: -1 becomes -2.
  localparam int unsigned LeastWidth = Down + ((HalfEven && Down > 0) ? 2 : 1);
  localparam int unsigned WideWidth = ((SumWidth > LeastWidth) ? SumWidth : LeastWidth);
  localparam int unsigned ValueWidth = WideWidth - Down + Up;

  // Half to even is floor of the sum with one half, except that a tie becomes even: its lowest bit is cleared.
  localparam longint Half = (HalfEven && Down > 0) ? longint'(1) <<< (Down - 1) : 64'sd0;
  localparam longint Constant = Offset + Half;

  (* keep *)logic signed [SumWidth-1:0] sum;
  logic signed [WideWidth-1:0] wide;
  logic signed [ValueWidth-1:0] value;

  if (Constant != 64'sd0) begin : gen_sum
    assign sum = SumWidth'(n_i) + SumWidth'(Constant);
  end else begin : gen_no_sum
    assign sum = SumWidth'(n_i);
  end
  if (InWidth > SumWidth) begin : gen_unused_high
    logic unused_high;  // the sum's proven range is narrower than its first operand
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

  // The output without its sign bit has Bits bits; what the value has above them decides whether it is too large.
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
