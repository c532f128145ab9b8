// SPDX-License-Identifier: Apache-2.0
// First in, first out: keeps up to Depth beats of a stream. Description: README.md.
module wharf_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4  // A power of two from 2.
) (
  input  logic                   clk_i,
  input  logic                   rst_i,

  input  logic                   in_valid_i,
  output logic                   in_ready_o,
  input  logic [Width-1:0]       in_data_i,

  output logic                   out_valid_o,
  input  logic                   out_ready_i,
  output logic [Width-1:0]       out_data_o,

  output logic [$clog2(Depth):0] level_o  // Beats inside.
);
  localparam int unsigned PtrW = $clog2(Depth);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0) begin : gen_refuse
    $error("wharf_fifo: Depth must be a power of two from 2");
  end

  // One write port, one asynchronous read port.
  logic [Width-1:0] mem [Depth];

  // One bit more than an address: equal pointers are empty, pointers Depth apart are full.
  logic [PtrW:0] write_q, read_q;

  assign level_o     = write_q - read_q;
  assign in_ready_o  = level_o != (PtrW + 1)'(Depth);
  assign out_valid_o = write_q != read_q;
  assign out_data_o  = mem[read_q[PtrW-1:0]];

  logic push, pop;
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;

  always_ff @(posedge clk_i) begin
    if (push) mem[write_q[PtrW-1:0]] <= in_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (push) write_q <= write_q + 1'b1;
      if (pop) read_q <= read_q + 1'b1;
    end
  end
endmodule
