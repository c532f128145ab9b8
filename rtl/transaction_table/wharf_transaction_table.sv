// SPDX-License-Identifier: Apache-2.0
// Transactions of the initiator that wait for their response, by jetty and sequence number. Description: README.md.
module wharf_transaction_table #(
  parameter int unsigned Jetties = 8,   // A power of two from 2.
  parameter int unsigned Depth   = 4,   // Of one jetty that wait: a power of two from 2.
  parameter int unsigned EntryW  = 32   // Bits that are kept of each.
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // A jetty begins anew: its next number is 0, and what waits is forgotten: its place is taken until its answer comes.
  // Always taken.
  input  logic                       open_valid_i,
  input  logic [$clog2(Jetties)-1:0] open_jetty_i,

  // A transaction begins. It waits while its place is taken: by one of Depth numbers ago, or by one that is forgotten.
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
  output logic                       found_lost_o,    // One that is forgotten does: this is all that it waited for.
  output logic [EntryW-1:0]          found_entry_o,

  // The transaction that was found last is over, a forgotten one too. Always taken.
  input  logic                       end_valid_i,
  // Or it goes on waiting, and this is kept of it. Always taken.
  input  logic                       keep_valid_i,
  // Or it is held until it is asked again, and the same is kept of it. Never in a cycle in which a jetty begins anew,
  // else always taken.
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
  // `ended` differ, and held when those in `held` and `resumed` do: so each of these has one writer. `lost` has those that
  // are forgotten, of the places that are taken. These have two asynchronous read ports, `numbers` has one.
  logic [EntryW+15:0] entries [Jetties*Depth];
  logic [Depth-1:0]   begun [Jetties];
  logic [Depth-1:0]   ended [Jetties];
  logic [Depth-1:0]   held [Jetties];
  logic [Depth-1:0]   resumed [Jetties];
  logic [Depth-1:0]   lost [Jetties];
  logic [15:0]        numbers [Jetties];
  logic [Jetties-1:0] opened_q;  // Since the reset: before, memories hold anything.

  // ---------------------------------------------------------------- Begin
  // A jetty that begins anew has the ports.
  logic [JettyW-1:0] begin_at;
  logic [Depth-1:0]  begin_begun, begin_ended, begin_busy;
  logic [SlotW-1:0]  begin_slot;
  logic              begins, is_first;
  assign begin_at       = open_valid_i ? open_jetty_i : begin_jetty_i;
  assign is_first       = open_valid_i && !opened_q[open_jetty_i];
  assign begin_number_o = numbers[begin_jetty_i];
  assign begin_slot     = begin_number_o[SlotW-1:0];
  assign begin_begun    = begun[begin_at];
  assign begin_ended    = ended[begin_at];
  assign begin_busy     = begin_begun ^ begin_ended;
  assign begin_ready_o  = !begin_busy[begin_slot] && !open_valid_i && !again_valid_i && !keep_valid_i;
  assign begins         = begin_valid_i && begin_ready_o;

  // ---------------------------------------------------------------- Find and end
  logic [JettyW-1:0]  find_jetty, found_jetty_q;
  logic [SlotW-1:0]   found_slot_q;
  logic [15:0]        found_number_q, number_q;
  logic               in_range_q, too_new_q;  // It began as it was asked for: its entry has not been read.
  logic [Depth-1:0]   found_busy, found_ended, found_held, found_holds, found_lost;
  logic               is_there;
  assign find_jetty    = find_jetty_i[JettyW-1:0];
  assign found_slot_q  = found_number_q[SlotW-1:0];
  assign found_ended   = ended[found_jetty_q];
  assign found_busy    = begun[found_jetty_q] ^ found_ended;
  assign found_held    = held[found_jetty_q];
  assign found_holds   = found_held ^ resumed[found_jetty_q];
  assign found_lost    = lost[found_jetty_q];
  assign is_there      = in_range_q && !too_new_q && found_busy[found_slot_q] && number_q == found_number_q;
  assign found_known_o = is_there && !found_holds[found_slot_q] && !found_lost[found_slot_q];
  assign found_lost_o  = is_there && !found_holds[found_slot_q] && found_lost[found_slot_q];
  assign found_held_o  = is_there && found_holds[found_slot_q];

  // ---------------------------------------------------------------- Asked again
  logic [JettyW-1:0] resume_at;
  logic [SlotW-1:0]  resume_slot;
  logic [Depth-1:0]  resume_resumed, resume_holds;
  logic              resumes;
  assign resume_at      = open_valid_i ? open_jetty_i : resume_jetty_i;
  assign resume_slot    = resume_number_i[SlotW-1:0];
  assign resume_resumed = resumed[resume_at];
  assign resume_holds   = held[resume_at] ^ resume_resumed;
  assign resume_ready_o = !open_valid_i;
  assign resumes        = resume_valid_i && resume_ready_o && resume_holds[resume_slot];

  always_ff @(posedge clk_i) begin
    if (again_valid_i || keep_valid_i) entries[{found_jetty_q, found_slot_q}] <= {found_number_q, again_entry_i};
    else if (begins) entries[{begin_jetty_i, begin_slot}] <= {begin_number_o, begin_entry_i};
    if (find_valid_i) begin
      {number_q, found_entry_o} <= entries[{find_jetty, find_number_i[SlotW-1:0]}];
      found_number_q            <= find_number_i;
      found_jetty_q             <= find_jetty;
      in_range_q                <= (find_jetty_i >> JettyW) == '0 && opened_q[find_jetty];
      too_new_q                 <= begins && begin_jetty_i == find_jetty && begin_slot == find_number_i[SlotW-1:0];
    end else if (!is_there) begin
      in_range_q <= 1'b0;  // Whoever takes the place now is another.
    end
    if (open_valid_i) numbers[open_jetty_i] <= '0;
    else if (begins) numbers[begin_jetty_i] <= begin_number_o + 1'b1;
    if (is_first) begun[begin_at] <= begin_ended;
    else if (begins) begun[begin_at] <= begin_begun ^ (Depth'(1) << begin_slot);
    if (open_valid_i) lost[begin_at] <= begin_busy;
    else if (begins) lost[begin_at] <= lost[begin_at] & ~(Depth'(1) << begin_slot);
    if (end_valid_i && (found_known_o || found_lost_o)) ended[found_jetty_q] <= found_ended ^ (Depth'(1) << found_slot_q);
    if (is_first) held[open_jetty_i] <= resume_resumed;
    else if (again_valid_i && found_known_o) held[found_jetty_q] <= found_held ^ (Depth'(1) << found_slot_q);
    if (resumes) resumed[resume_at] <= resume_resumed ^ (Depth'(1) << resume_slot);
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) opened_q <= '0;
    else if (open_valid_i) opened_q[open_jetty_i] <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) found_valid_o <= 1'b0;
    else found_valid_o <= find_valid_i;
  end
  logic unused;
  assign unused = &{1'b0, resume_number_i};
endmodule
