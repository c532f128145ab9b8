// SPDX-License-Identifier: Apache-2.0
// Requests that the peer has refused for a while: each comes out when its delay is over. Reference:
// receiver_not_ready_delay() of src/engine/reliability/receiver_not_ready.h. Description: README.md.
module wharf_retry_queue #(
  parameter int unsigned Depth  = 16,    // Requests that wait: a power of two from 2.
  parameter int unsigned EntryW = 32,    // Bits of one.
  parameter int unsigned Unit   = 2500   // Cycles of ten microseconds, from 1.
) (
  input  logic              clk_i,
  input  logic              rst_i,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [4:0]        in_code_i,   // How long: a code of the table below.
  input  logic [EntryW-1:0] in_entry_i,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [EntryW-1:0] out_entry_o
);
  localparam int unsigned UnitW = $clog2(Unit + 1);
  localparam int unsigned TickW = 18;
  if (Unit < 1) begin : gen_refuse
    $error("wharf_retry_queue: Unit must be 1 or more");
  end

  // Tens of microseconds of a code: 1, 2, 3, 4, 6, 8, 12, ...; of 0, 65536.
  logic [TickW-1:0] ticks;
  logic [3:0]       half;
  assign half  = in_code_i[4:1];
  assign ticks = in_code_i == 5'd0 ? TickW'(65536) :
                 (in_code_i == 5'd1 ? TickW'(1) :
                  (in_code_i[0] ? TickW'(3) << (half - 4'd1) : TickW'(1) << half));

  // A unit has begun already, so one more: never too early.
  logic [UnitW-1:0] part_q;
  logic [TickW-1:0] now_q, due, left;
  logic             waits, ripe_q, pop;
  logic [$clog2(Depth):0] level;
  wharf_fifo #(.Width(TickW + EntryW), .Depth(Depth)) queue (
    .clk_i, .rst_i,
    .in_valid_i, .in_ready_o, .in_data_i({now_q + ticks + 1'b1, in_entry_i}),
    .out_valid_o(waits), .out_ready_i(pop), .out_data_o({due, out_entry_o}), .level_o(level)
  );
  assign left        = due - now_q;
  assign out_valid_o = ripe_q;
  assign pop         = ripe_q && out_ready_i;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      part_q <= '0;
      now_q  <= '0;
      ripe_q <= 1'b0;
    end else begin
      part_q <= part_q == UnitW'(Unit - 1) ? '0 : part_q + 1'b1;
      if (part_q == UnitW'(Unit - 1)) now_q <= now_q + 1'b1;
      // It stays ripe, however long nobody takes it. (The oldest one decides: the others wait behind it.)
      ripe_q <= (ripe_q || (waits && (left == '0 || left[TickW-1]))) && !pop;
    end
  end
  logic unused;
  assign unused = &{1'b0, level};
endmodule
