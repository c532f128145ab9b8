// SPDX-License-Identifier: Apache-2.0
// Frames of which nothing is wanted, between those whose data is: the frame reader is done with all of them in the order
// in which they came. Description: README.md.
module wharf_ub_frame_turns (
  input  logic clk_i,
  input  logic rst_i,

  // A packet is read, and nothing is wanted of its frame. Not without room.
  output logic room_o,
  input  logic owes_i,
  // There is a packet at work whose frame is not done with; and now it is, in its turn.
  input  logic works_i,
  input  logic done_i,
  // Nothing stands before the frame of the packet at work. Else the frame reader is to be done with its oldest one.
  output logic is_turn_o,
  input  logic take_ready_i
);
  logic [1:0] older_q, newer_q;  // Frames before that of the packet at work, and behind it.
  assign room_o    = older_q != 2'd3 && newer_q != 2'd3;
  assign is_turn_o = older_q == 2'd0;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      older_q <= 2'd0;
      newer_q <= 2'd0;
    end else if (done_i) begin
      older_q <= newer_q + 2'(owes_i);
      newer_q <= 2'd0;
    end else begin
      older_q <= older_q + 2'(owes_i && !works_i) - 2'(!is_turn_o && take_ready_i);
      newer_q <= newer_q + 2'(owes_i && works_i);
    end
  end
endmodule
