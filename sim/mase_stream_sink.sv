// Takes the beats of a stream: always ready, or ready at random. What it takes is recorded by a
// mase_stream_probe.
module mase_stream_sink (
  input  logic        clk,
  input  logic        rst,
  input  logic        pressure,
  input  logic [31:0] seed,
  output logic        ready
);
  logic stall;

  mase_stream_stall u_stall (.clk, .rst, .enable(pressure), .seed, .stall);

  assign ready = !stall;
endmodule
