// SPDX-License-Identifier: Apache-2.0
// What holds for the FIFO whatever its neighbours do: no loss, no duplicate, order, no overflow, no underflow.
// PROVE wharf_fifo_level induction 2
// PROVE wharf_fifo_order bmc 12
// PROVE wharf_fifo_order cover 16

// The level counts what went in and did not come out, for ever.
module wharf_fifo_level (
  input logic clk_i, rst_i, in_valid_i, out_ready_i,
  input logic [1:0] in_data_i
);
  logic       in_ready, out_valid;
  logic [1:0] out_data;
  logic [2:0] level;
  wharf_fifo #(.Width(2), .Depth(4)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .level_o(level)
  );

  logic [2:0] inside;
  logic       known;
  initial known = 1'b0;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      known  <= 1'b1;
      inside <= '0;
    end else begin
      inside <= inside + 3'(in_valid_i && in_ready) - 3'(out_valid && out_ready_i);
    end
  end
  always_comb begin
    if (known) begin
      assert (level == inside);
      assert (level <= 4);
      assert (in_ready == (inside < 4));
      assert (out_valid == (inside > 0));
    end
  end
endmodule

// Any one beat comes out once, unchanged, after those before it and before those behind it.
module wharf_fifo_order (
  input logic clk_i, rst_i, in_valid_i, out_ready_i, pick_i,
  input logic [1:0] in_data_i
);
  logic       in_ready, out_valid;
  logic [1:0] out_data;
  logic [2:0] level;
  wharf_fifo #(.Width(2), .Depth(4)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .level_o(level)
  );

  // The solver picks one beat as it goes in; `ahead` counts those that must leave before it.
  logic       started, picked, gone;
  logic [2:0] ahead;
  logic [1:0] beat;
  initial started = 1'b0;
  logic push, pop;
  assign push = in_valid_i && in_ready;
  assign pop  = out_valid && out_ready_i;
  always_comb begin
    if (!started) assume (rst_i);
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      picked <= 1'b0;
      gone   <= 1'b0;
    end else begin
      if (push && pick_i && !picked) begin
        picked <= 1'b1;
        beat   <= in_data_i;
        ahead  <= level - 3'(pop);
      end
      if (picked && !gone && pop) begin
        if (ahead == 0) gone <= 1'b1;
        else ahead <= ahead - 1'b1;
      end
    end
  end
  always_comb begin
    if (started && picked && !gone) begin
      assert (level > ahead);                           // Not lost.
      if (pop && ahead == 0) assert (out_data == beat); // Not changed.
    end
    cover (started && gone && level == 4);
  end
endmodule
