// SPDX-License-Identifier: Apache-2.0
// One of those that ask, in turn: those behind the one that was taken last go first.
module wharf_rlsq_pick #(
  parameter int unsigned Entries = 16
) (
  input  logic               clk_i,
  input  logic               rst_i,
  input  logic [Entries-1:0] ask_i,
  input  logic               take_i,   // The chosen one is taken.
  output logic [Entries-1:0] chosen_o  // One bit, or none.
);
  logic [Entries-1:0] later_q, later, first;
  assign later    = ask_i & later_q;
  assign first    = later != '0 ? later : ask_i;
  assign chosen_o = first & (~first + 1'b1);
  always_ff @(posedge clk_i) begin
    if (rst_i) later_q <= '0;
    else if (take_i && chosen_o != '0) later_q <= ~(chosen_o | (chosen_o - 1'b1));
  end
endmodule
