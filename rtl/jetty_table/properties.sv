// SPDX-License-Identifier: Apache-2.0
// What holds for the requests of one jetty, beside any others: a doorbell is refused exactly when the jetty is closed or its
// queue is full; each request comes out once, unchanged, in order; none waits for ever.
// PROVE wharf_jetty_table_rules bmc 9
// PROVE wharf_jetty_table_rules cover 11

// Two jetties, two requests each. The solver chooses which jetty is watched, and one of its requests.
module wharf_jetty_table_rules (
  input logic        clk_i, rst_i, open_valid_i, open_jetty_i, open_value_i, doorbell_valid_i, request_ready_i, pick_i,
  input logic [19:0] doorbell_jetty_i,
  input logic [1:0]  doorbell_request_i
);
  logic       doorbell_ready, doorbell_refused, request_valid, request_jetty;
  logic [1:0] request;
  wharf_jetty_table #(.Jetties(2), .Depth(2), .RequestW(2)) dut (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .open_value_i, .doorbell_valid_i, .doorbell_ready_o(doorbell_ready),
    .doorbell_jetty_i, .doorbell_request_i, .doorbell_refused_o(doorbell_refused),
    .request_valid_o(request_valid), .request_ready_i, .request_jetty_o(request_jetty), .request_o(request)
  );

  (* anyconst *) logic watched;
  logic       started, is_open, picked, gone;
  logic [1:0] level;      // Requests in the queue of the watched jetty,
  logic [1:0] ahead;      // of them before the picked one,
  logic [1:0] beat;
  logic [2:0] patience;   // and for how long the jetty has not been served.
  logic       is_new;     // The output shows a request that it has not shown before.
  initial started = 1'b0;
  logic opens, push, pop;
  assign opens = open_valid_i && open_jetty_i == watched;
  assign push  = doorbell_valid_i && doorbell_ready && !doorbell_refused && doorbell_jetty_i == 20'(watched);
  // A request leaves the queue in the cycle before the output shows it.
  assign pop   = is_new && request_valid && request_jetty == watched;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
  end
  // One that has just come out is no longer in the queue.
  logic [1:0] now;
  assign now = level - 2'(pop);
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      is_open  <= 1'b0;
      picked   <= 1'b0;
      gone     <= 1'b0;
      level    <= '0;
      patience <= '0;
      is_new   <= 1'b1;
    end else begin
      is_new <= !request_valid || request_ready_i;
      if (opens) begin
        is_open <= open_value_i;
        level   <= '0;
        gone    <= picked;   // It is forgotten, or has come out.
      end else begin
        level <= now + 2'(push);
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
      patience <= now == '0 || !request_ready_i || open_valid_i || pop ? '0 : patience + 1'b1;
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      if (pop) assert (level != '0);                             // Nothing comes from nowhere.
      assert (level <= 2);
      if (pop && picked && !gone && ahead == 0) assert (request == beat);
      if (doorbell_valid_i && doorbell_ready && doorbell_jetty_i == 20'(watched)) begin
        assert (doorbell_refused == (!is_open || now == 2));
      end
      if (doorbell_valid_i && doorbell_ready && doorbell_jetty_i > 20'd1) assert (doorbell_refused);
      // The other jetty is served at most once in between.
      assert (patience < 4);
    end
    cover (started && gone && level == 2);
  end
endmodule
