// SPDX-License-Identifier: Apache-2.0
// Transactions of the initiator that wait for their response, by jetty and sequence number. Description: README.md.
module wharf_transaction_table #(
  parameter int unsigned Jetties = 8,   // A power of two from 2.
  parameter int unsigned Depth   = 4,   // Of one jetty that wait: a power of two from 2.
  parameter int unsigned EntryW  = 32   // Bits that are kept of each.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // A jetty begins anew: its next number is 0, and nothing of it waits. Always taken.
  input  logic                       open_valid_i,
  input  logic [$clog2(Jetties)-1:0] open_jetty_i,

  // A transaction begins. It waits while one of Depth numbers ago is not over.
  input  logic                       begin_valid_i,
  output logic                       begin_ready_o,
  input  logic [$clog2(Jetties)-1:0] begin_jetty_i,
  input  logic [EntryW-1:0]          begin_entry_i,
  output logic [15:0]                begin_number_o,  // Its sequence number: the jetty's next one.

  // A response has come. Always taken; a cycle later: what it belongs to.
  input  logic                       find_valid_i,
  input  logic [19:0]                find_jetty_i,
  input  logic [15:0]                find_number_i,
  output logic                       found_valid_o,
  output logic                       found_known_o,   // Such a transaction waits for its response.
  output logic                       found_held_o,    // It is there, and does not: it is to be asked again.
  output logic [EntryW-1:0]          found_entry_o,

  // The transaction that was found last is over, or held until it is asked again: then this is kept of it. Never in a cycle
  // in which a jetty begins anew, else always taken.
  input  logic                       end_valid_i,
  input  logic                       again_valid_i,
  input  logic [EntryW-1:0]          again_entry_i,

  // One that was held is asked again, and waits for its response from now on.
  input  logic                       resume_valid_i,
  output logic                       resume_ready_o,
  input  logic [$clog2(Jetties)-1:0] resume_jetty_i,
  input  logic [15:0]                resume_number_i
);
  localparam int unsigned JettyW = $clog2(Jetties);
  localparam int unsigned SlotW  = $clog2(Depth);

  if (Jetties < 2 || (Jetties & (Jetties - 1)) != 0 || Depth < 2 || (Depth & (Depth - 1)) != 0 || JettyW > 20 ||
      SlotW > 14) begin : gen_refuse
    $error("wharf_transaction_table: Jetties and Depth must be powers of two from 2");
  end

  // Entries with their numbers: one write port, one synchronous read port. A slot is taken when its bits in `begun` and
  // `ended` differ, and held when those in `held` and `resumed` do: so each of these has one writer. They have two
  // asynchronous read ports, `numbers` has one.
  logic [EntryW+15:0] entries [Jetties*Depth];
  logic [Depth-1:0]   begun [Jetties];
  logic [Depth-1:0]   ended [Jetties];
  logic [Depth-1:0]   held [Jetties];
  logic [Depth-1:0]   resumed [Jetties];
  logic [15:0]        numbers [Jetties];

  // ---------------------------------------------------------------- Begin
  logic [Depth-1:0] begin_begun, begin_busy;
  logic [SlotW-1:0] begin_slot;
  logic             begins;
  assign begin_number_o = numbers[begin_jetty_i];
  assign begin_slot     = begin_number_o[SlotW-1:0];
  assign begin_begun    = begun[begin_jetty_i];
  assign begin_busy     = begin_begun ^ ended[begin_jetty_i];
  assign begin_ready_o  = !begin_busy[begin_slot] && !open_valid_i && !again_valid_i;
  assign begins         = begin_valid_i && begin_ready_o;

  // ---------------------------------------------------------------- Find and end
  logic [JettyW-1:0]  find_jetty, found_jetty_q;
  logic [SlotW-1:0]   found_slot_q;
  logic [15:0]        found_number_q, number_q;
  logic               in_range_q, too_new_q;  // It began as it was asked for: its entry has not been read.
  logic [Depth-1:0]   found_busy, found_ended, found_held, found_holds;
  logic               is_there;
  assign find_jetty    = find_jetty_i[JettyW-1:0];
  assign found_slot_q  = found_number_q[SlotW-1:0];
  assign found_ended   = ended[found_jetty_q];
  assign found_busy    = begun[found_jetty_q] ^ found_ended;
  assign found_held    = held[found_jetty_q];
  assign found_holds   = found_held ^ resumed[found_jetty_q];
  assign is_there      = in_range_q && !too_new_q && found_busy[found_slot_q] && number_q == found_number_q;
  assign found_known_o = is_there && !found_holds[found_slot_q];
  assign found_held_o  = is_there && found_holds[found_slot_q];

  // ---------------------------------------------------------------- Asked again
  logic [SlotW-1:0] resume_slot;
  logic [Depth-1:0] resume_resumed, resume_holds;
  logic             resumes;
  assign resume_slot    = resume_number_i[SlotW-1:0];
  assign resume_resumed = resumed[resume_jetty_i];
  assign resume_holds   = held[resume_jetty_i] ^ resume_resumed;
  assign resume_ready_o = !open_valid_i;
  // One whose jetty has begun anew is no longer held.
  assign resumes        = resume_valid_i && resume_ready_o && resume_holds[resume_slot];

  always_ff @(posedge clk_i) begin
    if (again_valid_i) entries[{found_jetty_q, found_slot_q}] <= {found_number_q, again_entry_i};
    else if (begins) entries[{begin_jetty_i, begin_slot}] <= {begin_number_o, begin_entry_i};
    if (find_valid_i) begin
      {number_q, found_entry_o} <= entries[{find_jetty, find_number_i[SlotW-1:0]}];
      found_number_q            <= find_number_i;
      found_jetty_q             <= find_jetty;
      in_range_q                <= (find_jetty_i >> JettyW) == '0 && !(open_valid_i && open_jetty_i == find_jetty);
      too_new_q                 <= begins && begin_jetty_i == find_jetty && begin_slot == find_number_i[SlotW-1:0];
    end else if (open_valid_i && open_jetty_i == found_jetty_q) begin
      in_range_q <= 1'b0;  // What was found is forgotten, and its number comes again.
    end
    if (open_valid_i) begin
      numbers[open_jetty_i] <= '0;
      begun[open_jetty_i]   <= '0;
    end else if (begins) begin
      numbers[begin_jetty_i] <= begin_number_o + 1'b1;
      begun[begin_jetty_i]   <= begin_begun ^ (Depth'(1) << begin_slot);
    end
    if (open_valid_i) ended[open_jetty_i] <= '0;
    else if (end_valid_i && found_known_o) ended[found_jetty_q] <= found_ended ^ (Depth'(1) << found_slot_q);
    if (open_valid_i) held[open_jetty_i] <= '0;
    else if (again_valid_i && found_known_o) held[found_jetty_q] <= found_held ^ (Depth'(1) << found_slot_q);
    if (open_valid_i) resumed[open_jetty_i] <= '0;
    else if (resumes) resumed[resume_jetty_i] <= resume_resumed ^ (Depth'(1) << resume_slot);
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) found_valid_o <= 1'b0;
    else found_valid_o <= find_valid_i;
  end
  logic unused;
  assign unused = &{1'b0, resume_number_i};
endmodule
