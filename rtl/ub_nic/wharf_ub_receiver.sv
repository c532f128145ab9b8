// SPDX-License-Identifier: Apache-2.0
// What becomes of each packet: the receiving side of the channel (Go-Back-N), the responder, and the initiator's
// responses. One packet is at work; the next one is looked up meanwhile, and acknowledgements pass. Source: UB-Base 2.0.1,
// 6.4 and 7.3. Description: README.md.
module wharf_ub_receiver #(
  parameter int unsigned LengthW = 11,           // Bits of the length of a packet.
  parameter int unsigned Reach = 64,             // Packets that the peer may have outstanding, at most.
  parameter int unsigned NotReadyCode = 12,      // The delay that a peer is asked for when there is no receive.
  parameter int unsigned NotReadyAttempts = 7,   // How often a request is asked again when the peer has none; 7: for ever.
  parameter int unsigned PageFaultCode = 5,      // The delay and how often, when a page was missing there.
  parameter int unsigned PageFaultAttempts = 16
) (
  input  logic                        clk_i,
  input  logic                        rst_i,
  input  wharf_pkg::ub_route_t        route_i,
  input  logic                        opening_i,         // A jetty is opened: no request of this side ends now.

  // Packets from the codec.
  input  logic                        read_valid_i,
  output logic                        read_ready_o,
  input  logic [3:0]                  read_drop_i,
  input  wharf_pkg::ub_headers_t      read_headers_i,
  input  logic [6:0]                  read_start_i,
  input  logic [LengthW-1:0]          read_length_i,     // Of the data.

  output wharf_pkg::ub_headers_t      work_o,            // The packet at work. What is found, wanted and ended is of it.
  output logic                        busy_o,            // There is one.

  // To the frame reader: the data is wanted, or the frame is done with.
  output logic                        take_valid_o,
  input  logic                        take_ready_i,
  output logic                        take_data_o,
  output logic [6:0]                  take_start_o,
  output logic [LengthW-1:0]          take_length_o,

  // To the sending side: what the peer acknowledges. Always taken.
  output logic                        ack_valid_o,
  output logic [23:0]                 ack_number_o,      // Every packet before it has arrived.
  output logic                        ack_back_o,        // Send again from there on.
  output logic                        odd_ack_o,         // Or an acknowledgement that says neither, to count.
  // What is to be acknowledged: a level, not a stream. It may say more from one cycle to the next.
  output logic                        due_o,
  input  logic                        due_taken_i,
  output logic                        due_negative_o,    // TPNAK: due_number_o is expected. Else TPACK through it.
  output logic [23:0]                 due_number_o,
  output logic [23:0]                 due_tpmsn_o,

  // The segment table, two cycles away, is asked for the packet that the codec shows. It says the same until it is asked
  // again.
  output logic                        ask_valid_o,
  output logic [1:0]                  ask_right_o,
  input  logic [2:0]                  answer_i,
  input  logic                        changing_i,        // A segment is set: what was answered may hold no longer.
  // The transaction table, one cycle away.
  output logic                        find_valid_o,
  input  logic                        found_valid_i,
  input  logic                        found_known_i,
  input  logic                        found_lost_i,      // Its jetty has been opened anew: nobody waits for its answer.
  input  wharf_pkg::nic_transaction_t found_i,
  output logic                        end_valid_o,
  output logic                        end_known_o,       // Its jetty has not been opened anew since it was sent.
  output logic                        end_ordered_o,     // What is over had an order tag,
  output logic                        end_fetches_o,     // or was a Read or an atomic.
  output logic                        keep_valid_o,      // Further responses to it will come; this is kept of it.
  input  logic                        again_room_i,      // There is room for one that is to be asked again.
  output logic                        again_valid_o,     // It is to be asked again after a delay; likewise.
  output logic [4:0]                  again_code_o,
  output wharf_pkg::nic_transaction_t again_entry_o,
  // The receive table, one cycle away.
  output logic                        want_valid_o,
  output logic [19:0]                 want_jetty_o,
  output logic                        want_checks_o,     // The token of the jetty counts.
  input  logic                        taken_valid_i,
  input  logic [1:0]                  taken_result_i,
  input  wharf_pkg::nic_receive_t     taken_i,

  // To the memory writer, which gets the data of the packet.
  output logic                        write_valid_o,
  input  logic                        write_ready_i,
  output logic [63:0]                 write_address_o,
  output logic                        write_swaps_o,     // Its 8 bytes are a big-endian operand.
  input  logic                        written_i,         // Memory has its last line, or that of an atomic.
  // Memory itself, for atomics.
  output logic                        line_valid_o,
  input  logic                        line_ready_i,
  output wharf_pkg::memory_request_t  line_o,
  input  logic                        line_answer_valid_i,
  input  logic [511:0]                line_answer_i,

  // Responses. There is room for one when job_room_i is up. The last waiting_o of them must not leave yet: memory does not
  // have their data.
  output logic                        job_valid_o,
  output logic [2:0]                  waiting_o,
  input  logic                        job_room_i,
  output wharf_pkg::ub_job_t          job_o,
  output logic                        completion_valid_o,
  input  logic                        completion_ready_i,
  output wharf_pkg::nic_completion_t  completion_o,

  // Something to count, as it happens.
  output logic                        malformed_o,
  output logic                        unknown_o,
  output logic                        duplicate_o,
  output logic                        ahead_o,
  output logic                        deferred_o,
  output logic                        refused_o,
  output logic                        not_ready_o,
  output logic                        forgotten_o,       // An answer to a request that its jetty has forgotten.
  output logic                        dropped_o          // An answer to none that waits for one.
);
  localparam logic [3:0] Idle        = 4'd0;
  localparam logic [3:0] Check       = 4'd1;   // The segment table looks.
  localparam logic [3:0] Find        = 4'd2;   // The transaction table looks.
  localparam logic [3:0] Place       = 4'd3;   // The memory writer begins.
  localparam logic [3:0] Writing     = 4'd4;   // The data goes to memory.
  localparam logic [3:0] AtomicRead  = 4'd5;   // A line is asked for,
  localparam logic [3:0] AtomicWait  = 4'd6;   // awaited,
  localparam logic [3:0] AtomicWrite = 4'd7;   // and written.
  localparam logic [3:0] Reply       = 4'd8;   // The response is made.
  localparam logic [3:0] Complete    = 4'd9;   // The request of this side is over.
  localparam logic [3:0] Leave       = 4'd10;  // The frame is done with, its data not wanted.
  localparam logic [3:0] AtomicEnd   = 4'd11;  // Memory takes it.
  localparam logic [3:0] Want        = 4'd12;  // The receive table looks.
  localparam logic [3:0] Judge       = 4'd13;  // A Send: whether its data fits.
  localparam logic [3:0] Notice      = 4'd14;  // The receive is over.
  localparam logic [3:0] Again       = 4'd15;  // The request of this side waits, and is asked again.
  logic [3:0] state_q;

  // ---------------------------------------------------------------- What the packet is
  // The codec shows h. What is taken of it is at work as p, while the codec shows the next one.
  wharf_pkg::ub_headers_t h, p;
  logic [6:0]             start_q;
  logic [LengthW-1:0]     length_q;
  assign h      = read_headers_i;
  assign work_o = p;
  assign busy_o = state_q != Idle;
  logic is_here, is_ack, is_nak, is_odd, is_data, is_next, is_behind, is_far;
  logic [23:0] next_q, distance;
  assign is_here   = h.destination_tpn == route_i.own_tpn && h.source_tpn == route_i.peer_tpn;
  // With and without CETPH; 4 is the reserved TPNAK, which some send, whatever its status says.
  assign is_ack    = h.tp_opcode[6:1] == 6'd1 && h.tp_status == wharf_pkg::StatusSuccess;
  assign is_nak    = (h.tp_opcode[6:1] == 6'd1 && h.tp_status == wharf_pkg::StatusError) || h.tp_opcode == 7'd4;
  assign is_odd    = h.tp_opcode[6:1] == 6'd1 && !is_ack && !is_nak;
  assign is_data   = h.tp_opcode == 7'd1 && h.kind != wharf_pkg::UbNone;
  assign distance  = h.psn - next_q;
  assign is_next   = distance == '0;
  assign is_behind = distance[23];
  assign is_far    = distance >= 24'(Reach);

  // A message is a request with all its packets. All of them say the same of it; if not, the first one counts.
  logic        inside_q, is_other;
  logic [7:0]  opcode_q;
  logic [15:0] tassn_q;
  logic [19:0] requester_q, target_q;
  logic [63:0] immediate_q;
  assign is_other = inside_q && (h.opcode != opcode_q || h.tassn != tassn_q || h.requester_id != requester_q);

  // Acknowledgements and what nobody wants pass the packet at work. Of the others one is looked at when none is. What waits
  // for memory itself waits until all Writes before it are there.
  logic is_passing, passes, holds, is_quiet, owes_room, looks, asks, takes;
  assign is_passing = read_drop_i != wharf_pkg::DropNone || !is_data;
  assign passes     = read_valid_i && is_passing && owes_room;
  assign asks       = h.kind == wharf_pkg::UbRequest;
  assign holds      = !is_quiet && !(asks ? h.opcode == wharf_pkg::TaWrite : read_length_i == '0);
  assign looks      = state_q == Idle && read_valid_i && !is_passing && owes_room && !holds;
  assign takes      = looks && is_here && is_next && (asks ? job_room_i : again_room_i);
  assign read_ready_o = passes || looks;

  assign malformed_o = (passes && read_drop_i != wharf_pkg::DropNone) || (takes && asks && is_other);
  assign unknown_o   = (looks && !is_here) || (passes && read_drop_i == wharf_pkg::DropNone &&
                                               (!is_here || !(is_ack || is_nak || is_odd)));
  assign duplicate_o = looks && is_here && is_behind;
  assign ahead_o     = looks && is_here && !is_behind && !is_next;
  assign deferred_o  = looks && is_here && is_next && !takes;

  assign ack_valid_o  = passes && read_drop_i == wharf_pkg::DropNone && is_here && (is_ack || is_nak);
  assign ack_number_o = is_nak ? h.psn : h.psn + 24'd1;
  assign ack_back_o   = is_nak;
  assign odd_ack_o    = passes && read_drop_i == wharf_pkg::DropNone && is_here && is_odd;

  // ---------------------------------------------------------------- Requests
  logic       is_request, is_send, is_word, is_write, is_read, is_atomic, is_plain, other_q, wants_receive;
  assign is_request = p.kind == wharf_pkg::UbRequest;
  // A Write of which nothing is wanted but its data: it counts when the memory writer has it.
  assign is_plain  = is_request && p.opcode == wharf_pkg::TaWrite;
  assign wants_receive = h.opcode == wharf_pkg::TaSend || h.opcode == wharf_pkg::TaSendImmediate;
  assign is_send   = p.opcode == wharf_pkg::TaSend || p.opcode == wharf_pkg::TaSendImmediate;
  assign is_word   = p.opcode == wharf_pkg::TaWriteImmediate;
  assign is_write  = p.opcode == wharf_pkg::TaWrite || is_word;
  assign is_read   = p.opcode == wharf_pkg::TaRead;
  assign is_atomic = p.opcode >= {4'd0, wharf_pkg::OperationCompareSwap} && p.opcode[7:4] == '0;

  // Cycles since the codec has begun to show its packet, and since the table was asked for the packet at work.
  logic [1:0] shown_q, age_q;
  assign ask_valid_o = read_valid_i && shown_q == 2'd0;
  assign ask_right_o = h.opcode == wharf_pkg::TaWrite || h.opcode == wharf_pkg::TaWriteImmediate ? wharf_pkg::RightWrite :
                       (h.opcode == wharf_pkg::TaRead ? wharf_pkg::RightRead : wharf_pkg::RightAtomic);
  always_ff @(posedge clk_i) begin
    if (rst_i || read_ready_o || changing_i) shown_q <= 2'd0;
    else if (read_valid_i && shown_q != 2'd2) shown_q <= shown_q + 2'd1;
    if (takes) age_q <= shown_q == 2'd2 ? 2'd2 : shown_q + 2'd1;
    else if (age_q != 2'd2) age_q <= age_q + 2'd1;
  end

  // What is wrong with this packet; the first mistake of a message counts.
  logic       failed_q;
  logic [2:0] failed_status_q;
  logic [4:0] failed_info_q, info;
  always_comb begin
    info = wharf_pkg::InfoNone;
    if (other_q) info = wharf_pkg::InfoUnsupportedOpcode;
    else if (p.poison) info = wharf_pkg::InfoPoison;
    else if (!is_write && !is_read && !is_atomic) info = wharf_pkg::InfoUnsupportedOpcode;
    else if (answer_i != wharf_pkg::GrantGranted) info = wharf_pkg::InfoAccess;
    else if (is_atomic && p.address[2:0] != '0) info = wharf_pkg::InfoAccess;
    else if (is_write && p.length != 32'(length_q)) info = wharf_pkg::InfoLength;
    else if (is_atomic && p.length != 32'd8) info = wharf_pkg::InfoLength;
    else if (is_read && (length_q != '0 || p.length > 32'd65536)) info = wharf_pkg::InfoLength;
    else if (!is_write && !p.last) info = wharf_pkg::InfoLength;
  end

  // The receive of a message: of a Send with its first packet, of a Write with immediate when the data is there.
  wharf_pkg::nic_receive_t receive_q;
  logic        has_receive_q;
  logic [4:0]  send_info;
  logic [31:0] offset_q, after;  // Bytes of a Send before this packet, and with it.
  assign after        = offset_q + 32'(length_q);
  assign send_info    = other_q ? wharf_pkg::InfoUnsupportedOpcode :
                        (p.poison ? wharf_pkg::InfoPoison :
                         (after > receive_q.capacity ? wharf_pkg::InfoLength : wharf_pkg::InfoNone));
  // Asked once: in the first cycle of the state.
  logic        asked_q;
  assign want_valid_o  = state_q == Want && !asked_q;
  assign want_jetty_o  = target_q;
  assign want_checks_o = is_send;
  assign not_ready_o   = state_q == Want && taken_valid_i && taken_result_i == wharf_pkg::TakenNone;

  // Operands are big-endian on the wire, little-endian in memory. What changes nothing is not written.
  logic [63:0] old_bytes, old, old_q, new_bytes, new_value;
  logic        changes;
  assign old_bytes = line_answer_i[{~p.address[5:3], 6'd0} +: 64];
  for (genvar i = 0; i < 8; i++) begin : gen_swap
    assign old[8*i +: 8]       = old_bytes[63-8*i -: 8];
    assign new_bytes[8*i +: 8] = new_value[63-8*i -: 8];
  end
  wharf_atomic_unit atomic_unit (
    .clk_i, .valid_i(line_answer_valid_i), .operation_i(p.opcode[3:0]), .old_i(old), .operand_i(p.block[255:192]),
    .compare_i(p.block[191:128]), .writes_o(changes), .value_o(new_value)
  );
  assign line_valid_o = state_q == AtomicRead || (state_q == AtomicWrite && changes);
  always_comb begin
    line_o.is_write = state_q == AtomicWrite;
    line_o.tag      = 1'b1;
    line_o.line     = p.address[63:6];
    line_o.data     = {8{new_bytes}};
    line_o.enable   = {8'hff, 56'd0} >> {p.address[5:3], 3'd0};
  end

  // The response of a Write whose data is on its way is made at once, and leaves when memory has it.
  logic starts, answers;
  assign answers     = state_q == Reply && is_quiet;
  assign job_valid_o = answers || (starts && is_plain && p.last);
  always_comb begin
    job_o              = '0;
    job_o.kind         = wharf_pkg::UbResponse;
    job_o.opcode       = wharf_pkg::TaAcknowledge;
    job_o.requester_id = requester_q;
    job_o.tassn        = tassn_q;
    job_o.address      = p.address;
    job_o.data         = {old_q, 64'd0};
    if (failed_q) begin
      job_o.status = failed_status_q;
      job_o.info   = failed_info_q;
    end else if (is_read) begin
      job_o.opcode   = wharf_pkg::TaReadResponse;
      job_o.has_data = 1'b1;
      job_o.length   = p.length;
    end else if (is_atomic) begin
      job_o.opcode    = wharf_pkg::TaAtomicResponse;
      job_o.has_data  = 1'b1;
      job_o.is_inline = 1'b1;
      job_o.length    = 32'd8;
    end
  end

  // ---------------------------------------------------------------- Responses
  // Packets of responses to several requests may take turns: what has come of each is kept with its request.
  wharf_pkg::nic_transaction_t found, found_q;   // With what this packet brings.
  logic [31:0] got_q;          // Bytes of a Read before this packet.
  logic [7:0]  outcome_q, outcome;
  logic        fits, repeats, repeats_q, wants, is_over;
  logic        answers_q;      // The packet is of an answer to a request that waits for it.
  assign find_valid_o = takes && !asks;
  wharf_ub_answer #(
    .LengthW(LengthW), .NotReadyAttempts(NotReadyAttempts), .PageFaultAttempts(PageFaultAttempts)
  ) answer (
    .packet_i(p), .length_i(length_q), .found_i, .found_o(found), .fits_o(fits), .wants_o(wants), .repeats_o(repeats),
    .outcome_o(outcome)
  );

  assign again_valid_o = state_q == Again && !opening_i && found_known_i;
  assign again_code_o  = found_q.status == wharf_pkg::StatusNotReady ? found_q.info : 5'(PageFaultCode);
  always_comb begin
    again_entry_o = found_q;
    if (state_q == Again) begin
      again_entry_o.got    = '0;
      again_entry_o.status = wharf_pkg::StatusSuccess;
      again_entry_o.info   = '0;
      if (found_q.status == wharf_pkg::StatusPageFault) again_entry_o.page_faults = found_q.page_faults + 5'd1;
      else if (found_q.not_ready != '1) again_entry_o.not_ready = found_q.not_ready + 3'd1;
    end
  end
  assign is_over            = state_q == Complete && completion_ready_i && !opening_i;
  assign completion_valid_o = (state_q == Complete && !opening_i) || state_q == Notice;
  always_comb begin
    completion_o           = '0;
    completion_o.tag       = found_q.request.tag;
    completion_o.jetty     = p.requester_id;
    completion_o.status    = outcome_q;
    completion_o.operation = found_q.request.operation;
    completion_o.length    = outcome_q == wharf_pkg::CompletionSuccess ? found_q.request.length : '0;
    if (state_q == Notice) begin
      completion_o.tag           = receive_q.tag;
      completion_o.jetty         = target_q;
      completion_o.status        = !failed_q ? wharf_pkg::CompletionSuccess :
                                   (failed_info_q == wharf_pkg::InfoLength ? wharf_pkg::CompletionLocalLength
                                                                           : wharf_pkg::CompletionLocalAccess);
      completion_o.operation     = opcode_q[3:0];
      completion_o.length        = after;
      completion_o.is_receive    = 1'b1;
      completion_o.has_immediate = opcode_q != wharf_pkg::TaSend;
      completion_o.immediate     = completion_o.has_immediate ? immediate_q : '0;
      completion_o.remote_jetty  = requester_q;
    end
  end
  assign end_ordered_o = found_q.request.order == wharf_pkg::OrderRelaxed || found_q.request.order == wharf_pkg::OrderStrong;
  assign end_fetches_o = found_q.request.operation >= wharf_pkg::OperationRead;
  assign end_valid_o   = is_over || forgotten_o;
  assign end_known_o   = found_known_i;
  // Only what was sent has a credit, which comes back once. One that is held still needs its own.
  assign forgotten_o = found_lost_i && ((state_q == Find && found_valid_i && fits && p.last) || (state_q == Again && !opening_i));
  assign dropped_o   = state_q == Find && found_valid_i && !((found_known_i || found_lost_i) && fits);
  assign refused_o   = answers && failed_q;

  // ---------------------------------------------------------------- Memory and frame
  // Frames are done with in their order: of some nothing is wanted.
  logic freed_q;                // That of the packet at work is done with, or its turn comes of itself.
  logic owes, is_turn, places, leaves;
  assign owes = passes || (looks && !(takes && read_length_i != '0));
  wharf_ub_frame_turns frame_turns (
    .clk_i, .rst_i, .room_o(owes_room), .owes_i(owes), .works_i(state_q != Idle && !freed_q),
    .done_i(starts || (leaves && !freed_q)), .is_turn_o(is_turn), .take_ready_i
  );

  logic placed_room;
  wharf_ub_placed_writes placed_writes (
    .clk_i, .rst_i, .place_i(starts && is_plain), .last_i(p.last), .room_o(placed_room), .written_i,
    .is_quiet_o(is_quiet), .waiting_o
  );

  assign places          = state_q == Place && is_turn && placed_room;
  assign starts          = places && take_ready_i && write_ready_i;
  assign leaves          = state_q == Leave && (freed_q || (is_turn && take_ready_i));
  assign write_valid_o   = places && take_ready_i;
  assign write_address_o = is_request ? (is_send ? receive_q.address + 64'(offset_q) : p.address) : found_q.request.local_address + 64'(got_q);
  assign write_swaps_o   = !is_request && found_q.request.operation >= wharf_pkg::OperationCompareSwap;
  assign take_start_o    = start_q;
  assign take_length_o   = length_q;
  assign take_data_o     = places;
  assign take_valid_o    = !is_turn || (places && write_ready_i) || (state_q == Leave && !freed_q);
  always_ff @(posedge clk_i) begin
    if (looks) freed_q <= read_length_i == '0;
    else if (starts) freed_q <= 1'b1;
  end

  logic ends;
  assign ends = leaves || (starts && is_plain) || (!p.last && state_q == Writing && written_i) ||
                (freed_q && (is_over || answers || (state_q == Again && !opening_i)));
  assign keep_valid_o = ends && !is_request && answers_q && !p.last;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (takes) state_q <= !asks ? Find : (!wants_receive ? Check :
                                                    (has_receive_q || failed_q || is_other || h.poison ? Judge : Want));
        Check: if (age_q == 2'd2) begin
          if (failed_q || info != wharf_pkg::InfoNone) state_q <= !p.last ? Leave : (has_receive_q ? Notice : Reply);
          else if (is_write) state_q <= length_q != '0 ? Place : (!p.last ? Leave : (is_word ? Want : Reply));
          else if (is_read) state_q <= Reply;
          else state_q <= AtomicRead;
        end
        Find: if (found_valid_i) begin
          if (!found_known_i || !fits) state_q <= Leave;
          else if (wants) state_q <= Place;
          else if (repeats) state_q <= Again;
          else state_q <= p.last ? Complete : Leave;
        end
        Place: if (starts) state_q <= is_plain ? Idle : Writing;
        Writing: if (written_i) state_q <= !p.last ? Idle :
                                           (!is_request ? (repeats_q ? Again : Complete) : (is_send ? Notice : (is_word ? Want : Reply)));
        Want: if (taken_valid_i) begin
          if (is_send) state_q <= Judge;
          else state_q <= taken_result_i == wharf_pkg::TakenEntry ? Notice : Reply;
        end
        Judge: begin
          if (!failed_q && send_info == wharf_pkg::InfoNone && length_q != '0) state_q <= Place;
          else state_q <= !p.last ? Leave : (has_receive_q ? Notice : Reply);
        end
        Notice: if (completion_ready_i) state_q <= Reply;
        Again: if (!opening_i) state_q <= freed_q ? Idle : Leave;
        AtomicRead: if (line_ready_i) state_q <= AtomicWait;
        AtomicWait: if (line_answer_valid_i) state_q <= AtomicWrite;
        AtomicWrite: if (!changes) state_q <= Reply;
                     else if (line_ready_i) state_q <= AtomicEnd;
        AtomicEnd: if (written_i) state_q <= Reply;
        Reply: if (is_quiet) state_q <= freed_q ? Idle : Leave;
        Complete: if (is_over) state_q <= freed_q ? Idle : Leave;
        default: if (leaves) state_q <= Idle;
      endcase
    end
  end

  logic ack_due_q, nak_due_q, nak_sent_q, started_q;
  assign due_o          = ack_due_q || nak_due_q;
  assign due_negative_o = nak_due_q;
  assign due_number_o   = nak_due_q ? next_q : next_q - 24'd1;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      next_q     <= '0;
      started_q  <= 1'b0;
      ack_due_q  <= 1'b0;
      nak_due_q  <= 1'b0;
      nak_sent_q <= 1'b0;
      failed_q   <= 1'b0;
      inside_q   <= 1'b0;
      has_receive_q <= 1'b0;
      offset_q   <= '0;
      asked_q    <= 1'b0;
    end else begin
      if (due_taken_i) begin
        ack_due_q <= 1'b0;
        nak_due_q <= 1'b0;
      end
      // Before the first one that is in order, nothing can be named.
      if (duplicate_o && started_q) ack_due_q <= 1'b1;
      // Once for each gap; what no honest peer can have sent shows none.
      if (ahead_o && !is_far && !nak_sent_q) begin
        nak_due_q  <= 1'b1;
        nak_sent_q <= 1'b1;
      end
      // A packet counts when all that it asks for is done, or has begun.
      if (ends) begin
        next_q     <= next_q + 24'd1;
        started_q  <= 1'b1;
        ack_due_q  <= 1'b1;
        nak_due_q  <= 1'b0;
        nak_sent_q <= 1'b0;
        // Packets of responses may come between those of a request.
        if (is_request) begin
          inside_q <= !p.last;
          offset_q <= p.last ? '0 : after;
          if (p.last) begin
            failed_q      <= 1'b0;
            has_receive_q <= 1'b0;
          end
        end
      end
      asked_q <= state_q == Want;
      if (state_q == Check && age_q == 2'd2 && info != wharf_pkg::InfoNone) failed_q <= 1'b1;
      if (state_q == Want && taken_valid_i) begin
        if (taken_result_i == wharf_pkg::TakenEntry) has_receive_q <= 1'b1;
        else failed_q <= 1'b1;
      end
      if (state_q == Judge && send_info != wharf_pkg::InfoNone) failed_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (looks) begin
      p        <= h;
      start_q  <= read_start_i;
      length_q <= read_length_i;
      other_q  <= is_other;
    end
    if (takes && asks && !inside_q) begin
      opcode_q    <= h.opcode;
      tassn_q     <= h.tassn;
      requester_q <= h.requester_id;
      target_q    <= h.target_id;
      immediate_q <= h.block[255:192];
    end
    if (!failed_q) begin
      if (state_q == Check && age_q == 2'd2) begin
        failed_status_q <= wharf_pkg::StatusError;
        failed_info_q   <= info;
      end
      if (state_q == Want && taken_valid_i) begin
        unique case (taken_result_i)
          wharf_pkg::TakenNoJetty:    {failed_status_q, failed_info_q} <= {wharf_pkg::StatusError, wharf_pkg::InfoJettyState};
          wharf_pkg::TakenWrongToken: {failed_status_q, failed_info_q} <= {wharf_pkg::StatusError, wharf_pkg::InfoAccess};
          default:                    {failed_status_q, failed_info_q} <= {wharf_pkg::StatusNotReady, 5'(NotReadyCode)};
        endcase
      end
      if (state_q == Judge) begin
        failed_status_q <= wharf_pkg::StatusError;
        failed_info_q   <= send_info;
      end
    end
    if (state_q == Want && taken_valid_i) receive_q <= taken_i;
    if (state_q == Find && found_valid_i) begin
      found_q   <= found;
      got_q     <= found_i.got;
      outcome_q <= outcome;
      repeats_q <= repeats;
      answers_q <= found_known_i && fits;
    end
    if (line_answer_valid_i) old_q <= old;
    if (looks) due_tpmsn_o <= h.tpmsn;
  end
  logic unused;
  assign unused = &{1'b0, h, p, route_i};
endmodule
