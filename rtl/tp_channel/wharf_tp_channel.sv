// SPDX-License-Identifier: Apache-2.0
// The sending side of a reliable channel: keeps whole packets until they are acknowledged, sends them in order, and
// sends them again from the oldest on when told (Go-Back-N). Source: UB-Base 2.0.1, 6.4. Description: README.md.
module wharf_tp_channel #(
  parameter int unsigned NumberW    = 24,   // Bits of a packet sequence number.
  parameter int unsigned Window     = 64,   // Packets outstanding: a power of two from 2, at most half of all numbers.
  parameter int unsigned Flits      = 512,  // Flits kept: a power of two from PacketFlits.
  parameter int unsigned PacketFlits = 18   // Of one packet, at most.
) (
  input  logic               clk_i,
  input  logic               rst_i,

  // A number for a packet whose flits will come: in this order.
  output logic               number_valid_o,  // There is room for it, in the window and among the flits.
  input  logic               number_ready_i,
  output logic [NumberW-1:0] number_o,        // The first one is 0.

  // The flits of numbered packets. There is always room.
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [511:0]       in_data_i,
  input  logic [6:0]         in_bytes_i,
  input  logic               in_last_i,

  // Whole packets to the wire.
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [511:0]       out_data_o,
  output logic [6:0]         out_bytes_o,
  output logic               out_last_o,

  // Every packet before ack_number_i has arrived. Always taken; only one inside of the window changes anything.
  input  logic               ack_valid_i,
  input  logic [NumberW-1:0] ack_number_i,
  input  logic               ack_missing_i,    // That number is missing: it must have been sent.
  output logic               ack_inside_o,     // It is inside: none of the past,
  output logic               ack_refused_o,    // and none of packets that were never sent.
  output logic               ack_progress_o,   // It is the first to cover some packet.
  // Send everything from the oldest unacknowledged packet again. Always taken.
  input  logic               back_valid_i,

  output logic               sends_o,          // The first flit of a packet goes to the wire.
  output logic               outstanding_o     // Packets were sent that are not acknowledged, this cycle's counted.
);
  localparam int unsigned CountW = $clog2(Window) + 1;
  localparam int unsigned FlitW  = $clog2(Flits);

  if (Window < 2 || (Window & (Window - 1)) != 0 || CountW > NumberW || (Flits & (Flits - 1)) != 0 ||
      Flits < PacketFlits || PacketFlits < 1) begin : gen_refuse
    $error("wharf_tp_channel: Window and Flits must be powers of two, Flits at least PacketFlits");
  end

  // Flits: one write port, one synchronous read port. Where packets begin, also the one behind the last: one write port,
  // an asynchronous read port.
  logic [519:0]       flits [Flits];
  logic [FlitW-1:0]   starts [2*Window];

  // From the oldest number on: `held` have a number, `whole` have all their flits, `reached` have ever been sent, `sent`
  // have been sent since the channel went back.
  logic [NumberW-1:0] oldest_q;
  logic [CountW-1:0]  held_q, whole_q, reached_q, sent_q;
  logic [FlitW-1:0]   write_q, read_q, tail_q;
  logic [FlitW:0]     budget_q;  // Flits that are neither kept nor promised.

  assign number_o       = oldest_q + NumberW'(held_q);
  assign number_valid_o = held_q != CountW'(Window) && budget_q >= (FlitW + 1)'(PacketFlits);
  assign in_ready_o     = 1'b1;

  logic takes_number, completes;
  assign takes_number = number_valid_o && number_ready_i;
  assign completes    = in_valid_i && in_last_i;

  // ---------------------------------------------------------------- Acknowledgements wait for the end of a packet
  // They are judged in the cycle in which they come, and release packets in a later one: neither path is long.
  logic               inside_q;     // Of a packet: its first flit has been read, its last one has not.
  logic [NumberW-1:0] distance;
  logic [NumberW-1:0] acked_q;      // Every packet before is acknowledged; those from the oldest on are still kept.
  logic [CountW-1:0]  covered;      // How many these are.
  logic               back_q, is_between, is_inside;
  assign distance       = ack_number_i - oldest_q;
  assign covered        = acked_q[CountW-1:0] - oldest_q[CountW-1:0];
  assign is_inside      = distance <= NumberW'(reached_q) && !(ack_missing_i && distance == NumberW'(reached_q));
  assign ack_inside_o   = ack_valid_i && is_inside;
  assign ack_refused_o  = ack_valid_i && !is_inside && !distance[NumberW-1];
  assign ack_progress_o = ack_valid_i && is_inside && CountW'(distance) > covered;
  // A packet that is going out will be outstanding, too.
  assign outstanding_o  = (ack_progress_o ? CountW'(distance) != reached_q : covered != reached_q) || inside_q;

  // ---------------------------------------------------------------- Sending
  // The next flit of all: packets lie one behind another, so only going back needs to look where one begins.
  logic               load, reads, ends, returns;
  assign load       = !out_valid_o || out_ready_i;
  assign is_between = !inside_q;

  // Which flit is the last of its packet: known before the flit is read. One write port, one
  // asynchronous read port.
  logic               lasts [Flits];
  // While acknowledgements are applied no packet begins.
  logic               applies;
  assign applies = is_between && (covered != '0 || back_q);
  assign reads   = load && (inside_q || (!applies && sent_q != whole_q));
  assign ends    = reads && lasts[read_q];
  assign sends_o = reads && !inside_q;
  assign returns = applies && (back_q || sent_q < covered);

  logic [FlitW-1:0] new_tail;
  always_ff @(posedge clk_i) begin
    if (in_valid_i) flits[write_q] <= {in_last_i, in_bytes_i, in_data_i};
    if (reads) {out_last_o, out_bytes_o, out_data_o} <= flits[read_q];
  end
  logic [CountW-1:0] next_whole;
  assign next_whole = oldest_q[CountW-1:0] + whole_q + 1'b1;
  // The entry of the first packet of all is written in the reset.
  always_ff @(posedge clk_i) begin
    if (rst_i) starts[0] <= '0;
    else if (completes) starts[next_whole] <= write_q + 1'b1;
  end
  assign new_tail = starts[acked_q[CountW-1:0]];

  logic [CountW-1:0] released, reached_now, sent_now;
  logic [FlitW-1:0]  freed;
  assign released    = applies ? covered : '0;
  assign freed       = applies ? new_tail - tail_q : '0;
  assign sent_now    = sent_q + CountW'(ends);
  assign reached_now = sent_now > reached_q ? sent_now : reached_q;

  // Flits of the packet that is coming in.
  logic [FlitW:0]    size_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      oldest_q    <= '0;
      held_q      <= '0;
      whole_q     <= '0;
      reached_q   <= '0;
      sent_q      <= '0;
      write_q     <= '0;
      read_q      <= '0;
      tail_q      <= '0;
      budget_q    <= (FlitW + 1)'(Flits - 1);
      acked_q     <= '0;
      back_q      <= 1'b0;
      inside_q    <= 1'b0;
      out_valid_o <= 1'b0;
      size_q      <= '0;
    end else begin
      if (ack_progress_o) acked_q <= ack_number_i;
      back_q  <= back_valid_i || (back_q && !applies);
      if (applies) begin
        oldest_q <= acked_q;
        tail_q   <= new_tail;
      end
      held_q    <= held_q + CountW'(takes_number) - released;
      whole_q   <= whole_q + CountW'(completes) - released;
      reached_q <= reached_now - released;
      if (applies) sent_q <= returns ? '0 : sent_q - covered;
      else sent_q <= sent_now;
      if (returns) read_q <= new_tail;
      else if (reads) read_q <= read_q + 1'b1;
      if (in_valid_i) begin
        write_q <= write_q + 1'b1;
        size_q  <= in_last_i ? '0 : size_q + 1'b1;
      end
      budget_q <= budget_q + (FlitW + 1)'(freed) - (takes_number ? (FlitW + 1)'(PacketFlits) : '0) +
                  (completes ? (FlitW + 1)'(PacketFlits) - size_q - 1'b1 : '0);
      if (load) out_valid_o <= reads;
      if (reads) inside_q <= !ends;
    end
  end
  always_ff @(posedge clk_i) begin
    if (in_valid_i) lasts[write_q] <= in_last_i;
  end
endmodule
