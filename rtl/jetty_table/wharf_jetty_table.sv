// SPDX-License-Identifier: Apache-2.0
// The send queues of all jetties: doorbells fill them, a ready list serves them in turn, and order tags hold back what must
// wait for answers. Source: UB-Base 2.0.1, 7.4, service mode ROI. Description: README.md.
module wharf_jetty_table #(
  parameter int unsigned Jetties  = 8,   // A power of two from 2.
  parameter int unsigned Depth    = 4,   // Requests of one jetty that wait: a power of two from 2.
  parameter int unsigned RequestW = 32   // Bits of a request.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // Opens a jetty with an empty queue, or closes it: what waits is forgotten. Always taken. One that is opened forgets its
  // request at the output too, which is not taken in that cycle.
  input  logic                       open_valid_i,
  input  logic [$clog2(Jetties)-1:0] open_jetty_i,
  input  logic                       open_value_i,

  // A request for a jetty.
  input  logic                       doorbell_valid_i,
  output logic                       doorbell_ready_o,
  input  logic [19:0]                doorbell_jetty_i,
  input  logic [RequestW-1:0]        doorbell_request_i,
  input  logic [1:0]                 doorbell_order_i,    // wharf_pkg::Order*, or none.
  input  logic                       doorbell_fence_i,    // It waits for earlier requests that fetch.
  input  logic                       doorbell_fetches_i,  // It is a Read or an atomic.
  output logic                       doorbell_refused_o,  // As it is taken: no such jetty, or its queue is full.

  // The request whose turn it is.
  output logic                       request_valid_o,
  input  logic                       request_ready_i,
  output logic [$clog2(Jetties)-1:0] request_jetty_o,
  output logic [RequestW-1:0]        request_o,

  // A request that came out is over. Always taken.
  input  logic                       done_valid_i,
  input  logic [$clog2(Jetties)-1:0] done_jetty_i,
  input  logic                       done_ordered_i,      // It had an order tag;
  input  logic                       done_fetches_i       // it was a Read or an atomic.
);
  localparam int unsigned JettyW = $clog2(Jetties);
  localparam int unsigned SlotW  = $clog2(Depth);

  if (Depth < 2 || (Depth & (Depth - 1)) != 0 || JettyW > 20) begin : gen_refuse
    $error("wharf_jetty_table: Depth must be a power of two from 2, Jetties at most 2^20");
  end

  localparam int unsigned CountW = SlotW + 2;  // Of requests that came out and are not over: Depth and one at the output.

  // Requests: one write port, one synchronous read port; their tags: one write port, one asynchronous read port. Ends of the
  // queues: one write port and two asynchronous read ports each. How many requests with order tags and how many that
  // fetch have come out, and are over: one write port each, two asynchronous read ports.
  logic [RequestW-1:0] queue [Jetties*Depth];
  logic [3:0]          tags [Jetties*Depth];
  logic [SlotW:0]      write_ends [Jetties];
  logic [SlotW:0]      read_ends [Jetties];
  logic [2*CountW-1:0] begun [Jetties];
  logic [2*CountW-1:0] ended [Jetties];
  logic [Jetties-1:0]  open_q;

  // ---------------------------------------------------------------- Doorbells
  logic [JettyW-1:0] bell;
  logic [SlotW:0]    bell_write, bell_level;
  logic              mark_ready, is_known, ring, again_q;
  // In the cycle in which a request is over its jetty has the ports.
  assign bell               = done_valid_i ? done_jetty_i : doorbell_jetty_i[JettyW-1:0];
  assign bell_write         = write_ends[bell];
  assign bell_level         = bell_write - read_ends[bell];
  assign is_known           = (doorbell_jetty_i >> JettyW) == '0 && open_q[bell];
  assign doorbell_ready_o   = !open_valid_i && !done_valid_i && !again_q;
  assign doorbell_refused_o = doorbell_valid_i && doorbell_ready_o &&
                              (!is_known || bell_level == (SlotW + 1)'(Depth));
  assign ring               = doorbell_valid_i && doorbell_ready_o && !doorbell_refused_o;

  // ---------------------------------------------------------------- Turns
  // A jetty is listed while it has work that may not have been looked at since its last chance: by a doorbell, by the
  // end of a request, or because it has been served and has more. One whose next request must wait leaves the list.
  logic              turn_valid, held_q, served_more, mark_valid;
  logic [JettyW-1:0] turn, turn_q, again_jetty_q, mark_member;
  logic [JettyW:0]   listed;
  assign mark_valid  = done_valid_i ? bell_level != '0 : (again_q || ring);
  assign mark_member = again_q && !done_valid_i ? again_jetty_q : bell;
  wharf_ready_list #(.Members(Jetties)) turns (
    .clk_i, .rst_i,
    .mark_valid_i(mark_valid), .mark_ready_o(mark_ready), .mark_member_i(mark_member),
    .turn_valid_o(turn_valid), .turn_ready_i(!held_q), .turn_again_i(1'b0), .turn_member_o(turn),
    .listed_o(listed)
  );

  // The turn, a cycle later: what the next request of the jetty is, and whether it may go.
  logic              opens;
  logic [SlotW:0]    turn_read, turn_level;
  assign opens      = open_valid_i && open_value_i;
  logic [CountW-1:0] ordered_begun, fetches_begun, ordered_ended, fetches_ended;
  logic              is_ordered, is_strong, is_fence, fetches, waits, acts, serve;
  assign turn_read  = read_ends[turn_q];
  assign turn_level = write_ends[turn_q] - turn_read;
  assign {is_ordered, is_strong, is_fence, fetches} = tags[{turn_q, turn_read[SlotW-1:0]}];
  assign {ordered_begun, fetches_begun} = begun[turn_q];
  // In the cycle in which a jetty is opened it has the port.
  assign {ordered_ended, fetches_ended} = ended[opens ? open_jetty_i : turn_q];
  assign waits = (is_strong && ordered_begun != ordered_ended) || (is_fence && fetches_begun != fetches_ended);
  assign acts  = held_q && (!request_valid_o || request_ready_i) && !open_valid_i && !done_valid_i;
  // A jetty that was closed since it rang has nothing to say.
  assign serve       = acts && turn_level != '0 && !waits;
  assign served_more = serve && turn_level > (SlotW + 1)'(1);

  logic [CountW-1:0] done_ordered, done_fetches;
  assign {done_ordered, done_fetches} = ended[done_jetty_i];
  always_ff @(posedge clk_i) begin
    if (ring) queue[{bell, bell_write[SlotW-1:0]}] <= doorbell_request_i;
    if (ring) tags[{bell, bell_write[SlotW-1:0]}] <=
        {doorbell_order_i == wharf_pkg::OrderRelaxed || doorbell_order_i == wharf_pkg::OrderStrong,
         doorbell_order_i == wharf_pkg::OrderStrong, doorbell_fence_i, doorbell_fetches_i};
    if (open_valid_i) write_ends[open_jetty_i] <= '0;
    else if (ring) write_ends[bell] <= bell_write + 1'b1;
    if (open_valid_i) read_ends[open_jetty_i] <= '0;
    else if (serve) read_ends[turn_q] <= turn_read + 1'b1;
    // Nothing is under way when as many have ended as have begun.
    if (opens) begun[open_jetty_i] <= {ordered_ended, fetches_ended};
    else if (serve) begun[turn_q] <= {ordered_begun + CountW'(is_ordered), fetches_begun + CountW'(fetches)};
    if (done_valid_i) ended[done_jetty_i] <= {done_ordered + CountW'(done_ordered_i), done_fetches + CountW'(done_fetches_i)};
  end
  always_ff @(posedge clk_i) begin
    if (serve) begin
      request_o       <= queue[{turn_q, turn_read[SlotW-1:0]}];
      request_jetty_o <= turn_q;
      again_jetty_q   <= turn_q;
    end
    if (!held_q) turn_q <= turn;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q          <= '0;
      request_valid_o <= 1'b0;
      held_q          <= 1'b0;
      again_q         <= 1'b0;
    end else begin
      if (open_valid_i) open_q[open_jetty_i] <= open_value_i;
      // A jetty that is opened serves nothing in that cycle.
      request_valid_o <= serve || (request_valid_o && !request_ready_i && !(opens && open_jetty_i == request_jetty_o));
      held_q <= held_q ? !acts : turn_valid;
      if (served_more) again_q <= 1'b1;
      else if (!done_valid_i) again_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, listed, mark_ready};
endmodule
