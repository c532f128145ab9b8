// SPDX-License-Identifier: Apache-2.0
// When a sender that hears nothing sends again, and when it gives up: one channel's timer. Reference:
// src/engine/reliability/retransmission_timer.h. Source: UB-Base 2.0.1, 6.4.3. Description: README.md.
module wharf_retransmission_timer #(
  parameter int unsigned TimeW    = 24,    // Bits of a time in cycles.
  parameter int unsigned Base     = 6400,  // Cycles of the first time-out: from 1.
  parameter int unsigned Doubles  = 1,     // How often it doubles with each attempt: 0 to 3.
  parameter int unsigned Cap      = 1 << 23,  // Cycles of the longest time-out: from Base, below 2^TimeW.
  parameter int unsigned Attempts = 7      // Time-outs that are answered by sending again: 1 to 15.
) (
  input  logic       clk_i,
  input  logic       rst_i,

  // What happens in this cycle, after a time-out of this cycle, in this order.
  input  logic       progress_i,     // The peer confirmed something new,
  input  logic       outstanding_i,  // and there is more to be confirmed.
  input  logic       stop_i,
  input  logic       start_i,        // Something was sent: the timer runs if it stood still.

  output logic       again_o,        // A time-out: send again.
  output logic       exhausted_o,    // A time-out too many: the timer has stopped.
  output logic       running_o,
  output logic [3:0] attempts_o      // Time-outs since the last progress.
);
  if (TimeW < 2 || TimeW > 28 || Base < 1 || Cap < Base || (Cap >> TimeW) != 0 || Doubles > 3 || Attempts < 1 ||
      Attempts > 15) begin : gen_refuse
    $error("wharf_retransmission_timer: Base must be 1 to Cap, Cap below 2^TimeW, Doubles 0 to 3, Attempts 1 to 15");
  end

  logic             running_q, is_due;
  logic [3:0]       attempts_q;
  logic [TimeW-1:0] left_q;     // Cycles until the deadline.
  logic [TimeW-1:0] timeout_q;  // The time-out that runs, or would.
  assign running_o   = running_q;
  assign attempts_o  = attempts_q;
  assign is_due      = running_q && left_q == '0;
  assign exhausted_o = is_due && attempts_q >= 4'(Attempts);
  assign again_o     = is_due && attempts_q < 4'(Attempts);

  logic [TimeW+2:0] doubled;
  logic [TimeW-1:0] longer;
  assign doubled = (TimeW + 3)'(timeout_q) << Doubles;
  assign longer  = doubled > (TimeW + 3)'(Cap) ? TimeW'(Cap) : TimeW'(doubled);

  always_ff @(posedge clk_i) begin
    if (rst_i || stop_i || exhausted_o || progress_i) begin
      attempts_q <= '0;
      timeout_q  <= TimeW'(Base);
      left_q     <= TimeW'(Base - 1);
      running_q  <= !rst_i && (start_i || (progress_i && outstanding_i && !stop_i));
    end else if (again_o) begin
      attempts_q <= attempts_q + 1'b1;
      timeout_q  <= longer;
      left_q     <= longer - 1'b1;
    end else if (running_q) begin
      left_q     <= left_q - 1'b1;
    end else begin
      left_q     <= timeout_q - 1'b1;
      running_q  <= start_i;
    end
  end
endmodule
