// SPDX-License-Identifier: Apache-2.0
// What holds for the reorder buffer of MMIO operations while numbers have not wrapped: nothing leaves ahead of what it
// must wait for, the credit never passes a number that has not come, and what leaves is what came, once.
// PROVE wharf_mmio_rob_strict bmc 6
// PROVE wharf_mmio_rob_refined bmc 6
// PROVE wharf_mmio_rob_refined cover 7

// The rules, for both instances: 8 numbers, 2 entries for each network. The solver chooses two numbers: one that never
// comes, and one whose operation is watched.
module wharf_mmio_rob_rules #(
  parameter int unsigned Strict = 1
) (
  input logic       clk_i, rst_i, posted_ready_i, load_ready_i,
  input logic [2:0] in_valid_i,
  input logic [8:0] in_number_i, in_after_i,
  input logic [2:0] in_payload_i
);
  logic [2:0] in_ready, next, posted_number, load_number;
  logic       posted_valid, posted_release, posted_payload, load_valid, load_payload, duplicate, malformed;
  wharf_mmio_rob #(.NumberW(3), .Entries(2), .PayloadW(1), .Strict(Strict)) dut (
    .clk_i, .rst_i, .in_valid_i, .in_ready_o(in_ready), .in_number_i, .in_after_i, .in_payload_i,
    .posted_valid_o(posted_valid), .posted_ready_i, .posted_release_o(posted_release),
    .posted_number_o(posted_number), .posted_payload_o(posted_payload), .load_valid_o(load_valid), .load_ready_i,
    .load_number_o(load_number), .load_payload_o(load_payload), .next_o(next), .duplicate_o(duplicate),
    .malformed_o(malformed)
  );

  (* anyconst *) logic [2:0] absent;   // Never comes.
  (* anyconst *) logic [2:0] watched;  // Comes once on network `network`, waiting for `after`.
  (* anyconst *) logic [1:0] network;
  (* anyconst *) logic [2:0] after;
  (* anyconst *) logic       payload;
  logic started, inside, gone;
  initial started = 1'b0;

  // Numbers of the first four only, so that they do not wrap.
  logic [2:0] take;
  assign take = in_valid_i & in_ready;
  always_comb begin
    if (!started) assume (rst_i);
    else assume (!rst_i);
    assume (absent < 4 && watched < 4 && network < 3 && after <= watched);
    for (int unsigned n = 0; n < 3; n++) begin
      if (in_valid_i[n]) begin
        assume (in_number_i[3*n +: 3] < 4 && in_number_i[3*n +: 3] != absent);
        assume (in_after_i[3*n +: 3] <= in_number_i[3*n +: 3]);
        if (in_number_i[3*n +: 3] == watched) begin
          assume (network == n && in_after_i[3*n +: 3] == after && in_payload_i[n] == payload);
        end
      end
    end
  end

  logic shows;  // The watched operation stands at its output.
  assign shows = network == 2 ? load_valid && load_number == watched : posted_valid && posted_number == watched;
  logic leaves;
  assign leaves = shows && (network == 2 ? load_ready_i : posted_ready_i);
  always_ff @(posedge clk_i) begin
    started <= 1'b1;
    if (rst_i) begin
      inside <= 1'b0;
      gone   <= 1'b0;
    end else begin
      for (int unsigned n = 0; n < 3; n++) begin
        if (take[n] && in_number_i[3*n +: 3] == watched) inside <= 1'b1;
      end
      if (leaves) gone <= 1'b1;
    end
  end

  always_comb begin
    if (started && !rst_i) begin
      // The credit never passes what has not come.
      assert (next <= absent);
      // Nothing leaves ahead of what it waits for.
      if (Strict != 0) begin
        if (posted_valid) assert (posted_number < absent);
        if (load_valid) assert (load_number < absent);
      end else if (shows) begin
        assert (after <= absent);
      end
      // What leaves has come, leaves once, and is what came.
      if (shows) begin
        assert (inside && !gone);
        assert ((network == 2 ? load_payload : posted_payload) == payload);
        if (network != 2) assert (posted_release == (network == 1));
      end
      // No other stream shows it.
      if (network == 2) assert (!(posted_valid && posted_number == watched));
      else assert (!(load_valid && load_number == watched));
      assert (!malformed);
      // One a cycle.
      assert ((take & (take - 1'b1)) == 0);
    end
    cover (started && gone && next == 3);
    cover (started && gone && watched > absent);
  end
endmodule

module wharf_mmio_rob_strict (
  input logic       clk_i, rst_i, posted_ready_i, load_ready_i,
  input logic [2:0] in_valid_i,
  input logic [8:0] in_number_i, in_after_i,
  input logic [2:0] in_payload_i
);
  wharf_mmio_rob_rules #(.Strict(1)) rules (
    .clk_i, .rst_i, .posted_ready_i, .load_ready_i, .in_valid_i, .in_number_i, .in_after_i, .in_payload_i
  );
endmodule

module wharf_mmio_rob_refined (
  input logic       clk_i, rst_i, posted_ready_i, load_ready_i,
  input logic [2:0] in_valid_i,
  input logic [8:0] in_number_i, in_after_i,
  input logic [2:0] in_payload_i
);
  wharf_mmio_rob_rules #(.Strict(0)) rules (
    .clk_i, .rst_i, .posted_ready_i, .load_ready_i, .in_valid_i, .in_number_i, .in_after_i, .in_payload_i
  );
endmodule
