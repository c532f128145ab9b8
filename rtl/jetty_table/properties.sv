// SPDX-License-Identifier: Apache-2.0
// What holds for the requests of one jetty, beside any others: a doorbell is refused exactly when the jetty is closed or its
// queue is full; each request comes out once, unchanged, in order; a strong one only when no request with a tag is under way,
// one with a fence when none that fetches is; none that may go waits for ever.
// PROVE wharf_jetty_table_rules bmc 9
// PROVE wharf_jetty_table_rules cover 12

// Two jetties, two requests each. The solver chooses which jetty is watched, and one of its requests.
module wharf_jetty_table_rules (
  input logic        clk_i, rst_i, open_valid_i, open_jetty_i, open_value_i, doorbell_valid_i, request_ready_i, pick_i,
  input logic        doorbell_fence_i, doorbell_fetches_i, done_valid_i, done_jetty_i, done_ordered_i, done_fetches_i,
  input logic [19:0] doorbell_jetty_i,
  input logic [1:0]  doorbell_request_i, doorbell_order_i
);
  logic       doorbell_ready, doorbell_refused, request_valid, request_jetty;
  logic [1:0] request;
  wharf_jetty_table #(.Jetties(2), .Depth(2), .RequestW(2)) dut (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .open_value_i, .doorbell_valid_i, .doorbell_ready_o(doorbell_ready),
    .doorbell_jetty_i, .doorbell_request_i, .doorbell_order_i, .doorbell_fence_i, .doorbell_fetches_i,
    .doorbell_refused_o(doorbell_refused),
    .request_valid_o(request_valid), .request_ready_i, .request_jetty_o(request_jetty), .request_o(request),
    .done_valid_i, .done_jetty_i, .done_ordered_i, .done_fetches_i
  );

  (* anyconst *) logic watched;
  logic       started, is_open, opened, picked, gone;
  logic [1:0] level;      // Requests in the queue of the watched jetty,
  logic [1:0] ahead;      // of them before the picked one,
  logic [1:0] beat;
  logic [3:0] first, second;                 // their tags: with a tag, strong, with a fence, fetches.
  logic [1:0] under_way, ordered, fetching;  // Those that came out and are not over.
  logic [2:0] patience;   // For how long the jetty could have been served, and was not.
  logic       stood;      // The output showed one as the jetty was opened anew.
  logic       is_new;     // The output shows a request that it has not shown before.
  initial started = 1'b0;
  logic opens, push, pop, ends, waits, stands;
  assign opens = open_valid_i && open_jetty_i == watched;
  assign push  = doorbell_valid_i && doorbell_ready && !doorbell_refused && doorbell_jetty_i == 20'(watched);
  // A request leaves the queue in the cycle before the output shows it.
  assign pop   = is_new && request_valid && request_jetty == watched;
  assign stands = request_valid && request_jetty == watched;
  assign ends  = done_valid_i && done_jetty_i == watched;
  assign waits = (first[2] && ordered != '0) || (first[1] && fetching != '0);
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    // What is over was under way. A jetty is opened before it is used, and anew when nothing of it is under way.
    if (ends) begin
      assume (under_way != '0 && (!done_ordered_i || ordered != '0) && (!done_fetches_i || fetching != '0));
      assume (under_way > 2'd1 || (done_ordered_i == (ordered != '0) && done_fetches_i == (fetching != '0)));
      assume (!pop && !(request_valid && request_jetty == watched));
    end
    // One at the output is forgotten with its queue, and not taken in that cycle.
    if (opens && open_value_i) assume (under_way + 2'(pop) == 2'(stands) && !(stands && request_ready_i));
    // No more than the table promises to count.
    if (request_valid && request_jetty == watched && under_way == 2'd3) assume (!request_ready_i);
  end
  // One that has just come out is no longer in the queue.
  logic [1:0] now;
  logic [3:0] bell, next;
  assign now  = level - 2'(pop);
  assign bell = {doorbell_order_i == 2'd1 || doorbell_order_i == 2'd2, doorbell_order_i == 2'd2, doorbell_fence_i, doorbell_fetches_i};
  assign next = pop ? second : first;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      is_open   <= 1'b0;
      opened    <= 1'b0;
      picked    <= 1'b0;
      gone      <= 1'b0;
      level     <= '0;
      under_way <= '0;
      ordered   <= '0;
      fetching  <= '0;
      patience  <= '0;
      is_new    <= 1'b1;
      stood     <= 1'b0;
    end else begin
      is_new    <= !request_valid || request_ready_i;
      under_way <= under_way + 2'(pop) - 2'(ends);
      ordered   <= ordered + 2'(pop && first[3]) - 2'(ends && done_ordered_i);
      fetching  <= fetching + 2'(pop && first[0]) - 2'(ends && done_fetches_i);
      if (opens) begin
        is_open <= open_value_i;
        opened  <= opened || open_value_i;
        level   <= '0;
        gone    <= picked;   // It is forgotten, or has come out.
        if (open_value_i) begin
          under_way <= '0;
          ordered   <= '0;
          fetching  <= '0;
        end
      end else begin
        level <= now + 2'(push);
        first <= push && now == '0 ? bell : next;
        if (push && now != '0) second <= bell;
        if (push && pick_i && !picked) begin
          picked <= 1'b1;
          beat   <= doorbell_request_i;
          ahead  <= now;
        end
        if (picked && !gone && pop) begin
          if (ahead == 0) gone <= 1'b1;
          else ahead <= ahead - 1'b1;
        end
      end
      stood    <= stands && opens && open_value_i;
      patience <= now == '0 || waits || !request_ready_i || open_valid_i || done_valid_i || pop ? '0 : patience + 1'b1;
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      if (pop) assert (level != '0 && !waits);                   // Nothing comes from nowhere, or too early.
      if (stood) assert (!stands);
      assert (level <= 2);
      if (pop && picked && !gone && ahead == 0) assert (request == beat);
      if (doorbell_valid_i && doorbell_ready && doorbell_jetty_i == 20'(watched)) begin
        assert (doorbell_refused == (!is_open || now == 2));
      end
      if (doorbell_valid_i && doorbell_ready && doorbell_jetty_i > 20'd1) assert (doorbell_refused);
      // The other jetty is served at most once in between.
      assert (patience < 7);
    end
    cover (started && gone && level == 2);
  end
endmodule
