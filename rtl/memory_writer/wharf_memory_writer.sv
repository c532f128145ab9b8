// SPDX-License-Identifier: Apache-2.0
// Writes a stream of flits to memory, at any address. Description: README.md.
module wharf_memory_writer #(
  parameter int unsigned LengthW = 13  // Bits of a length, 8 to 32.
) (
  input  logic               clk_i,
  input  logic               rst_i,

  // Where, and how many bytes: from 1.
  input  logic               start_valid_i,
  output logic               start_ready_o,
  input  logic [63:0]        start_address_i,
  input  logic [LengthW-1:0] start_length_i,

  // The bytes: flits of 64, the last one with what is left.
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [511:0]       in_data_i,

  // Lines of memory, with an enable for each byte, byte 0 highest.
  output logic               line_valid_o,
  input  logic               line_ready_i,
  output logic [57:0]        line_o,
  output logic [511:0]       line_data_o,
  output logic [63:0]        line_enable_o,
  output logic               line_last_o
);
  localparam int unsigned TotalW = LengthW + 1;

  if (LengthW < 8 || LengthW > 32) begin : gen_refuse
    $error("wharf_memory_writer: LengthW must be 8 to 32");
  end

  logic [57:0] line_q;
  logic [5:0]  offset_q;  // Of the first byte in the line; 0 in all lines but the first.
  logic [6:0]  bytes;
  assign line_o = line_q;
  wharf_realign #(.TotalW(TotalW)) realign (
    .clk_i, .rst_i,
    .start_valid_i, .start_ready_o, .start_head_i('0), .start_held_i({1'b0, start_address_i[5:0]}),
    .start_total_i(TotalW'(start_address_i[5:0]) + TotalW'(start_length_i)), .start_skip_i(1'b0),
    .in_valid_i, .in_ready_o, .in_data_i,
    .out_valid_o(line_valid_o), .out_ready_i(line_ready_i), .out_data_o(line_data_o), .out_bytes_o(bytes),
    .out_last_o(line_last_o)
  );
  always_comb begin
    for (int unsigned i = 0; i < 64; i++) line_enable_o[63-i] = 7'(i) < bytes && 6'(i) >= offset_q;
  end
  always_ff @(posedge clk_i) begin
    if (start_ready_o) begin
      line_q   <= start_address_i[63:6];
      offset_q <= start_address_i[5:0];
    end else if (line_valid_o && line_ready_i) begin
      line_q   <= line_q + 1'b1;
      offset_q <= '0;
    end
  end
endmodule
