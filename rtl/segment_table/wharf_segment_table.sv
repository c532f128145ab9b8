// SPDX-License-Identifier: Apache-2.0
// Registered memory, and the check that every remote access passes. Reference: SegmentTable::check() of
// src/engine/ub/segment_table.h. Description: README.md.
module wharf_segment_table #(
  parameter int unsigned Segments = 1024  // A power of two from 2: TokenIDs are 0 to Segments - 1.
) (
  input  logic                        clk_i,
  input  logic                        rst_i,

  // Registers a segment, or ends it (without a right). Always taken.
  input  logic                        set_valid_i,
  input  logic [$clog2(Segments)-1:0] set_index_i,
  input  wharf_pkg::ub_segment_t      set_segment_i,

  // May somebody do this? Always taken.
  input  logic                        ask_valid_i,
  input  logic [19:0]                 ask_token_id_i,
  input  logic [31:0]                 ask_token_value_i,
  input  logic [1:0]                  ask_right_i,    // wharf_pkg::Right*
  input  logic [63:0]                 ask_address_i,
  input  logic [31:0]                 ask_length_i,

  // Two cycles later.
  output logic                        answer_valid_o,
  output logic [2:0]                  answer_o        // wharf_pkg::Grant*
);
  localparam int unsigned IndexW = $clog2(Segments);

  if (Segments < 2 || (Segments & (Segments - 1)) != 0 || IndexW > 20) begin : gen_refuse
    $error("wharf_segment_table: Segments must be a power of two from 2 to 2^20");
  end

  // One write port, one synchronous read port.
  logic [wharf_pkg::UbSegmentW-1:0] records [Segments];
  logic [Segments-1:0]                       known_q;

  logic                    asked_q, is_known_q;
  wharf_pkg::ub_segment_t  record_q;
  logic [31:0]             value_q, length_q;
  logic [1:0]              right_q;
  logic [63:0]             address_q;
  always_ff @(posedge clk_i) begin
    if (set_valid_i) records[set_index_i] <= set_segment_i;
    if (ask_valid_i) begin
      record_q   <= records[ask_token_id_i[IndexW-1:0]];
      is_known_q <= known_q[ask_token_id_i[IndexW-1:0]] && (ask_token_id_i >> IndexW) == '0;
      value_q    <= ask_token_value_i;
      right_q    <= ask_right_i;
      address_q  <= ask_address_i;
      length_q   <= ask_length_i;
    end
  end

  // Both subtractions at once: of the address from the base, and of the length from the size.
  logic [64:0] offset;
  logic [48:0] room;
  logic        has_right, is_inside;
  assign offset    = {1'b0, address_q} - {1'b0, record_q.base};
  assign room      = {1'b0, record_q.size} - {17'd0, length_q};
  assign is_inside = !offset[64] && !room[48] && offset[63:0] <= {16'd0, room[47:0]};
  always_comb begin
    unique case (right_q)
      wharf_pkg::RightRead:  has_right = record_q.may_read;
      wharf_pkg::RightWrite: has_right = record_q.may_write;
      default:               has_right = record_q.may_atomic;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!is_known_q) answer_o <= wharf_pkg::GrantUnknownToken;
    else if (record_q.checks_value && record_q.token_value != value_q) answer_o <= wharf_pkg::GrantWrongValue;
    else if (!has_right) answer_o <= wharf_pkg::GrantNoRight;
    else if (!is_inside) answer_o <= wharf_pkg::GrantOutOfRange;
    else answer_o <= wharf_pkg::GrantGranted;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      known_q        <= '0;
      asked_q        <= 1'b0;
      answer_valid_o <= 1'b0;
    end else begin
      if (set_valid_i) known_q[set_index_i] <= set_segment_i.may_read || set_segment_i.may_write ||
                                               set_segment_i.may_atomic;
      asked_q        <= ask_valid_i;
      answer_valid_o <= asked_q;
    end
  end
endmodule
