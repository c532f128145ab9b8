// SPDX-License-Identifier: Apache-2.0
// Members with work, served in turn, however many members there are: a list instead of a search.
// Description: README.md.
module wharf_ready_list #(
  parameter int unsigned Members = 8  // A power of two from 2.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // A member has work. One that is listed stays where it is.
  input  logic                       mark_valid_i,
  output logic                       mark_ready_o,
  input  logic [$clog2(Members)-1:0] mark_member_i,

  // The member whose turn it is. Taking it removes it, unless it has more work: then it goes to the end.
  output logic                       turn_valid_o,
  input  logic                       turn_ready_i,
  input  logic                       turn_again_i,
  output logic [$clog2(Members)-1:0] turn_member_o,

  output logic [$clog2(Members):0]   listed_o     // Members on the list.
);
  localparam int unsigned MemberW = $clog2(Members);

  if (Members < 2 || (Members & (Members - 1)) != 0) begin : gen_refuse
    $error("wharf_ready_list: Members must be a power of two from 2");
  end

  // The list: one write port, one asynchronous read port. It never overflows: a member stands in it once.
  logic [MemberW-1:0] list [Members];
  logic [MemberW:0]   write_q, read_q;
  logic [Members-1:0] listed_q;

  assign listed_o      = write_q - read_q;
  assign turn_valid_o  = write_q != read_q;
  assign turn_member_o = list[read_q[MemberW-1:0]];

  // The list has one write port. A member that goes back to the end has it; a mark waits for that cycle.
  logic take, again, mark, enter;
  assign take         = turn_valid_o && turn_ready_i;
  assign again        = take && turn_again_i;
  assign mark_ready_o = !again;
  assign mark         = mark_valid_i && mark_ready_o;
  // A mark that comes as its member leaves lists it anew: its work is newer than what the taker saw.
  assign enter        = mark && (!listed_q[mark_member_i] || (take && mark_member_i == turn_member_o));

  always_ff @(posedge clk_i) begin
    if (again) list[write_q[MemberW-1:0]] <= turn_member_o;
    else if (enter) list[write_q[MemberW-1:0]] <= mark_member_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q  <= '0;
      read_q   <= '0;
      listed_q <= '0;
    end else begin
      if (again || enter) write_q <= write_q + 1'b1;
      if (take) read_q <= read_q + 1'b1;
      if (take && !again) listed_q[turn_member_o] <= 1'b0;
      if (enter) listed_q[mark_member_i] <= 1'b1;
    end
  end
endmodule
