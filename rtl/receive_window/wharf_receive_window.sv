// SPDX-License-Identifier: Apache-2.0
// The receiving side of a numbered channel: which packets have arrived, and which of them are in order. Reference:
// src/engine/reliability/receive_window.h. Description: README.md.
module wharf_receive_window #(
  parameter int unsigned NumberW = 24,  // Bits of a packet sequence number.
  parameter int unsigned Window  = 64   // Numbers that may be ahead: a power of two from 2, at most half of all numbers.
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic [NumberW-1:0]      first_i,         // The first number, read while rst_i is up.

  // A packet has arrived; always taken. In the same cycle: what it means, wharf_pkg::Arrival*.
  input  logic                    arrive_valid_i,
  input  logic [NumberW-1:0]      arrive_number_i,
  output logic [1:0]              arrival_o,
  output logic [$clog2(Window):0] advanced_o,      // Numbers that are in order by it.

  output logic [NumberW-1:0]      next_o,          // The expected number.
  output logic [NumberW-1:0]      end_o,           // One past the highest that arrived; next_o when nothing is ahead.
  output logic [Window-1:0]       ahead_o          // Bit i: the i-th number from next_o on has arrived.
);
  localparam int unsigned CountW = $clog2(Window) + 1;

  if (Window < 2 || (Window & (Window - 1)) != 0 || CountW > NumberW) begin : gen_refuse
    $error("wharf_receive_window: Window must be a power of two from 2, at most half of all numbers");
  end

  logic [NumberW-1:0] next_q;
  logic [CountW-1:0]  span_q;   // From next to end.
  logic [Window-1:0]  ahead_q;  // The lowest bit is never set: it would be in order.
  assign next_o  = next_q;
  assign end_o   = next_q + NumberW'(span_q);
  assign ahead_o = ahead_q;

  // Half of all numbers lie behind the expected one.
  logic [NumberW-1:0] distance;
  logic               is_expected, is_behind, is_inside, is_known;
  assign distance    = arrive_number_i - next_q;
  assign is_expected = arrive_number_i == next_q;
  assign is_behind   = distance[NumberW-1];
  assign is_inside   = distance < NumberW'(Window);
  assign is_known    = ahead_q[distance[CountW-2:0]];
  always_comb begin
    if (is_expected) arrival_o = wharf_pkg::ArrivalNext;
    else if (is_inside) arrival_o = is_known ? wharf_pkg::ArrivalDuplicate : wharf_pkg::ArrivalAhead;
    else arrival_o = is_behind ? wharf_pkg::ArrivalDuplicate : wharf_pkg::ArrivalTooFar;
  end

  // The expected number takes those with it that wait behind it.
  logic              is_next, is_ahead;
  logic [Window-1:0] waiting;
  logic [Window:0]   ones;  // The ones from the lowest bit up.
  logic [CountW-1:0] step;
  assign is_next  = arrive_valid_i && is_expected;
  assign is_ahead = arrive_valid_i && arrival_o == wharf_pkg::ArrivalAhead;
  assign waiting  = ahead_q | Window'(1);
  assign ones[Window] = 1'b0;
  for (genvar i = 0; i < Window; i++) begin : gen_ones
    assign ones[i] = &waiting[i:0];
  end
  always_comb begin
    step = '0;
    for (int unsigned i = 0; i < Window; i++) step = step | (CountW'(i + 1) & {CountW{ones[i] && !ones[i+1]}});
  end
  assign advanced_o = is_next ? step : '0;

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      next_q  <= first_i;
      span_q  <= '0;
      ahead_q <= '0;
    end else if (is_next) begin
      next_q  <= next_q + NumberW'(step);
      span_q  <= span_q < step ? '0 : span_q - step;
      ahead_q <= waiting >> step;
    end else if (is_ahead) begin
      ahead_q <= ahead_q | (Window'(1) << distance[CountW-2:0]);
      if (CountW'(distance) >= span_q) span_q <= CountW'(distance) + 1'b1;
    end
  end
endmodule
