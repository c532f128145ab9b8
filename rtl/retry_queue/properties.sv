// SPDX-License-Identifier: Apache-2.0
// What holds for the oldest request that waits: it does not come out before its delay is over, it does soon after, and it
// stays offered.
// PROVE wharf_retry_queue_rules bmc 13
// PROVE wharf_retry_queue_rules cover 12

// Two requests, units of two cycles. The solver chooses one to watch.
module wharf_retry_queue_rules (
  input logic       clk_i, rst_i, in_valid_i, out_ready_i, pick_i,
  input logic [4:0] in_code_i,
  input logic       in_entry_i
);
  logic in_ready, out_valid, out_entry;
  wharf_retry_queue #(.Depth(2), .EntryW(1), .Unit(2)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_code_i, .in_entry_i,
    .out_valid_o(out_valid), .out_ready_i, .out_entry_o(out_entry)
  );
  logic       started, picked, gone, beat, was_offered, push, pop;
  logic [1:0] level, ahead;
  logic [3:0] left, over;   // Cycles of its delay; cycles since it is over and it is the oldest.
  initial started = 1'b0;
  assign push = in_valid_i && in_ready;
  assign pop  = out_valid && out_ready_i;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    assume (in_code_i >= 5'd1 && in_code_i <= 5'd3);
  end
  always_ff @(posedge clk_i) begin
    started     <= 1'b1;
    was_offered <= out_valid && !out_ready_i && !rst_i;
    if (rst_i) begin
      picked <= 1'b0;
      gone   <= 1'b0;
      level  <= '0;
    end else begin
      level <= level + 2'(push) - 2'(pop);
      if (push && pick_i && !picked) begin
        picked <= 1'b1;
        beat   <= in_entry_i;
        ahead  <= level - 2'(pop);
        left   <= 4'(in_code_i) << 1;
        over   <= '0;
      end else if (picked && !gone) begin
        if (left != '0) left <= left - 1'b1;
        if (pop) begin
          if (ahead == '0) gone <= 1'b1;
          else ahead <= ahead - 1'b1;
        end
        over <= left == '0 && ahead == '0 ? over + 1'b1 : '0;
      end
    end
  end
  always_comb begin
    if (started && !rst_i) begin
      assert (level <= 2);
      assert (in_ready == (level != 2));
      if (was_offered) assert (out_valid);
      if (out_valid) assert (level != '0);
      if (picked && !gone && ahead == '0) begin
        if (out_valid) assert (left <= 1 && out_entry == beat);
        if (over >= 4) assert (out_valid);
      end
    end
    cover (started && gone && level == 2);
  end
endmodule
