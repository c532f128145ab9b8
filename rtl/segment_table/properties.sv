// SPDX-License-Identifier: Apache-2.0
// What holds for the check of access: it is granted exactly when the segment is there, the value is right, the right is there,
// and no byte lies outside; the sums are written without a wrap here.
// PROVE wharf_segment_table_rules bmc 5
// PROVE wharf_segment_table_rules cover 5

// Two segments. The solver chooses which one is watched. Of addresses, sizes and lengths the four lowest and the two highest bits
// are free, the others zero: borrows cross them all the same.
module wharf_segment_table_rules (
  input logic         clk_i, rst_i, set_valid_i, set_index_i, ask_valid_i,
  input logic [147:0] set_segment_i,
  input logic [19:0]  ask_token_id_i,
  input logic [31:0]  ask_token_value_i, ask_length_i,
  input logic [1:0]   ask_right_i,
  input logic [63:0]  ask_address_i
);
  logic       answer_valid;
  logic [2:0] answer;
  wharf_segment_table #(.Segments(2)) dut (
    .clk_i, .rst_i, .set_valid_i, .set_index_i, .set_segment_i, .ask_valid_i, .ask_token_id_i, .ask_token_value_i,
    .ask_right_i, .ask_address_i, .ask_length_i, .answer_valid_o(answer_valid), .answer_o(answer)
  );

  (* anyconst *) logic watched;
  logic                   started, there, asked, beyond, is_there;
  wharf_pkg::ub_segment_t segment, seen;
  logic [31:0]            value, length;
  logic [1:0]             right;
  logic [63:0]            address;
  logic                   answers;
  logic [2:0]             expected;
  wharf_pkg::ub_segment_t new_segment;
  assign new_segment = set_segment_i;
  initial started = 1'b0;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    assume (ask_address_i[61:4] == '0 && ask_length_i[29:4] == '0);
    assume (new_segment.base[61:4] == '0 && new_segment.size[45:4] == '0);
  end

  // What must be answered, a cycle after it was asked.
  logic        allowed;
  logic [65:0] first, end_of, segment_end;
  assign first       = {2'd0, address};
  assign end_of      = {2'd0, address} + {34'd0, length};
  assign segment_end = {2'd0, seen.base} + {18'd0, seen.size};
  assign allowed     = right == wharf_pkg::RightRead ? seen.may_read :
                       (right == wharf_pkg::RightWrite ? seen.may_write : seen.may_atomic);
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      there   <= 1'b0;
      asked   <= 1'b0;
      answers <= 1'b0;
      beyond  <= 1'b0;
    end else begin
      if (set_valid_i && set_index_i == watched) begin
        segment <= set_segment_i;
        there   <= set_segment_i[146:144] != '0;  // With a right.
      end
      asked    <= ask_valid_i && ask_token_id_i == 20'(watched);
      beyond   <= ask_valid_i && ask_token_id_i > 20'd1;
      is_there <= there;
      seen     <= segment;
      value    <= ask_token_value_i;
      right    <= ask_right_i;
      address  <= ask_address_i;
      length   <= ask_length_i;
      answers  <= asked || beyond;
      if (beyond || !is_there) expected <= wharf_pkg::GrantUnknownToken;
      else if (seen.checks_value && seen.token_value != value) expected <= wharf_pkg::GrantWrongValue;
      else if (!allowed) expected <= wharf_pkg::GrantNoRight;
      else if (first < {2'd0, seen.base} || end_of > segment_end) expected <= wharf_pkg::GrantOutOfRange;
      else expected <= wharf_pkg::GrantGranted;
    end
  end
  always_comb begin
    if (started && !rst_i && answers) begin
      assert (answer_valid);
      assert (answer == expected);
    end
    cover (started && answers && answer == wharf_pkg::GrantGranted);
    cover (started && answers && answer == wharf_pkg::GrantOutOfRange);
  end
endmodule
