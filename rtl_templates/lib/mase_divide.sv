// SPDX-License-Identifier: Apache-2.0
//
// Divide: an integer divided by a constant and rounded, as a multiplication.
//
// q = (((n << Up) + Offset) * Factor >> Shift) - Back. Offset holds one half of the divisor, for
// rounding to the nearest, and Back times the divisor, which makes the sum positive. With Ties, the
// lowest bit of the shifted product is cleared where the bits of the product from Tie to Shift are
// zeros: there the quotient lies between two integers, and goes to the even one. Factor and Shift
// are the smallest with which this is exact for every n that comes.
//
// It is combinational: latency 0.
module mase_divide #(
  parameter int unsigned InWidth      = 12,
  parameter int unsigned Up           = 0,
  parameter longint      Offset       = 64'sd4,
  parameter int unsigned SumWidth     = 13,
  parameter longint      Factor       = 64'sd57,
  parameter int unsigned ProductWidth = 20,
  parameter int unsigned Shift        = 9,
  parameter bit          Ties         = 1'b0,
  parameter int unsigned Tie          = 5,
  parameter longint      Back         = 64'sd0,
  parameter int unsigned OutWidth     = 9
) (
  input  logic signed [ InWidth-1:0] n_i,
  output logic signed [OutWidth-1:0] q_o
);

  if (InWidth < 1) begin : gen_bad_inwidth
    $fatal(1, "mase_divide: InWidth = %0d is below 1", InWidth);
  end
  if (SumWidth < 1) begin : gen_bad_sumwidth
    $fatal(1, "mase_divide: SumWidth = %0d is below 1", SumWidth);
  end
  if (OutWidth < 2) begin : gen_bad_outwidth
    $fatal(1, "mase_divide: OutWidth = %0d is below 2", OutWidth);
  end
  if (ProductWidth <= Shift) begin : gen_bad_productwidth
    $fatal(1, "mase_divide: ProductWidth = %0d is not above Shift", ProductWidth);
  end

  localparam int unsigned WideWidth = ((InWidth + Up > SumWidth) ? InWidth + Up : SumWidth) + 1;
  localparam int unsigned QuotientWidth = ProductWidth - Shift;

  logic signed [WideWidth-1:0] wide;
  (* keep *) logic [SumWidth-1:0] sum;
  logic [ProductWidth-1:0] product;
  logic [QuotientWidth-1:0] quotient;
  logic unused_bits;

  assign wide = (WideWidth'(n_i) <<< Up) + WideWidth'(Offset);
  assign sum = wide[SumWidth-1:0];

  // The factor in base 2 with signs: its digits are 1 where Ones has a one, and -1 where MinusOnes
  // has. No two of them adjoin, so there are few. Each is one addition. `keep` is for Yosys: its
  // pass alumacc would merge them into a sum of many operands, which takes more LUTs.
  localparam longint Ones = (3 * Factor & ~Factor) >> 1;
  localparam longint MinusOnes = (Factor & ~(3 * Factor)) >> 1;
  localparam int unsigned Digits = (ProductWidth + 2 > SumWidth) ? ProductWidth + 2 - SumWidth : 1;
  (* keep *) logic [ProductWidth-1:0] partial[Digits+1];
  assign partial[0] = '0;
  for (genvar k = 0; k < Digits; k++) begin : gen_digit
    if (Ones[k]) begin : gen_plus
      assign partial[k+1] = partial[k] + (ProductWidth'(sum) << k);
    end else if (MinusOnes[k]) begin : gen_minus
      assign partial[k+1] = partial[k] - (ProductWidth'(sum) << k);
    end else begin : gen_none
      assign partial[k+1] = partial[k];
    end
  end
  assign product = partial[Digits];
  assign unused_bits = ^{wide, product[Shift-1:0]};

  if (Ties) begin : gen_ties
    logic tie;
    assign tie = product[Shift-1:Tie] == '0;
    assign quotient = product[ProductWidth-1:Shift] & ~QuotientWidth'(tie);
  end else begin : gen_no_ties
    assign quotient = product[ProductWidth-1:Shift];
  end
  assign q_o = OutWidth'(signed'({1'b0, quotient}) - (QuotientWidth + 1)'(Back));

endmodule
