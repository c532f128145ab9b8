// SPDX-License-Identifier: Apache-2.0
// The receives of all jetties: the host posts them, messages take the oldest of the jetty that they are for.
// Source: UB-Base 2.0.1, 7.3. Reference: src/engine/ub/responder_two_sided.cc. Description: README.md.
module wharf_receive_table #(
  parameter int unsigned Jetties = 8,   // A power of two from 2.
  parameter int unsigned Depth   = 4,   // Receives of one jetty that wait: a power of two from 2.
  parameter int unsigned EntryW  = 32   // Bits of a receive.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // Opens a jetty without receives, or closes it: what waits is forgotten. Always taken.
  input  logic                       open_valid_i,
  input  logic [$clog2(Jetties)-1:0] open_jetty_i,
  input  logic                       open_value_i,
  input  logic [31:0]                open_token_i,   // That a Send must show; 0: any will do.

  // A receive for a jetty.
  input  logic                       post_valid_i,
  output logic                       post_ready_o,
  input  logic [19:0]                post_jetty_i,
  input  logic [EntryW-1:0]          post_entry_i,
  output logic                       post_refused_o, // As it is taken: no such jetty, or its queue is full.

  // A message wants a receive. Always taken; a cycle later: what became of it.
  input  logic                       take_valid_i,
  input  logic [19:0]                take_jetty_i,
  input  logic                       take_checks_i,  // The token counts.
  input  logic [31:0]                take_token_i,
  output logic                       taken_valid_o,
  output logic [1:0]                 taken_result_o, // wharf_pkg::Taken*
  output logic [EntryW-1:0]          taken_entry_o   // With TakenEntry: it is taken.
);
  localparam int unsigned JettyW = $clog2(Jetties);
  localparam int unsigned SlotW  = $clog2(Depth);

  if (Jetties < 2 || (Jetties & (Jetties - 1)) != 0 || Depth < 2 || (Depth & (Depth - 1)) != 0 || JettyW > 20) begin : gen_refuse
    $error("wharf_receive_table: Jetties and Depth must be powers of two from 2, Jetties at most 2^20");
  end

  // Receives: one write port, one synchronous read port. Tokens: one write port, one asynchronous read port. Ends of the
  // queues: one write port and two asynchronous read ports each.
  logic [EntryW-1:0]  queue [Jetties*Depth];
  logic [31:0]        tokens [Jetties];
  logic [SlotW:0]     write_ends [Jetties];
  logic [SlotW:0]     read_ends [Jetties];
  logic [Jetties-1:0] open_q;

  // ---------------------------------------------------------------- Posting
  logic [JettyW-1:0] post;
  logic [SlotW:0]    post_write, post_read, post_level;
  logic              posts;
  // In the cycle in which a jetty is opened or closed it has the ports.
  assign post           = open_valid_i ? open_jetty_i : post_jetty_i[JettyW-1:0];
  assign post_write     = write_ends[post];
  assign post_read      = read_ends[post];
  assign post_level     = post_write - post_read;
  assign post_ready_o   = !open_valid_i;
  assign post_refused_o = post_valid_i && post_ready_o &&
                          ((post_jetty_i >> JettyW) != '0 || !open_q[post] || post_level == (SlotW + 1)'(Depth));
  assign posts          = post_valid_i && post_ready_o && !post_refused_o;

  // ---------------------------------------------------------------- Taking
  logic [JettyW-1:0] take;
  logic [SlotW:0]    take_read;
  logic [31:0]       token;
  logic              is_known, has_token, has_entry, takes;
  assign take      = take_jetty_i[JettyW-1:0];
  assign take_read = read_ends[take];
  assign token     = tokens[take];
  assign is_known  = (take_jetty_i >> JettyW) == '0 && open_q[take];
  assign has_token = !take_checks_i || token == '0 || token == take_token_i;
  assign has_entry = write_ends[take] != take_read;
  assign takes     = take_valid_i && is_known && has_token && has_entry;

  always_ff @(posedge clk_i) begin
    if (posts) queue[{post, post_write[SlotW-1:0]}] <= post_entry_i;
    if (open_valid_i) tokens[open_jetty_i] <= open_token_i;
    // A queue is empty when its ends are the same. A message that comes as its jetty is opened or closed still has the
    // receive.
    if (open_valid_i) write_ends[post] <= post_read + (SlotW + 1)'(takes && take == post);
    else if (posts) write_ends[post] <= post_write + 1'b1;
    if (takes) read_ends[take] <= take_read + 1'b1;
    if (take_valid_i) begin
      taken_entry_o  <= queue[{take, take_read[SlotW-1:0]}];
      taken_result_o <= !is_known ? wharf_pkg::TakenNoJetty :
                        (!has_token ? wharf_pkg::TakenWrongToken :
                         (!has_entry ? wharf_pkg::TakenNone : wharf_pkg::TakenEntry));
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      open_q        <= '0;
      taken_valid_o <= 1'b0;
    end else begin
      if (open_valid_i) open_q[open_jetty_i] <= open_value_i;
      taken_valid_o <= take_valid_i;
    end
  end
endmodule
