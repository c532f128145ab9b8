// SPDX-License-Identifier: Apache-2.0
// Puts the numbered MMIO operations of one thread back into order. Reference: src/engine/ordering/mmio_rob.h.
// Source: "Efficient Remote Memory Ordering for Non-Coherent Interconnects" (ASPLOS '26), 4.2, 5.2, 6.8.
// Description: README.md.
module wharf_mmio_rob #(
  parameter int unsigned NumberW  = 8,    // Bits of a number.
  parameter int unsigned Entries  = 16,   // Of each network: a power of two from 2, at most half of all numbers.
  parameter int unsigned PayloadW = 583,  // What travels with a number: address, length, tag, data.
  parameter int unsigned Strict   = 1     // 1: everything waits for lower numbers. 0: only what `after` says.
) (
  input  logic                  clk_i,
  input  logic                  rst_i,

  // Three virtual networks, each a stream: 0 stores, 1 releases, 2 loads (and acquires).
  input  logic [2:0]            in_valid_i,
  output logic [2:0]            in_ready_o,
  input  logic [3*NumberW-1:0]  in_number_i,
  input  logic [3*NumberW-1:0]  in_after_i,    // All numbers below it go first.
  input  logic [3*PayloadW-1:0] in_payload_i,

  // Stores and releases on their way to the device.
  output logic                  posted_valid_o,
  input  logic                  posted_ready_i,
  output logic                  posted_release_o,
  output logic [NumberW-1:0]    posted_number_o,
  output logic [PayloadW-1:0]   posted_payload_o,

  // Loads on their way to the device. Posted operations may pass those that wait here.
  output logic                  load_valid_o,
  input  logic                  load_ready_i,
  output logic [NumberW-1:0]    load_number_o,
  output logic [PayloadW-1:0]   load_payload_o,

  // The credit of the core: everything below has left.
  output logic [NumberW-1:0]    next_o,

  // The operation that was taken in the cycle before was dropped: its number was seen, or is below its own `after`.
  output logic                  duplicate_o,
  output logic                  malformed_o
);
  localparam int unsigned SlotW = $clog2(Entries);
  localparam int unsigned Reach = 1 << (NumberW - 1);  // Half of all numbers: farther is backwards.
  localparam int unsigned BitW  = NumberW - 1;         // A place among the numbers that are remembered.
  localparam int unsigned Slots = 3 * Entries;

  if (NumberW < 2 || NumberW > 9 || Entries < 2 || (Entries & (Entries - 1)) != 0 || Entries > Reach) begin : gen_refuse
    $error("wharf_mmio_rob: NumberW must be 2 to 9, Entries a power of two from 2, at most half of all numbers");
  end

  // Numbers from next upward, at number modulo Reach: which have left, which are loads inside, which are inside at all.
  logic [Reach-1:0]   left_q, loads_q, inside_q;
  logic [NumberW-1:0] next_q;    // All below have left.
  logic [NumberW-1:0] posted_q;  // All below have left or are loads inside; never behind next_q.
  assign next_o = next_q;

  // Slots, network by network.
  logic [Slots-1:0]         used_q;
  logic [Slots-1:0]         free_q;             // Its operation may leave: all below its bound have. Then it stays so.
  logic [Slots*NumberW-1:0] bound_q, number_q;

  // Whether the frontiers move, and where to.
  logic [NumberW-1:0] posted_ahead, next_after, posted_after;
  logic               next_moves, posted_moves;

  // `frontier` has reached `bound`: the distance is none or backwards.
  function automatic logic reached(input logic [NumberW-1:0] frontier, input logic [NumberW-1:0] bound);
    logic [NumberW-1:0] ahead;
    begin
      ahead   = bound - frontier;
      reached = ahead == '0 || ahead[NumberW-1];
    end
  endfunction

  // ---------------------------------------------------------------- In

  logic [2:0]           bad, seen, fits, can, free_in;
  logic [3*NumberW-1:0] bound;
  for (genvar n = 0; n < 3; n++) begin : gen_in
    logic [NumberW-1:0] number, after, ahead;
    logic               is_reached, is_passed;  // Its bound: by a frontier as it stands, or as it moves.
    assign number = in_number_i[n*NumberW +: NumberW];
    assign after  = in_after_i[n*NumberW +: NumberW];
    assign ahead  = number - next_q;
    assign bound[n*NumberW +: NumberW] = Strict != 0 ? number : after;

    assign bad[n]  = !reached(number, after);
    assign seen[n] = ahead[NumberW-1] || left_q[number[BitW-1:0]] || inside_q[number[BitW-1:0]];
    assign is_reached = reached(n == 2 ? next_q : posted_q, bound[n*NumberW +: NumberW]);
    assign is_passed  = n == 2 ? next_moves && bound[n*NumberW +: NumberW] == next_after :
                                 posted_moves && bound[n*NumberW +: NumberW] == posted_after;
    assign free_in[n] = is_reached || is_passed;
    // One that has to wait beyond the window would keep a lower number out of the slot that both map to.
    assign fits[n] = !used_q[n*Entries + 32'(number[SlotW-1:0])] &&
                     (ahead < NumberW'(Entries) || is_reached);
    // While next lags behind what has left, a far number looks as if it were behind.
    assign can[n]  = in_valid_i[n] && (bad[n] || (ahead[NumberW-1] ? !left_q[next_q[BitW-1:0]] : seen[n] || fits[n]));
  end

  // One a cycle: the networks behind the last one served first.
  logic [2:0] later_q, later, first, chosen, store;
  assign later      = can & later_q;
  assign first      = later != '0 ? later : can;
  assign chosen     = first & (~first + 1'b1);
  assign in_ready_o = chosen;
  assign store      = chosen & ~bad & ~seen;

  logic [NumberW-1:0]  in_number, in_bound;
  logic [PayloadW-1:0] in_payload;
  always_comb begin
    in_number  = '0;
    in_bound   = '0;
    in_payload = '0;
    for (int unsigned n = 0; n < 3; n++) begin
      in_number  = in_number | (in_number_i[n*NumberW +: NumberW] & {NumberW{chosen[n]}});
      in_bound   = in_bound | (bound[n*NumberW +: NumberW] & {NumberW{chosen[n]}});
      in_payload = in_payload | (in_payload_i[n*PayloadW +: PayloadW] & {PayloadW{chosen[n]}});
    end
  end

  // ---------------------------------------------------------------- Out

  // A frontier moves by one, so an operation becomes free when its bound is the number behind it. What leaves is compared
  // with the frontiers slot by slot, beside the choice, so that a frontier may move in the cycle in which it leaves.
  logic [Slots-1:0] free, pick, enter, leave, frees, is_next, is_posted;
  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    assign free[s]  = used_q[s] && free_q[s];
    assign enter[s] = store[s / Entries] && in_number[SlotW-1:0] == SlotW'(s % Entries);
    assign frees[s] = s >= 2 * Entries ? next_moves && bound_q[s*NumberW +: NumberW] == next_after :
                                         posted_moves && bound_q[s*NumberW +: NumberW] == posted_after;
    assign is_next[s]   = number_q[s*NumberW +: NumberW] == next_q;
    assign is_posted[s] = number_q[s*NumberW +: NumberW] == posted_q;
  end

  // The lowest slot of those that may leave, posted ones and loads apart.
  logic [2*Entries-1:0] free_posted;
  logic [Entries-1:0]   free_load;
  assign free_posted = free[2*Entries-1:0];
  assign free_load   = free[Slots-1:2*Entries];
  assign pick        = {free_load & (~free_load + 1'b1), free_posted & (~free_posted + 1'b1)};

  logic posted_load, load_load;
  assign posted_load = !posted_valid_o || posted_ready_i;
  assign load_load   = !load_valid_o || load_ready_i;
  assign leave       = pick & {{Entries{load_load}}, {2 * Entries{posted_load}}};

  logic [NumberW-1:0] posted_number, load_number;
  always_comb begin
    posted_number = '0;
    load_number   = '0;
    for (int unsigned s = 0; s < Slots; s++) begin
      if (s < 2 * Entries) posted_number = posted_number | (number_q[s*NumberW +: NumberW] & {NumberW{pick[s]}});
      else load_number = load_number | (number_q[s*NumberW +: NumberW] & {NumberW{pick[s]}});
    end
  end
  logic posted_release, posted_leaves, load_leaves;
  assign posted_release = pick[2*Entries-1:Entries] != '0;
  assign posted_leaves  = posted_load && free_posted != '0;
  assign load_leaves    = load_load && free_load != '0;

  // Payloads by network and slot: each one write port and one asynchronous read port.
  logic [PayloadW-1:0] stores [Entries];
  logic [PayloadW-1:0] releases [Entries];
  logic [PayloadW-1:0] loads [Entries];
  always_ff @(posedge clk_i) begin
    if (store[0]) stores[in_number[SlotW-1:0]] <= in_payload;
    if (store[1]) releases[in_number[SlotW-1:0]] <= in_payload;
    if (store[2]) loads[in_number[SlotW-1:0]] <= in_payload;
  end

  // ---------------------------------------------------------------- What has left

  logic [Reach-1:0]   left_set, left_now, next_clear, in_set, load_set;
  // A frontier moves over one number a cycle, in the cycle in which it leaves.
  assign left_now     = left_q | left_set;
  assign next_moves   = left_q[next_q[BitW-1:0]] || (leave & is_next) != '0;
  // The one of posted operations stops half of all numbers ahead: that place is the one of next_q.
  assign posted_ahead = posted_q - next_q;
  assign posted_moves = (left_q[posted_q[BitW-1:0]] || loads_q[posted_q[BitW-1:0]] || (leave & is_posted) != '0) &&
                        !posted_ahead[NumberW-1];
  assign next_after   = next_q + 1'b1;
  assign posted_after = posted_q + 1'b1;

  always_comb begin
    left_set   = '0;
    in_set     = '0;
    load_set   = '0;
    if (posted_leaves) left_set[posted_number[BitW-1:0]] = 1'b1;
    if (load_leaves) left_set[load_number[BitW-1:0]] = 1'b1;
    if (store != '0) in_set[in_number[BitW-1:0]] = 1'b1;
    if (store[2]) load_set[in_number[BitW-1:0]] = 1'b1;
  end

  always_comb begin
    next_clear = '0;
    if (next_moves) next_clear[next_q[BitW-1:0]] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      left_q         <= '0;
      loads_q        <= '0;
      inside_q       <= '0;
      next_q         <= '0;
      posted_q       <= '0;
      used_q         <= '0;
      later_q        <= '0;
      posted_valid_o <= 1'b0;
      load_valid_o   <= 1'b0;
      duplicate_o    <= 1'b0;
      malformed_o    <= 1'b0;
    end else begin
      left_q   <= left_now & ~next_clear;
      loads_q  <= (loads_q | load_set) & ~next_clear;
      inside_q <= (inside_q | in_set) & ~left_set;
      if (next_moves) next_q <= next_after;
      if (posted_moves) posted_q <= posted_after;
      used_q   <= (used_q & ~leave) | enter;
      if (chosen != '0) later_q <= ~(chosen | (chosen - 1'b1));
      if (posted_load) posted_valid_o <= posted_leaves;
      if (load_load) load_valid_o <= load_leaves;
      duplicate_o <= (chosen & ~bad & seen) != '0;
      malformed_o <= (chosen & bad) != '0;
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < Slots; s++) begin
      free_q[s] <= enter[s] ? free_in[s / Entries] : free_q[s] || frees[s];
      if (enter[s]) begin
        number_q[s*NumberW +: NumberW] <= in_number;
        bound_q[s*NumberW +: NumberW]  <= in_bound;
      end
    end
    if (posted_load) begin
      posted_release_o <= posted_release;
      posted_number_o  <= posted_number;
      posted_payload_o <= posted_release ? releases[posted_number[SlotW-1:0]] : stores[posted_number[SlotW-1:0]];
    end
    if (load_load) begin
      load_number_o  <= load_number;
      load_payload_o <= loads[load_number[SlotW-1:0]];
    end
  end
endmodule
