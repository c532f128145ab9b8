// SPDX-License-Identifier: Apache-2.0
// What holds for the transactions of one jetty, beside any others: numbers follow one another, none is given while its place is
// taken, a response finds its transaction with what was kept and says whether its jetty has forgotten it, and
// nothing that is over, never began, or waits to be asked again.
// PROVE wharf_transaction_table_rules bmc 7
// PROVE wharf_transaction_table_rules cover 10

// Two jetties, two transactions each. The solver chooses which jetty is watched.
module wharf_transaction_table_rules (
  input logic        clk_i, rst_i, open_valid_i, open_jetty_i, begin_valid_i, begin_jetty_i, find_valid_i, end_valid_i, keep_valid_i,
  input logic        again_valid_i, resume_valid_i, resume_jetty_i,
  input logic [1:0]  begin_entry_i, again_entry_i,
  input logic [19:0] find_jetty_i,
  input logic [15:0] find_number_i, resume_number_i
);
  logic        begin_ready, found_valid, found_known, found_held, found_lost, resume_ready;
  logic [15:0] begin_number;
  logic [1:0]  found_entry;
  wharf_transaction_table #(.Jetties(2), .Depth(2), .EntryW(2)) dut (
    .clk_i, .rst_i, .open_valid_i, .open_jetty_i, .begin_valid_i, .begin_ready_o(begin_ready), .begin_jetty_i,
    .begin_entry_i, .begin_number_o(begin_number), .find_valid_i, .find_jetty_i, .find_number_i,
    .found_valid_o(found_valid), .found_known_o(found_known), .found_held_o(found_held),
    .found_lost_o(found_lost), .found_entry_o(found_entry), .end_valid_i, .keep_valid_i, .again_valid_i, .again_entry_i,
    .resume_valid_i, .resume_ready_o(resume_ready), .resume_jetty_i, .resume_number_i
  );

  (* anyconst *) logic watched;
  logic        started, opened, may_end, found_watched, was_there, was_known;
  logic [15:0] next, found_number, number_even, number_odd, place_number;
  logic [1:0]  taken, held, lost, entry_even, entry_odd, expected_entry;
  initial started = 1'b0;
  logic opens, begins, finds, is_there, is_waiting, was_waiting, ends;
  assign opens  = open_valid_i && open_jetty_i == watched;
  assign begins = begin_valid_i && begin_ready && begin_jetty_i == watched;
  assign finds  = find_valid_i && find_jetty_i == 20'(watched);
  // The number that is asked for; what was found last, still: it ends once.
  assign place_number = find_number_i[0] ? number_odd : number_even;
  assign is_there     = opened && taken[find_number_i[0]] && find_number_i == place_number;
  assign was_waiting  = found_watched && was_there && !held[found_number[0]];
  assign is_waiting   = was_waiting && !lost[found_number[0]];
  assign ends         = end_valid_i && was_waiting;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    // A jetty is opened before it is used; nothing is held in that cycle.
    if (begin_valid_i && begin_jetty_i == watched) assume (opened);
    if (open_valid_i) assume (!again_valid_i);
    // One that is held does not end, and no other is looked for in that cycle.
    if (again_valid_i) assume (may_end && !end_valid_i && !find_valid_i && found_known && (found_valid || was_known));
    // What is kept of one that goes on waiting: the same, also when its jetty has begun anew.
    if (keep_valid_i) assume (may_end && !end_valid_i && !again_valid_i && !find_valid_i && (found_known || found_lost));
    // What was found ends once.
    if (end_valid_i) assume (may_end);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (found_valid) was_known <= found_known;
    if (rst_i) begin
      opened        <= 1'b0;
      may_end       <= 1'b0;
      found_watched <= 1'b0;
      was_there     <= 1'b0;
      taken         <= '0;
      held          <= '0;
      lost          <= '0;
    end else begin
      if (ends) taken[found_number[0]] <= 1'b0;
      if (opens) begin
        opened <= 1'b1;
        next   <= '0;
        lost   <= '1;
      end else begin
        if (begins) begin
          next           <= next + 16'd1;
          taken[next[0]] <= 1'b1;
          lost[next[0]]  <= 1'b0;
          if (next[0]) {number_odd, entry_odd} <= {next, begin_entry_i};
          else {number_even, entry_even} <= {next, begin_entry_i};
        end
        if (again_valid_i && found_watched) begin
          held[found_number[0]] <= 1'b1;
          if (found_number[0]) entry_odd <= again_entry_i;
          else entry_even <= again_entry_i;
        end
      end
      if (keep_valid_i && found_watched) begin
        if (found_number[0]) entry_odd <= again_entry_i;
        else entry_even <= again_entry_i;
      end
      if (resume_valid_i && resume_ready && resume_jetty_i == watched && held[resume_number_i[0]])
        held[resume_number_i[0]] <= 1'b0;
      if (find_valid_i) begin
        may_end       <= 1'b1;
        found_watched <= finds;
        found_number  <= find_number_i;
        // Not when it ends in this very cycle.
        was_there      <= is_there && !(ends && found_number == find_number_i);
        expected_entry <= find_number_i[0] ? entry_odd : entry_even;
      end else if (end_valid_i || keep_valid_i || again_valid_i) begin
        may_end <= 1'b0;
        if (end_valid_i) was_there <= 1'b0;
      end
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      if (begin_valid_i && begin_jetty_i == watched) begin
        assert (begin_number == next);
        assert (begin_ready == (!taken[next[0]] && !open_valid_i && !keep_valid_i && !again_valid_i));
      end
      if (may_end && found_watched) begin
        assert (found_known == is_waiting);
        assert (found_lost == (was_waiting && !is_waiting));
        assert (found_held == (was_there && held[found_number[0]]));
        if (found_known || found_lost || found_held) assert (found_entry == expected_entry);
      end
    end
    cover (started && found_lost && found_watched && next == 1);
    cover (started && opened && next == 3 && taken == 2'b01 && lost == 2'b00 && found_valid && found_watched && found_known);
  end
endmodule
