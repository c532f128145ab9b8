// SPDX-License-Identifier: Apache-2.0
// Packets of Writes whose data is on its way to memory, and how many responses wait for it. Description: README.md.
module wharf_ub_placed_writes (
  input  logic       clk_i,
  input  logic       rst_i,

  // The memory writer has begun with one; its request ends with it, and its response is made in that cycle.
  input  logic       place_i,
  input  logic       last_i,
  output logic       room_o,
  // Memory has the last line of the oldest one. Means nothing when there is none.
  input  logic       written_i,
  output logic       is_quiet_o,  // There is none.
  output logic [2:0] waiting_o    // Responses made whose data memory does not have.
);
  logic       valid, last;
  logic [2:0] level;
  wharf_fifo #(.Width(1), .Depth(4)) lasts (
    .clk_i, .rst_i, .in_valid_i(place_i), .in_ready_o(room_o), .in_data_i(last_i),
    .out_valid_o(valid), .out_ready_i(written_i), .out_data_o(last), .level_o(level)
  );
  assign is_quiet_o = !valid;
  always_ff @(posedge clk_i) begin
    if (rst_i) waiting_o <= '0;
    else waiting_o <= waiting_o + 3'(place_i && last_i) - 3'(valid && written_i && last);
  end
  logic unused;
  assign unused = &{1'b0, level};
endmodule
