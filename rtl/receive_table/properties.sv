// SPDX-License-Identifier: Apache-2.0
// What holds for the receives of one jetty, beside any others: one is refused exactly when the jetty is closed or its queue
// is full; each is taken once, unchanged, in order; the reason why none is taken is the one that holds.
// PROVE wharf_receive_table_rules bmc 9
// PROVE wharf_receive_table_rules cover 10

// Two jetties, two receives each. The solver chooses which jetty is watched, and one of its receives.
module wharf_receive_table_rules (
  input logic        clk_i, rst_i, open_valid_i, open_jetty_i, open_value_i, post_valid_i, take_valid_i, take_checks_i, pick_i,
  input logic [19:0] post_jetty_i, take_jetty_i,
  input logic [1:0]  post_entry_i,
  input logic [31:0] open_token_i, take_token_i
);
  logic       post_ready, post_refused, taken_valid;
  logic [1:0] taken_result, taken_entry;
  wharf_receive_table #(.Jetties(2), .Depth(2), .EntryW(2)) dut (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .open_value_i, .open_token_i, .post_valid_i, .post_ready_o(post_ready),
    .post_jetty_i, .post_entry_i, .post_refused_o(post_refused), .take_valid_i, .take_jetty_i, .take_checks_i, .take_token_i,
    .taken_valid_o(taken_valid), .taken_result_o(taken_result), .taken_entry_o(taken_entry)
  );

  (* anyconst *) logic watched;
  logic        started, is_open, picked, gone, was_watched, was_picked;
  logic [1:0]  level, ahead, beat, expected;   // `ahead`: of the queue before the picked one.
  logic [31:0] token;
  logic        opens, post, take, has_token, takes;
  initial started = 1'b0;
  assign opens     = open_valid_i && open_jetty_i == watched;
  assign post      = post_valid_i && post_ready && !post_refused && post_jetty_i == 20'(watched);
  assign take      = take_valid_i && take_jetty_i == 20'(watched);
  assign has_token = !take_checks_i || token == '0 || token == take_token_i;
  assign takes     = take && is_open && has_token && level != '0;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
  end
  always_ff @(posedge clk_i) begin
    started     <= 1'b1;
    was_watched <= take && !rst_i;
    was_picked  <= takes && picked && !gone && ahead == '0;
    expected    <= !is_open ? wharf_pkg::TakenNoJetty : !has_token ? wharf_pkg::TakenWrongToken :
                   level == '0 ? wharf_pkg::TakenNone : wharf_pkg::TakenEntry;
    if (rst_i) begin
      is_open <= 1'b0;
      picked  <= 1'b0;
      gone    <= 1'b0;
      level   <= '0;
    end else begin
      if (opens) begin
        is_open <= open_value_i;
        token   <= open_token_i;
        level   <= '0;
        gone    <= picked;
      end else begin
        level <= level + 2'(post) - 2'(takes);
        if (post && pick_i && !picked) begin
          picked <= 1'b1;
          beat   <= post_entry_i;
          ahead  <= level - 2'(takes);
        end
        if (takes && picked && !gone) begin
          if (ahead == '0) gone <= 1'b1;
          else ahead <= ahead - 1'b1;
        end
      end
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      assert (level <= 2);
      if (post_valid_i && post_ready && post_jetty_i == 20'(watched)) assert (post_refused == (!is_open || level == 2));
      if (post_valid_i && post_ready && post_jetty_i > 20'd1) assert (post_refused);
      if (was_watched) begin
        assert (taken_valid);
        assert (taken_result == expected);
        if (was_picked) assert (taken_entry == beat);
      end
    end
    cover (started && !rst_i && gone && level == 1 && was_picked && taken_result == wharf_pkg::TakenEntry);
  end
endmodule
