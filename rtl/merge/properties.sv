// SPDX-License-Identifier: Apache-2.0
// Fairness of the merge: a port that keeps offering is taken before any other port is taken twice more.
// PROVE wharf_merge_fair bmc 12
// PROVE wharf_merge_fair induction 8
// PROVE wharf_merge_fair cover 8
module wharf_merge_fair (
  input logic clk_i, rst_i, out_ready_i,
  input logic [3:0] in_valid_i,
  input logic [7:0] in_data_i
);
  (* anyconst *) logic [1:0] watched;
  logic [3:0] in_ready;
  logic       out_valid;
  logic [1:0] out_data, out_port;
  wharf_merge #(.Width(2), .Ports(4)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_data_i,
    .out_valid_o(out_valid), .out_ready_i, .out_data_o(out_data), .out_port_o(out_port)
  );

  // Registers inside (Yosys joins these names when it flattens the element).
  (* hierconn *) logic [3:0] \dut.later_q ;
  logic [3:0] later;
  assign later = \dut.later_q ;

  logic       started, offered;
  logic [2:0] others;  // Beats of other ports taken while the watched one waits.
  initial started = 1'b0;
  logic [3:0] taken;
  assign taken = in_valid_i & in_ready;
  always_comb begin
    if (!started) assume (rst_i);
    if (started && offered) assume (in_valid_i[watched]);  // An offered beat stays.
  end
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    offered <= !rst_i && in_valid_i[watched] && !in_ready[watched];
    if (rst_i || !in_valid_i[watched] || taken[watched]) others <= '0;
    else others <= others + 3'(taken != 0);
  end
  // Written invariant: the ports between the last one served and the watched one are all that may still go before it.
  logic [2:0] between;
  always_comb begin
    between = '0;
    for (int unsigned p = 0; p < 4; p++) begin
      if (later[watched]) between = between + 3'(later[p] && p < watched);
      else between = between + 3'(later[p] || p < watched);
    end
    if (started) begin
      assert ((taken & (taken - 1'b1)) == 0);                  // One at most.
      assert (others <= 3);                                    // Fair.
      if (offered) assert (others + between <= 3);
      assert ((later | (later - 1'b1)) == 4'hf || later == 0);  // Ones from some bit upward.
      if (in_valid_i != 0 && (!out_valid || out_ready_i)) assert (taken != 0);    // No beat waits without need.
    end
    cover (started && others == 3 && taken[watched]);
  end
endmodule
