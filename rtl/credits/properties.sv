// SPDX-License-Identifier: Apache-2.0
// What holds for the credits for ever, as long as only what was spent comes back: the receiver never overflows, and
// with a credit no beat is held back.
// PROVE wharf_credits_safe induction 2
// PROVE wharf_credits_safe cover 10
module wharf_credits_safe (
  input logic clk_i, rst_i, in_valid_i, out_ready_i, give_valid_i,
  input logic [3:0] in_data_i,
  input logic [2:0] give_count_i
);
  logic       in_ready, out_valid, error;
  logic [3:0] out_data;
  logic [2:0] credits;
  wharf_credits #(.Limit(5), .Width(4)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i, .out_valid_o(out_valid), .out_ready_i,
    .out_data_o(out_data), .give_valid_i, .give_count_i, .error_o(error), .credits_o(credits)
  );

  logic       started;
  logic [3:0] held;  // Beats that the receiver keeps, each in one of its 5 places.
  initial started = 1'b0;
  logic sent;
  assign sent = out_valid && out_ready_i;
  always_comb begin
    if (!started) assume (rst_i);
    if (started && give_valid_i) assume ({1'b0, give_count_i} <= held);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) held <= '0;
    else held <= held + 4'(sent) - (give_valid_i ? {1'b0, give_count_i} : '0);
  end
  always_comb begin
    if (started) begin
      assert (held + {1'b0, credits} == 5);        // Nothing is lost and nothing is made.
      assert (held + 4'(sent) <= 5);               // No overflow.
      assert (!error);
      assert ((in_valid_i && in_ready) == sent);   // A beat is taken as it leaves.
      if (in_valid_i && out_ready_i && credits != 0) assert (sent);
    end
    cover (started && held == 5 && give_valid_i && give_count_i == 3);
  end
endmodule
