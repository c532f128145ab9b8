// SPDX-License-Identifier: Apache-2.0
// The remote load-store queue of a root complex: where the order of a device's accesses to host memory is made.
// Reference: src/engine/ordering/rlsq.h and rlsq_design.h. Source: "Efficient Remote Memory Ordering for Non-Coherent
// Interconnects" (ASPLOS '26), 4.1, 5.1, 6.2. Description: README.md.
module wharf_rlsq #(
  parameter int unsigned Design               = wharf_pkg::RlsqSpeculative,
  parameter int unsigned WriteBeforeRead      = 0,   // 1: a read with a proposed label waits for earlier writes.
  parameter int unsigned ReleaseBeforeAcquire = 0,   // 1: a release write takes effect before a later acquire read.
  parameter int unsigned Entries              = 16,  // Lines at once: a power of two from 2.
  parameter int unsigned Reserve              = 2,   // Of these, for writes only: 1 to Entries - 1.
  parameter int unsigned LineW                = 42,  // Bits of a line's number.
  parameter int unsigned RequesterW           = 16,
  parameter int unsigned ThreadW              = 8,
  parameter int unsigned NumberW              = 8,   // Bits that tell the requests of a domain apart.
  parameter int unsigned InfoW                = 88,  // What travels with a request: tag, mask, operation.
  parameter int unsigned DataW                = 512
) (
  input  logic                       clk_i,
  input  logic                       rst_i,

  // From the device: requests on single lines.
  input  logic                       request_valid_i,
  output logic                       request_ready_o,
  input  logic [1:0]                 request_kind_i,   // wharf_pkg::Request*.
  input  logic [2:0]                 request_label_i,  // wharf_pkg::Label*.
  input  logic                       request_whole_i,  // A write of the whole line.
  input  logic [RequesterW-1:0]      request_requester_i,
  input  logic [ThreadW-1:0]         request_thread_i,
  input  logic [NumberW-1:0]         request_number_i,
  input  logic [LineW-1:0]           request_line_i,
  input  logic [InfoW-1:0]           request_info_i,
  input  logic [DataW-1:0]           request_data_i,   // Writes: the bytes. Atomics: the operands.

  // To memory: reads, and the right to write. Those of one line reach its home in this order.
  output logic                       memory_valid_o,
  input  logic                       memory_ready_i,
  output logic [1:0]                 memory_operation_o,  // wharf_pkg::Memory*.
  output logic                       memory_whole_o,      // The write to come covers the line.
  output logic [$clog2(Entries)-1:0] memory_entry_o,
  output logic [LineW-1:0]           memory_line_o,

  // To memory: a write or atomic to be performed now, by the owner of the line.
  output logic                       perform_valid_o,
  input  logic                       perform_ready_i,
  output logic                       perform_atomic_o,
  output logic                       perform_keeps_o,  // The next one on the line writes, too: it stays owned.
  output logic [$clog2(Entries)-1:0] perform_entry_o,
  output logic [LineW-1:0]           perform_line_o,
  output logic [InfoW-1:0]           perform_info_o,
  output logic [DataW-1:0]           perform_data_o,

  // From memory, always taken: what the entry asked for has come: the bytes, the ownership, or it was performed (atomics:
  // with the old value). One that nobody asked for is ignored.
  input  logic                       done_valid_i,
  input  logic [$clog2(Entries)-1:0] done_entry_i,
  input  logic [DataW-1:0]           done_data_i,

  // Another agent writes the line (invalidate) or reads it. A cycle later: what was found, wharf_pkg::Snoop*.
  input  logic                       snoop_valid_i,
  output logic                       snoop_ready_o,  // Low while a write on the line is performed.
  input  logic                       snoop_invalidate_i,
  input  logic [LineW-1:0]           snoop_line_i,
  output logic                       found_valid_o,
  output logic [1:0]                 found_o,

  // To the device: answers of reads and atomics, as they complete.
  output logic                       answer_valid_o,
  input  logic                       answer_ready_i,
  output logic [InfoW-1:0]           answer_info_o,
  output logic [DataW-1:0]           answer_data_o,

  output logic                       idle_o
);
  localparam int unsigned IdW = $clog2(Entries);
  localparam logic ObeysLabels = Design == wharf_pkg::RlsqReleaseAcquire || Design == wharf_pkg::RlsqThreadSpecific ||
                                 Design == wharf_pkg::RlsqSpeculative;
  localparam logic Domains     = Design == wharf_pkg::RlsqThreadSpecific || Design == wharf_pkg::RlsqSpeculative;
  localparam logic Strict      = Design == wharf_pkg::RlsqStrictBlocking || Design == wharf_pkg::RlsqStrictSpeculative;
  localparam logic Speculates  = Design == wharf_pkg::RlsqSpeculative || Design == wharf_pkg::RlsqStrictSpeculative;

  if (Entries < 2 || (Entries & (Entries - 1)) != 0 || Reserve < 1 || Reserve >= Entries || Design > 5) begin : gen_refuse
    $error("wharf_rlsq: Entries must be a power of two from 2, Reserve 1 to Entries - 1, Design 0 to 5");
  end

  // Entries. One that has not taken effect is busy: held (none of the following), sent (asked memory), bound (has its value,
  // or owns its line), or performing. A read or atomic that has taken effect is done until its answer leaves.
  logic [Entries-1:0] busy_q, sent_q, bound_q, performing_q, done_q;
  logic [Entries-1:0] write_q, atomic_q, whole_q;
  logic [Entries-1:0] early_q;    // Asks memory before its turn.
  logic [Entries-1:0] tracked_q;  // Reads: the home was asked to snoop for it.
  logic [Entries-1:0] again_q;    // Reads, sent: a snoop has made the answer worthless.
  logic [Entries-1:0] robbed_q;   // Writers: lost the line before their turn, and do not ask for it early again.
  logic [Entries-1:0] keeps_q;    // Performing: the line stays owned for the next one.
  logic [Entries*LineW-1:0]      line_q;
  logic [Entries*RequesterW-1:0] requester_q;
  logic [Entries*ThreadW-1:0]    thread_q;
  logic [Entries*NumberW-1:0]    number_q;
  logic [Entries*3-1:0]          label_q;

  // Row i: the entries whose completion entry i waits for, by the rules of order and because of its line.
  logic [Entries*Entries-1:0] order_q, same_q;

  logic [Entries-1:0] writer, turn, active;
  assign writer = write_q | atomic_q;
  for (genvar i = 0; i < Entries; i++) begin : gen_wait
    assign turn[i]   = order_q[i*Entries +: Entries] == '0;
    assign active[i] = same_q[i*Entries +: Entries] == '0;
  end

  // Whether the request that arrives takes effect only after one that came before it: keeps_order() of rlsq_design.h.
  function automatic logic keeps_order(
    input logic same_requester, input logic same_domain, input logic same_request,
    input logic first_write, input logic [2:0] first_label, input logic second_write, input logic [2:0] second_label
  );
    logic by_label, strictly, after_write;
    begin
      if (same_request) by_label = first_label == wharf_pkg::LabelAscending;
      else by_label = first_label == wharf_pkg::LabelAcquire || second_label == wharf_pkg::LabelRelease ||
                      (second_label == wharf_pkg::LabelReadRelease && !first_write);
      strictly = Strict && !first_write && !second_write;
      // The rules of PCIe after a posted write.
      if (second_label == wharf_pkg::LabelIdBased && !same_requester) after_write = 1'b0;
      else if (second_write) after_write = second_label == wharf_pkg::LabelStrong || second_label == wharf_pkg::LabelIdBased;
      else after_write = second_label <= wharf_pkg::LabelIdBased || WriteBeforeRead != 0 ||
                         (ReleaseBeforeAcquire != 0 && first_label == wharf_pkg::LabelRelease &&
                          second_label == wharf_pkg::LabelAcquire);
      keeps_order = (same_domain || !Domains) && (by_label || strictly || (first_write && after_write));
    end
  endfunction

  // ---------------------------------------------------------------- A request arrives

  logic               new_write, new_atomic, new_writer;
  logic [2:0]         new_label;
  logic [Entries-1:0] free, place, enter, new_order, new_same;
  logic [IdW:0]       used;
  assign new_write  = request_kind_i == wharf_pkg::RequestWrite;
  assign new_atomic = request_kind_i == wharf_pkg::RequestAtomic;
  assign new_writer = new_write || new_atomic;
  always_comb begin
    new_label = request_label_i;
    if (!ObeysLabels && request_label_i > wharf_pkg::LabelIdBased) begin
      new_label = new_write && request_label_i == wharf_pkg::LabelRelaxed ? wharf_pkg::LabelRelaxedOrdering
                                                                         : wharf_pkg::LabelStrong;
    end
  end

  always_comb begin
    used = '0;
    for (int unsigned i = 0; i < Entries; i++) used = used + (IdW + 1)'(busy_q[i] || done_q[i]);
  end
  assign free            = ~(busy_q | done_q);
  assign request_ready_o = new_write ? free != '0 : used < (IdW + 1)'(Entries - Reserve);
  assign place           = free & (~free + 1'b1);
  assign enter           = place & {Entries{request_valid_i && request_ready_o}};

  logic [Entries-1:0] complete;
  for (genvar i = 0; i < Entries; i++) begin : gen_new
    logic same_requester, same_domain, same_number, same_line, waits, is_before;
    assign same_requester = requester_q[i*RequesterW +: RequesterW] == request_requester_i;
    assign same_domain    = same_requester && thread_q[i*ThreadW +: ThreadW] == request_thread_i;
    assign same_number    = number_q[i*NumberW +: NumberW] == request_number_i;
    assign same_line      = line_q[i*LineW +: LineW] == request_line_i;
    assign is_before      = busy_q[i] && !complete[i];
    assign waits          = keeps_order(same_requester, same_domain, same_domain && same_number, write_q[i],
                                        label_q[i*3 +: 3], new_write, new_label);
    // Two reads of a domain on one line never see its values in the wrong order.
    assign new_order[i] = is_before && (waits || (same_domain && same_line && !new_writer && !writer[i] && !turn[i]));
    assign new_same[i]  = is_before && same_line && (new_writer || writer[i]);
  end

  // ---------------------------------------------------------------- Answers of memory, snoops

  logic [Entries-1:0] here;     // The answer is for this entry.
  logic [Entries-1:0] snooped;  // The snoop is about its line.
  logic [Entries-1:0] came;     // It has its value, or its line, with this answer.
  logic [Entries-1:0] kept;     // Just performed, and its line stays owned,
  logic [Entries-1:0] inherit;  // by this one: a writer, or it would not have been kept.
  logic [Entries-1:0] lost;     // The snoop takes what it had.
  logic [Entries-1:0] spoiled;  // The snoop makes the answer to come worthless.
  logic               snoop_take;

  assign kept = here & performing_q & keeps_q;
  for (genvar i = 0; i < Entries; i++) begin : gen_event
    assign here[i]    = done_valid_i && done_entry_i == IdW'(i);
    assign snooped[i] = busy_q[i] && line_q[i*LineW +: LineW] == snoop_line_i;
    assign inherit[i] = busy_q[i] && kept != '0 && same_q[i*Entries +: Entries] == kept;
  end
  assign came     = here & sent_q & ~again_q;
  // A read takes effect when it has its value and its turn has come; a writer when it has been performed.
  assign complete = (here & performing_q) | (busy_q & ~writer & turn & (bound_q | came));
  // A write whose turn has come is performed first.
  assign snoop_ready_o = (snooped & writer & (performing_q | (bound_q & turn))) == '0;
  assign snoop_take    = snoop_valid_i && snoop_ready_o;
  assign lost    = {Entries{snoop_take}} & snooped & (bound_q | came | inherit) & ~complete &
                   (writer | {Entries{snoop_invalidate_i}});
  assign spoiled = {Entries{snoop_take && snoop_invalidate_i}} & snooped & sent_q & ~here & ~writer & tracked_q & ~turn &
                   ~again_q;

  // ---------------------------------------------------------------- To memory

  logic [Entries-1:0] ask, issue, may_perform, perform;
  logic               memory_load, perform_load;
  assign ask          = busy_q & ~sent_q & ~bound_q & ~performing_q & active & (turn | (early_q & ~robbed_q));
  assign memory_load  = !memory_valid_o || memory_ready_i;
  assign may_perform  = busy_q & writer & bound_q & turn;
  assign perform_load = !perform_valid_o || perform_ready_i;
  logic [Entries-1:0] ask_chosen, perform_chosen, answer_chosen;
  wharf_rlsq_pick #(.Entries(Entries)) pick_ask (
    .clk_i, .rst_i, .ask_i(ask), .take_i(memory_load), .chosen_o(ask_chosen)
  );
  wharf_rlsq_pick #(.Entries(Entries)) pick_perform (
    .clk_i, .rst_i, .ask_i(may_perform), .take_i(perform_load), .chosen_o(perform_chosen)
  );
  assign issue   = ask_chosen & {Entries{memory_load}};
  assign perform = perform_chosen & {Entries{perform_load}};

  // The next one on its line writes, too: it waits for nothing else there.
  logic [Entries-1:0] next_writes;
  for (genvar i = 0; i < Entries; i++) begin : gen_next
    assign next_writes[i] = busy_q[i] && writer[i] && same_q[i*Entries +: Entries] == perform_chosen;
  end
  logic keeps;
  assign keeps = next_writes != '0;

  // ---------------------------------------------------------------- Answers

  logic               answer_load;
  logic [Entries-1:0] leave;
  assign answer_load = !answer_valid_o || answer_ready_i;
  wharf_rlsq_pick #(.Entries(Entries)) pick_answer (
    .clk_i, .rst_i, .ask_i(done_q), .take_i(answer_load), .chosen_o(answer_chosen)
  );
  assign leave  = answer_chosen & {Entries{answer_load}};
  assign idle_o = (busy_q | done_q) == '0 && !answer_valid_o;

  // ---------------------------------------------------------------- What is chosen

  logic [IdW-1:0]   place_id, ask_id, perform_id, answer_id;
  logic [LineW-1:0] ask_line, perform_line;
  always_comb begin
    place_id     = '0;
    ask_id       = '0;
    perform_id   = '0;
    answer_id    = '0;
    ask_line     = '0;
    perform_line = '0;
    for (int unsigned i = 0; i < Entries; i++) begin
      place_id     = place_id | (IdW'(i) & {IdW{place[i]}});
      ask_id       = ask_id | (IdW'(i) & {IdW{ask_chosen[i]}});
      perform_id   = perform_id | (IdW'(i) & {IdW{perform_chosen[i]}});
      answer_id    = answer_id | (IdW'(i) & {IdW{answer_chosen[i]}});
      ask_line     = ask_line | (line_q[i*LineW +: LineW] & {LineW{ask_chosen[i]}});
      perform_line = perform_line | (line_q[i*LineW +: LineW] & {LineW{perform_chosen[i]}});
    end
  end

  // What travels with an entry: one write port, two asynchronous read ports.
  logic [InfoW-1:0] infos [Entries];
  // What a writer brings, and what memory answers: one write port and one asynchronous read port each.
  logic [DataW-1:0] operands [Entries];
  logic [DataW-1:0] values [Entries];
  always_ff @(posedge clk_i) begin
    if (enter != '0) infos[place_id] <= request_info_i;
    if (enter != '0 && new_writer) operands[place_id] <= request_data_i;
    if ((here & (sent_q | performing_q)) != '0) values[done_entry_i] <= done_data_i;
  end

  // ---------------------------------------------------------------- State

  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      busy_q          <= '0;
      sent_q          <= '0;
      bound_q         <= '0;
      performing_q    <= '0;
      done_q          <= '0;
      memory_valid_o  <= 1'b0;
      perform_valid_o <= 1'b0;
      answer_valid_o  <= 1'b0;
      found_valid_o   <= 1'b0;
    end else begin
      busy_q       <= (busy_q & ~complete) | enter;
      sent_q       <= (sent_q & ~here) | issue;
      bound_q      <= (bound_q | came | inherit) & ~complete & ~lost & ~perform;
      performing_q <= (performing_q & ~here) | perform;
      done_q       <= (done_q | (complete & ~write_q)) & ~leave;
      if (memory_load) memory_valid_o <= ask != '0;
      if (perform_load) perform_valid_o <= may_perform != '0;
      if (answer_load) answer_valid_o <= done_q != '0;
      found_valid_o <= snoop_take;
    end
  end

  for (genvar i = 0; i < Entries; i++) begin : gen_entry
    always_ff @(posedge clk_i) begin
      if (enter[i]) begin
        line_q[i*LineW +: LineW]                <= request_line_i;
        requester_q[i*RequesterW +: RequesterW] <= request_requester_i;
        thread_q[i*ThreadW +: ThreadW]          <= request_thread_i;
        number_q[i*NumberW +: NumberW]          <= request_number_i;
        label_q[i*3 +: 3]                       <= new_label;
        write_q[i]                              <= new_write;
        atomic_q[i]                             <= new_atomic;
        whole_q[i]                              <= new_write && request_whole_i;
        // Ownership asked for ahead changes nothing that anybody sees, so legacy writes keep it in every design.
        early_q[i]                              <= Speculates || (new_writer && new_label <= wharf_pkg::LabelIdBased);
        robbed_q[i]                             <= 1'b0;
        order_q[i*Entries +: Entries]           <= new_order;
        same_q[i*Entries +: Entries]            <= new_same;
      end else begin
        if (lost[i] && writer[i]) robbed_q[i] <= 1'b1;
        order_q[i*Entries +: Entries] <= order_q[i*Entries +: Entries] & ~complete;
        same_q[i*Entries +: Entries]  <= same_q[i*Entries +: Entries] & ~complete;
      end
      if (issue[i]) begin
        tracked_q[i] <= !turn[i];
        again_q[i]   <= 1'b0;
      end else if (spoiled[i]) begin
        again_q[i] <= 1'b1;
      end
      if (perform[i]) keeps_q[i] <= keeps;
    end
  end

  logic ask_writer, ask_turn;
  assign ask_writer = (ask_chosen & writer) != '0;
  assign ask_turn   = (ask_chosen & turn) != '0;
  always_ff @(posedge clk_i) begin
    if (memory_load) begin
      memory_operation_o <= ask_writer ? wharf_pkg::MemoryOwn
                                       : (ask_turn ? wharf_pkg::MemoryRead : wharf_pkg::MemoryReadTracked);
      memory_whole_o     <= (ask_chosen & whole_q) != '0;
      memory_entry_o     <= ask_id;
      memory_line_o      <= ask_line;
    end
    if (perform_load) begin
      perform_atomic_o <= (perform_chosen & atomic_q) != '0;
      perform_keeps_o  <= keeps;
      perform_entry_o  <= perform_id;
      perform_line_o   <= perform_line;
      perform_info_o   <= infos[perform_id];
      perform_data_o   <= operands[perform_id];
    end
    if (answer_load) begin
      answer_info_o <= infos[answer_id];
      answer_data_o <= values[answer_id];
    end
    if (snooped == '0) found_o <= wharf_pkg::SnoopMiss;
    else found_o <= (lost | spoiled) != '0 ? wharf_pkg::SnoopSquashed : wharf_pkg::SnoopHit;
  end
endmodule
