// Takes the beats of a stream: always ready, or ready at random, or (while `hold` is high) never.
// What it takes is recorded by a mase_stream_probe.
//
// Under pressure the first 31 beats are taken shyly: ready rises only in the cycle after a beat was
// offered, so a design whose valid waits for ready never gets further.
module mase_stream_sink (
  input  logic        clk,
  input  logic        rst,
  input  logic        pressure,
  input  logic        hold,
  input  logic [31:0] seed,
  input  logic        valid,
  output logic        ready
);
  logic       stall, shy, offered_q;
  logic [4:0] taken_q;

  mase_stream_stall u_stall (.clk, .rst, .enable(pressure), .seed, .stall);

  assign shy   = pressure && taken_q != '1;
  assign ready = !stall && !hold && (!shy || offered_q);

  always_ff @(posedge clk) begin
    if (rst) begin
      offered_q <= 1'b0;
      taken_q   <= '0;
    end else begin
      offered_q <= valid && !ready;
      if (valid && ready && taken_q != '1) taken_q <= taken_q + 5'd1;
    end
  end
endmodule
