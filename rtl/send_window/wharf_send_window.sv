// SPDX-License-Identifier: Apache-2.0
// The sending side of a numbered channel: numbers packets, holds back what the window does not allow, takes cumulative
// acknowledgements, and goes back when told. Description: README.md.
module wharf_send_window #(
  parameter int unsigned NumberW = 24,  // Bits of a packet sequence number.
  parameter int unsigned Window  = 64   // Packets outstanding, at most: a power of two, at most half of all numbers.
) (
  input  logic                    clk_i,
  input  logic                    rst_i,
  input  logic [NumberW-1:0]      first_i,        // The first number, read while rst_i is up.

  // One beat for each packet that leaves: a number of its own, or again that of one that went before.
  output logic                    send_valid_o,
  input  logic                    send_ready_i,
  input  logic                    send_fresh_i,   // There is a new packet to send.
  output logic [NumberW-1:0]      send_number_o,
  output logic                    send_again_o,   // It was sent before.

  // Every packet before ack_number_i has arrived. Always taken; one outside the window changes nothing.
  input  logic                    ack_valid_i,
  input  logic [NumberW-1:0]      ack_number_i,
  output logic                    ack_refused_o,
  output logic [$clog2(Window):0] ack_released_o, // Packets that this acknowledgement is the first to cover.

  // Send everything from the oldest outstanding number again. Always taken.
  input  logic                    back_valid_i,

  output logic [NumberW-1:0]      oldest_o,       // Not acknowledged; equal to next_o when nothing is outstanding.
  output logic [NumberW-1:0]      next_o          // Of the next new packet.
);
  localparam int unsigned CountW = $clog2(Window) + 1;

  if (Window < 1 || (Window & (Window - 1)) != 0 || CountW > NumberW) begin : gen_refuse
    $error("wharf_send_window: Window must be a power of two, at most half of all numbers");
  end

  // Outstanding packets are [oldest, oldest + held); of these the first `sent` have left since the last going back.
  logic [NumberW-1:0] oldest_q, oldest_d;
  logic [CountW-1:0]  held_q, held_d, sent_q, sent_d;

  assign oldest_o = oldest_q;
  assign next_o   = oldest_q + NumberW'(held_q);

  // What is to be sent again goes before what is new.
  logic room;
  assign room          = held_q != CountW'(Window);
  assign send_again_o  = sent_q != held_q;
  assign send_valid_o  = send_again_o || (send_fresh_i && room);
  assign send_number_o = oldest_q + NumberW'(sent_q);

  logic [NumberW-1:0] distance;
  assign distance       = ack_number_i - oldest_q;
  assign ack_refused_o  = ack_valid_i && distance > NumberW'(held_q);
  assign ack_released_o = ack_valid_i && !ack_refused_o ? CountW'(distance) : '0;

  logic send;
  assign send = send_valid_o && send_ready_i;

  logic [CountW-1:0] sent_now;
  always_comb begin
    oldest_d = oldest_q + NumberW'(ack_released_o);
    held_d   = held_q + CountW'(send && !send_again_o) - ack_released_o;
    // An acknowledgement may cover packets that were about to be sent again.
    sent_now = sent_q + CountW'(send);
    sent_d   = back_valid_i || sent_now < ack_released_o ? '0 : sent_now - ack_released_o;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      oldest_q <= first_i;
      held_q   <= '0;
      sent_q   <= '0;
    end else begin
      oldest_q <= oldest_d;
      held_q   <= held_d;
      sent_q   <= sent_d;
    end
  end
endmodule
