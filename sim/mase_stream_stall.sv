// Says in which cycles one end of a stream stalls: never, or at random with a rate that changes
// every 64 cycles.
//
// A 32-bit xorshift generator restarted by reset, so that the same seed gives the same cycles. The
// rate is drawn from 0/8 to 6/8 and 8/8: long stretches of full speed and of no movement at all
// both happen in one run.
module mase_stream_stall (
  input  logic        clk,
  input  logic        rst,
  input  logic        enable,
  input  logic [31:0] seed,
  output logic        stall
);
  logic [31:0] state_q;
  logic [31:0] mixed;
  logic [31:0] state_d;
  logic [5:0]  age_q;
  logic [2:0]  rate_q;

  always_comb begin
    mixed   = state_q ^ (state_q << 13);
    mixed   = mixed ^ (mixed >> 17);
    state_d = mixed ^ (mixed << 5);
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state_q <= (seed == 0) ? 32'd1 : seed;  // xorshift never leaves zero
      age_q   <= '0;
      rate_q  <= 3'd4;
    end else if (enable) begin
      state_q <= state_d;
      age_q   <= age_q + 6'd1;
      if (&age_q) rate_q <= state_q[31:29];
    end
  end

  assign stall = enable && (state_q[18:16] < rate_q || &rate_q);
endmodule
