// SPDX-License-Identifier: Apache-2.0
// What holds for the ready list: a member stands in it once, no mark is lost, and each listed member has its turn after
// at most as many turns as there are other members.
// PROVE wharf_ready_list_fair bmc 7
// PROVE wharf_ready_list_fair cover 12
module wharf_ready_list_fair (
  input logic clk_i, rst_i, mark_valid_i, turn_ready_i, turn_again_i,
  input logic [1:0] mark_member_i
);
  (* anyconst *) logic [1:0] watched;
  logic       mark_ready, turn_valid;
  logic [1:0] turn_member;
  logic [2:0] listed;
  wharf_ready_list #(.Members(4)) dut (
    .clk_i, .rst_i, .mark_valid_i, .mark_ready_o(mark_ready), .mark_member_i,
    .turn_valid_o(turn_valid), .turn_ready_i, .turn_again_i, .turn_member_o(turn_member), .listed_o(listed)
  );

  // Registers inside (Yosys joins these names when it flattens the element).
  (* hierconn *) logic [3:0] \dut.listed_q ;
  logic [3:0] listed_bits;
  assign listed_bits = \dut.listed_q ;

  logic       started, inside;
  logic [2:0] turns;  // Of others since the watched member was listed.
  initial started = 1'b0;
  logic mark, take, mine;
  assign mark = mark_valid_i && mark_ready && mark_member_i == watched;
  assign take = turn_valid && turn_ready_i;
  assign mine = take && turn_member == watched;
  always_comb begin
    if (!started) assume (rst_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      inside <= 1'b0;
      turns  <= '0;
    end else begin
      if (mine) inside <= turn_again_i || mark;
      else if (mark) inside <= 1'b1;
      if (mine || !inside) turns <= '0;
      else turns <= turns + 3'(take);
    end
  end
  always_comb begin
    if (started) begin
      assert (listed <= 4);
      assert (listed_bits[watched] == inside);  // No mark is lost.
      if (inside) assert (turn_valid);           // A listed member is waited for by nobody but the taker.
      if (mine) assert (inside);
      assert (turns <= 3);                       // Fair.
      // Every listed member has one place in the list.
      assert (listed == 3'(listed_bits[0]) + 3'(listed_bits[1]) + 3'(listed_bits[2]) + 3'(listed_bits[3]));
    end
    cover (started && mine && turns == 3);
  end
endmodule
