// Requantize: an integer to another fixed-point type, the only place where bits are lost. Combinational.
//
// q = clamp(round(n * 2**-Shift)) with round = floor, or half to even (ties go to the even neighbour);
// a negative Shift appends zeros. Saturate = 0 promises that no clamping is ever needed.
module mase_requantize #(
  parameter int unsigned InWidth   = 16,
  parameter int unsigned OutWidth  = 8,
  parameter bit          OutSigned = 1'b1,
  parameter int          Shift     = 4,
  parameter bit          HalfEven  = 1'b1,
  parameter bit          Saturate  = 1'b1
) (
  input  logic signed [ InWidth-1:0] n_i,
  output logic        [OutWidth-1:0] q_o
);

  // Rounded, not yet clamped: one bit more than floor needs, for the carry of rounding up.
  localparam int unsigned Down = (Shift > 0) ? unsigned'(Shift) : 0;
  localparam int unsigned Up = (Shift < 0) ? unsigned'(-Shift) : 0;
  localparam int unsigned WideWidth = ((InWidth > Down) ? InWidth : Down) + 1;
  localparam int unsigned ValueWidth = WideWidth - Down + Up;

  logic signed [ValueWidth-1:0] value;

  if (Shift > 0) begin : gen_down
    logic signed [WideWidth-1:0] wide;
    logic signed [ValueWidth-1:0] floor;
    assign wide  = WideWidth'(n_i);
    assign floor = wide[WideWidth-1:Down];
    if (HalfEven) begin : gen_half_even
      logic half, rest, up;
      assign half = wide[Down-1];
      if (Down > 1) begin : gen_rest
        assign rest = |wide[Down-2:0];
      end else begin : gen_no_rest
        assign rest = 1'b0;
      end
      assign up = half && (rest || floor[0]);
      assign value = floor + ValueWidth'($signed({1'b0, up}));
    end else begin : gen_floor
      logic unused_rest;
      assign value = floor;
      assign unused_rest = ^wide[Down-1:0];
    end
  end else if (Shift < 0) begin : gen_up
    assign value = {WideWidth'(n_i), {Up{1'b0}}};
  end else begin : gen_same
    assign value = ValueWidth'(n_i);
  end

  if (Saturate) begin : gen_saturate
    localparam int unsigned CompareWidth = ((ValueWidth > OutWidth) ? ValueWidth : OutWidth) + 1;
    localparam logic signed [CompareWidth-1:0] One = CompareWidth'(1);
    localparam logic signed [CompareWidth-1:0] Hi = (One <<< (OutWidth - 32'(OutSigned))) - One;
    localparam logic signed [CompareWidth-1:0] Lo = OutSigned ? -(One <<< (OutWidth - 1)) : '0;
    logic signed [CompareWidth-1:0] compared;
    assign compared = CompareWidth'(value);
    always_comb begin
      if (compared > Hi) q_o = Hi[OutWidth-1:0];
      else if (compared < Lo) q_o = Lo[OutWidth-1:0];
      else q_o = compared[OutWidth-1:0];
    end
  end else begin : gen_fits
    assign q_o = OutWidth'(value);
    if (ValueWidth > OutWidth) begin : gen_unused
      logic unused_sign;  // copies of the sign, as the promise says
      assign unused_sign = ^value[ValueWidth-1:OutWidth];
    end
  end

endmodule
