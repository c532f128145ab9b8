// SPDX-License-Identifier: Apache-2.0
// What holds for the send window for ever: never more than the window outstanding, numbers without gap or repetition,
// and what goes back is sent again from the oldest on.
// PROVE wharf_send_window_safe induction 2
// PROVE wharf_send_window_safe cover 14
module wharf_send_window_safe (
  input logic clk_i, rst_i, send_ready_i, send_fresh_i, ack_valid_i, back_valid_i,
  input logic [3:0] first_i, ack_number_i
);
  logic       send_valid, send_again, ack_refused;
  logic [3:0] send_number, oldest, next;
  logic [2:0] released;
  wharf_send_window #(.NumberW(4), .Window(4)) dut (
    .clk_i, .rst_i, .first_i, .send_valid_o(send_valid), .send_ready_i, .send_fresh_i, .send_number_o(send_number),
    .send_again_o(send_again), .ack_valid_i, .ack_number_i, .ack_refused_o(ack_refused), .ack_released_o(released),
    .back_valid_i, .oldest_o(oldest), .next_o(next)
  );

  // Registers inside (Yosys joins these names when it flattens the element).
  (* hierconn *) logic [2:0] \dut.sent_q ;
  (* hierconn *) logic [2:0] \dut.held_q ;
  logic [2:0] sent;
  logic [2:0] held;
  assign sent = \dut.sent_q ;
  assign held = \dut.held_q ;

  logic       started;
  logic [3:0] fresh;    // The number that the next new packet must have.
  logic [3:0] confirmed;
  logic [3:0] outstanding;
  initial started = 1'b0;
  assign outstanding = fresh - confirmed;
  logic send;
  assign send = send_valid && send_ready_i;
  always_comb begin
    if (!started) assume (rst_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      fresh     <= first_i;
      confirmed <= first_i;
    end else begin
      if (send && !send_again) fresh <= fresh + 1'b1;
      if (ack_valid_i && !ack_refused) confirmed <= ack_number_i;
    end
  end
  always_comb begin
    if (started) begin
      assert (oldest == confirmed);
      assert (next == fresh);
      assert (outstanding <= 4);
      if (send && !send_again) assert (send_number == fresh && outstanding < 4);
      if (send && send_again) assert (4'(send_number - confirmed) < outstanding);
      if (ack_valid_i) assert (ack_refused == (4'(ack_number_i - confirmed) > outstanding));
      assert (sent <= held);  // Written invariant.
      // No deadlock: a new packet in a window with room, or an old one, may always leave.
      if (send_fresh_i && outstanding < 4) assert (send_valid);
    end
    cover (started && fresh == 1 && outstanding == 4 && send_again);
  end
endmodule
