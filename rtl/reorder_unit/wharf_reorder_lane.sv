// SPDX-License-Identifier: Apache-2.0
// The bytes of a reorder unit's buffer that have one place in their line, each with its valid bit.
module wharf_reorder_lane #(
  parameter int unsigned Lines = 8
) (
  input  logic                     clk_i,

  input  logic                     clear_i,  // The bytes of both lines become invalid, whatever they were.

  // A byte is written; `set_i`: it becomes valid.
  input  logic [$clog2(Lines)-1:0] write_line_i,
  input  logic                     store_i,
  input  logic                     set_i,
  input  logic [7:0]               data_i,

  // The byte of the line that is looked at; `pass_i`: it is valid no more.
  input  logic [$clog2(Lines)-1:0] scan_line_i,
  input  logic                     pass_i,
  output logic                     scan_valid_o,

  // The byte that may belong to the length field.
  input  logic [$clog2(Lines)-1:0] field_line_i,
  output logic                     field_valid_o,
  output logic [7:0]               field_data_o
);
  /*verilator no_inline_module*/

  // One write port and one asynchronous read port (data) or three (halves). A byte is valid when its two halves
  // differ: a write makes them differ, passing makes them equal. So both may happen in one cycle, and no memory has two
  // writers.
  logic [7:0] data [Lines];
  logic       set_half [Lines];
  logic       pass_half [Lines];

  assign scan_valid_o  = set_half[scan_line_i] != pass_half[scan_line_i];
  assign field_valid_o = set_half[field_line_i] != pass_half[field_line_i];
  assign field_data_o  = data[field_line_i];

  always_ff @(posedge clk_i) begin
    if (store_i) data[write_line_i] <= data_i;
    if (set_i || clear_i) set_half[write_line_i] <= !clear_i && !pass_half[write_line_i];
    if (pass_i || clear_i) pass_half[scan_line_i] <= !clear_i && set_half[scan_line_i];
  end
endmodule
