// SPDX-License-Identifier: Apache-2.0
// Bytes that are there already, and behind them a stream of flits, as one stream of flits without a gap.
// Description: README.md.
module wharf_realign #(
  parameter int unsigned TotalW = 14  // Bits of a count of bytes, from 8.
) (
  input  logic              clk_i,
  input  logic              rst_i,

  // A run begins.
  input  logic              start_valid_i,
  output logic              start_ready_o,
  input  logic [511:0]      start_head_i,   // The bytes that are there, byte 0 highest,
  input  logic [6:0]        start_held_i,   // 0 to 64 of them.
  input  logic [TotalW-1:0] start_total_i,  // All bytes of the run, the head's among them.
  input  logic              start_skip_i,   // The first flit of the run is not shown.

  // What follows the head: flits of 64 bytes, the last one with as many as are left.
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [511:0]      in_data_i,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [511:0]      out_data_o,     // Zero beyond
  output logic [6:0]        out_bytes_o,    // so many bytes, 1 to 64.
  output logic              out_last_o
);
  if (TotalW < 8) begin : gen_refuse
    $error("wharf_realign: TotalW must be 8 or more");
  end

  logic              busy_q, skip_q;
  logic [6:0]        held_q;
  logic [TotalW-1:0] left_q;
  logic [511:0]      head_q;

  logic needs_more, has_flit, step, is_last;
  assign needs_more  = left_q > TotalW'(held_q);
  assign is_last     = left_q <= TotalW'(64);
  assign has_flit    = busy_q && (!needs_more || in_valid_i);
  assign out_valid_o = has_flit && !skip_q;
  assign step        = has_flit && (skip_q || out_ready_i);
  assign in_ready_o  = busy_q && needs_more && (skip_q || out_ready_i);
  assign out_last_o  = is_last;
  assign out_bytes_o = is_last ? left_q[6:0] : 7'd64;

  // The arriving flit, turned right by as many bytes as are held: its end is what will be held next.
  logic [511:0] turned;
  always_comb begin
    turned = in_data_i;
    for (int unsigned s = 0; s < 6; s++) begin
      if (held_q[s]) turned = (turned >> (8 << s)) | (turned << (512 - (8 << s)));
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) begin
      out_data_o[511-8*i -: 8] = (7'(i) < held_q ? head_q[511-8*i -: 8] : turned[511-8*i -: 8]) &
                                 {8{7'(i) < out_bytes_o}};
    end
  end

  assign start_ready_o = !busy_q || (step && is_last);
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q <= 1'b0;
      left_q <= '0;
    end else if (start_ready_o) begin
      busy_q <= start_valid_i && start_total_i != '0;
      left_q <= start_total_i;
    end else if (step) begin
      left_q <= left_q - TotalW'(64);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_ready_o) begin
      held_q <= start_held_i;
      head_q <= start_head_i;
      skip_q <= start_skip_i;
    end else if (step) begin
      head_q <= turned;
      skip_q <= 1'b0;
    end
  end
endmodule
