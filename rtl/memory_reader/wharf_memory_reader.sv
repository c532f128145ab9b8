// SPDX-License-Identifier: Apache-2.0
// Reads bytes from memory at any address, and hands them out as a stream of flits. Description: README.md.
module wharf_memory_reader #(
  parameter int unsigned LengthW = 13,  // Bits of a length, 8 to 32.
  parameter int unsigned Lines   = 16,  // Lines on their way or here: a power of two from 4.
  parameter int unsigned Asks    = 4    // Reads that wait for their lines: a power of two from 2.
) (
  input  logic               clk_i,
  input  logic               rst_i,

  // What to read. Nothing is asked of memory for a length of 0, and nothing comes out.
  input  logic               ask_valid_i,
  output logic               ask_ready_o,
  input  logic [63:0]        ask_address_i,
  input  logic [LengthW-1:0] ask_length_i,

  // Lines of memory, without the six lowest bits of the address. Answers come in order, and are always taken.
  output logic               line_valid_o,
  input  logic               line_ready_i,
  output logic [57:0]        line_o,
  input  logic               answer_valid_i,
  input  logic [511:0]       answer_data_i,

  // The bytes: flits of 64, the last one of each read with what is left.
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [511:0]       out_data_o,
  output logic [6:0]         out_bytes_o,
  output logic               out_last_o
);
  localparam int unsigned LineW  = $clog2(Lines);
  localparam int unsigned TotalW = LengthW + 1;

  if (Lines < 4 || LengthW < 8 || LengthW > 32) begin : gen_refuse
    $error("wharf_memory_reader: Lines must be 4 or more, LengthW 8 to 32");
  end

  // A read that is asked for line by line, and what is needed to cut its bytes out.
  logic               busy_q, cut_ready, takes, asks;
  logic [57:0]        line_q;
  logic [LengthW-6:0] left_q;   // Lines to ask for.
  logic [LineW:0]     free_q;   // Places for lines that nobody was promised.
  logic [TotalW-1:0]  span;
  assign span         = TotalW'(ask_address_i[5:0]) + TotalW'(ask_length_i);
  assign line_valid_o = busy_q && free_q != '0;
  assign line_o       = line_q;
  assign asks         = line_valid_o && line_ready_i;
  assign ask_ready_o  = cut_ready && (!busy_q || (asks && left_q == (LengthW - 5)'(1)));
  assign takes        = ask_valid_i && ask_ready_o && ask_length_i != '0;

  logic               cut_valid, cut_take;
  logic [5:0]         cut_offset;
  logic [LengthW-1:0] cut_length;
  logic [$clog2(Asks):0] cuts;
  wharf_fifo #(.Width(LengthW + 6), .Depth(Asks)) cut (
    .clk_i, .rst_i,
    .in_valid_i(takes), .in_ready_o(cut_ready), .in_data_i({ask_address_i[5:0], ask_length_i}),
    .out_valid_o(cut_valid), .out_ready_i(cut_take), .out_data_o({cut_offset, cut_length}), .level_o(cuts)
  );

  logic         here_valid, here_take, here_room;
  logic [511:0] here;
  logic [LineW:0] here_level;
  wharf_fifo #(.Width(512), .Depth(Lines)) lines (
    .clk_i, .rst_i,
    .in_valid_i(answer_valid_i), .in_ready_o(here_room), .in_data_i(answer_data_i),
    .out_valid_o(here_valid), .out_ready_i(here_take), .out_data_o(here), .level_o(here_level)
  );

  // The first line fills up 64 bytes that nobody sees, so that its first wanted byte begins a flit.
  wharf_realign #(.TotalW(TotalW)) realign (
    .clk_i, .rst_i,
    .start_valid_i(cut_valid), .start_ready_o(cut_take), .start_head_i('0),
    .start_held_i(7'd64 - {1'b0, cut_offset}), .start_total_i(TotalW'(cut_length) + TotalW'(64)), .start_skip_i(1'b1),
    .in_valid_i(here_valid), .in_ready_o(here_take), .in_data_i(here),
    .out_valid_o, .out_ready_i, .out_data_o, .out_bytes_o, .out_last_o
  );

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q <= 1'b0;
      free_q <= (LineW + 1)'(Lines);
    end else begin
      if (ask_ready_o) busy_q <= takes;
      else if (asks && left_q == (LengthW - 5)'(1)) busy_q <= 1'b0;
      free_q <= free_q + (LineW + 1)'(here_take && here_valid) - (LineW + 1)'(asks);
    end
    if (takes) begin
      line_q <= ask_address_i[63:6];
      left_q <= (LengthW - 5)'((span + TotalW'(63)) >> 6);
    end else if (asks) begin
      line_q <= line_q + 1'b1;
      left_q <= left_q - 1'b1;
    end
  end

  logic unused;
  assign unused = &{1'b0, cuts, here_room, here_level};
endmodule
