// SPDX-License-Identifier: Apache-2.0
// What holds for the skid buffer whatever its neighbours do: order, no loss, no duplicate, and an offered beat stays.
// PROVE wharf_skid_buffer_order bmc 12
// PROVE wharf_skid_buffer_order induction 3
// PROVE wharf_skid_buffer_order cover 12
module wharf_skid_buffer_order (
  input logic clk_i, rst_i, in_valid_i, out_ready_i,
  input logic [3:0] in_data_i
);
  logic       in_ready, out_valid;
  logic [3:0] out_data;
  wharf_skid_buffer #(.Width(4)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data)
  );

  // Registers inside (Yosys joins these names when it flattens the element).
  (* hierconn *) logic [1:0] \dut.state_q ;
  (* hierconn *) logic [3:0] \dut.spare_q ;
  logic [1:0] state;
  logic [3:0] spare;
  assign state = \dut.state_q ;
  assign spare = \dut.spare_q ;

  // The beats inside, oldest first, as an observer counts them.
  logic       started;
  logic [1:0] inside;
  logic [3:0] oldest, youngest;
  initial started = 1'b0;
  always_comb begin
    if (!started) assume (rst_i);
  end
  logic push, pop;
  assign push = in_valid_i && in_ready;
  assign pop  = out_valid && out_ready_i;
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      inside <= '0;
    end else begin
      inside <= inside + 2'(push) - 2'(pop);
      if (pop) oldest <= youngest;
      if (push) youngest <= in_data_i;
      if (push && (inside == 0 || (pop && inside == 1))) oldest <= in_data_i;
    end
  end
  // Written invariant: the spare register holds the youngest of two beats.
  always_comb begin
    if (started) begin
      assert (inside <= 2);
      assert (in_ready == (inside != 2));
      assert (out_valid == (inside != 0));
      if (out_valid) assert (out_data == oldest);
      if (inside == 2) assert (spare == youngest);
      assert (state == inside);
    end
    cover (started && inside == 2 && pop && oldest != youngest);
  end
endmodule
