// SPDX-License-Identifier: Apache-2.0
// The send queues of all jetties: doorbells fill them, a ready list serves them in turn. Description: README.md.
module wharf_jetty_table #(
  parameter int unsigned Jetties  = 8,   // A power of two from 2.
  parameter int unsigned Depth    = 4,   // Requests of one jetty that wait: a power of two from 2.
  parameter int unsigned RequestW = 32   // Bits of a request.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // Opens a jetty with an empty queue, or closes it: what waits is forgotten. Always taken.
  input  logic                       open_valid_i,
  input  logic [$clog2(Jetties)-1:0] open_jetty_i,
  input  logic                       open_value_i,

  // A request for a jetty.
  input  logic                       doorbell_valid_i,
  output logic                       doorbell_ready_o,
  input  logic [19:0]                doorbell_jetty_i,
  input  logic [RequestW-1:0]        doorbell_request_i,
  output logic                       doorbell_refused_o,  // As it is taken: no such jetty, or its queue is full.

  // The request whose turn it is.
  output logic                       request_valid_o,
  input  logic                       request_ready_i,
  output logic [$clog2(Jetties)-1:0] request_jetty_o,
  output logic [RequestW-1:0]        request_o
);
  localparam int unsigned JettyW = $clog2(Jetties);
  localparam int unsigned SlotW  = $clog2(Depth);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0 || JettyW > 20) begin : gen_refuse
    $error("wharf_jetty_table: Depth must be a power of two from 2, Jetties at most 2^20");
  end

  // Requests: one write port, one synchronous read port. Ends of the queues: one write port and two asynchronous read
  // ports each.
  logic [RequestW-1:0] queue [Jetties*Depth];
  logic [SlotW:0]      write_ends [Jetties];
  logic [SlotW:0]      read_ends [Jetties];
  logic [Jetties-1:0]  open_q;

  // ---------------------------------------------------------------- Doorbells
  logic [JettyW-1:0] bell;
  logic [SlotW:0]    bell_write, bell_level;
  logic              mark_ready, is_known, ring;
  assign bell               = doorbell_jetty_i[JettyW-1:0];
  assign bell_write         = write_ends[bell];
  assign bell_level         = bell_write - read_ends[bell];
  assign is_known           = (doorbell_jetty_i >> JettyW) == '0 && open_q[bell];
  assign doorbell_ready_o   = mark_ready && !open_valid_i;
  assign doorbell_refused_o = doorbell_valid_i && doorbell_ready_o &&
                              (!is_known || bell_level == (SlotW + 1)'(Depth));
  assign ring               = doorbell_valid_i && doorbell_ready_o && !doorbell_refused_o;

  // ---------------------------------------------------------------- Turns
  logic              turn_valid, turn_ready, turn_again, serve;
  logic [JettyW-1:0] turn;
  logic [SlotW:0]    turn_read, turn_level;
  logic [JettyW:0]   listed;
  wharf_ready_list #(.Members(Jetties)) turns (
    .clk_i, .rst_i,
    .mark_valid_i(ring), .mark_ready_o(mark_ready), .mark_member_i(bell),
    .turn_valid_o(turn_valid), .turn_ready_i(turn_ready), .turn_again_i(turn_again), .turn_member_o(turn),
    .listed_o(listed)
  );
  // A jetty that was closed since it rang has nothing to say.
  assign turn_read  = read_ends[turn];
  assign turn_level = write_ends[turn] - turn_read;
  assign turn_ready = (!request_valid_o || request_ready_i) && !open_valid_i;
  assign turn_again = turn_level > (SlotW + 1)'(1);
  assign serve      = turn_valid && turn_ready && turn_level != '0;

  always_ff @(posedge clk_i) begin
    if (ring) queue[{bell, bell_write[SlotW-1:0]}] <= doorbell_request_i;
    if (open_valid_i) write_ends[open_jetty_i] <= '0;
    else if (ring) write_ends[bell] <= bell_write + 1'b1;
    if (open_valid_i) read_ends[open_jetty_i] <= '0;
    else if (serve) read_ends[turn] <= turn_read + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (serve) begin
      request_o       <= queue[{turn, turn_read[SlotW-1:0]}];
      request_jetty_o <= turn;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q          <= '0;
      request_valid_o <= 1'b0;
    end else begin
      if (open_valid_i) open_q[open_jetty_i] <= open_value_i;
      if (!request_valid_o || request_ready_i) request_valid_o <= serve;
    end
  end

  logic unused;
  assign unused = &{1'b0, listed};
endmodule
