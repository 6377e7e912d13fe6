// SPDX-License-Identifier: Apache-2.0
//
// Stream check: asserts the rules of a stream in simulation. It has no outputs and no logic.
//
// After a cycle with valid high and ready low, valid stays high and data stays the same. The top
// instantiates one for each of its streams where its parameter CheckStreams is 1.
module mase_stream_check #(
  parameter int unsigned Width = 8
) (
  input logic             clk,
  input logic             rst,
  input logic [Width-1:0] data,
  input logic             valid,
  input logic             ready
);

  if (Width < 1) begin : gen_bad_width
    $fatal(1, "mase_stream_check: Width = %0d is below 1", Width);
  end

  assert_valid_holds :
  assert property (@(posedge clk) disable iff (rst) valid && !ready |=> valid)
  else $error("valid fell before the beat was taken");

  assert_data_holds :
  assert property (@(posedge clk) disable iff (rst) valid && !ready |=> $stable(data))
  else $error("data changed before the beat was taken");

endmodule
