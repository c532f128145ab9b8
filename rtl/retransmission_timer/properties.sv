// SPDX-License-Identifier: Apache-2.0
// What holds for the retransmission timer for ever: it gives up after so many time-outs in a row, never before.
// PROVE wharf_retransmission_timer_safe induction 2
// PROVE wharf_retransmission_timer_safe cover 16
module wharf_retransmission_timer_safe (
  input logic clk_i, rst_i, progress_i, outstanding_i, stop_i, start_i
);
  logic       again, exhausted, running;
  logic [3:0] attempts;
  wharf_retransmission_timer #(.TimeW(4), .Base(2), .Doubles(1), .Cap(5), .Attempts(2)) dut (
    .clk_i, .rst_i, .progress_i, .outstanding_i, .stop_i, .start_i, .again_o(again), .exhausted_o(exhausted),
    .running_o(running), .attempts_o(attempts)
  );

  // Registers inside (Yosys joins these names when it flattens the element).
  (* hierconn *) logic [3:0] \dut.left_q ;
  (* hierconn *) logic [3:0] \dut.timeout_q ;
  logic [3:0] left, timeout;
  assign left    = \dut.left_q ;
  assign timeout = \dut.timeout_q ;

  logic       started;
  logic [1:0] in_a_row;
  initial started = 1'b0;
  always_comb begin
    if (!started) assume (rst_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i || stop_i || progress_i || exhausted) in_a_row <= '0;
    else if (again) in_a_row <= in_a_row + 1'b1;
  end
  always_comb begin
    if (started) begin
      assert (attempts == 4'(in_a_row));
      if (exhausted) assert (in_a_row == 2);
      if (again) assert (in_a_row < 2);
      assert (!(again && exhausted));
      if (again || exhausted) assert (running);
      // Written invariants.
      assert (timeout == (attempts == 0 ? 4'd2 : attempts == 1 ? 4'd4 : 4'd5));
      assert (left < timeout);
      assert (in_a_row <= 2);
    end
    cover (started && exhausted);
  end
endmodule
