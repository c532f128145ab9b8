// SPDX-License-Identifier: Apache-2.0
// What becomes of each packet: the responding side of all queue pairs, and the way of answers to the requesting one. One
// packet at a time, with the context of its queue pair. Reference: Responder of src/engine/roce, RoceEngine::receive().
// Source: IBTA vol 1 9.6, 9.7. Description: README.md.
module wharf_roce_receiver #(
  parameter int unsigned QueuePairs   = 8,     // A power of two from 2.
  parameter int unsigned LengthW      = 13,    // Bits of the length of a packet.
  parameter int unsigned Mtu          = 1024,  // Data of a packet: a power of two.
  parameter int unsigned Saved        = 4,     // Reads and atomics of one that the peer may ask for again: a power of two to 128.
  parameter int unsigned NotReadyCode = 12     // The delay that a peer is asked for when there is no receive: 0 to 31.
) (
  input  logic                          clk_i,
  input  logic                          rst_i,

  // A queue pair begins anew. Always taken.
  input  logic                          open_valid_i,
  input  logic [$clog2(QueuePairs)-1:0] open_pair_i,
  input  logic [23:0]                   open_remote_i,
  input  logic [23:0]                   open_psn_i,        // Of the peer's first packet.

  // Packets from the decoder.
  input  logic                          read_valid_i,
  output logic                          read_ready_o,
  input  logic [2:0]                    read_verdict_i,
  input  wharf_pkg::roce_headers_t      read_headers_i,
  input  logic [6:0]                    read_start_i,
  input  logic [LengthW-1:0]            read_bytes_i,

  // To the frame reader: the data is wanted, or the frame is done with.
  output logic                          take_valid_o,
  input  logic                          take_ready_i,
  output logic                          take_data_o,
  output logic [6:0]                    take_start_o,
  output logic [LengthW-1:0]            take_length_o,

  // The requesting side: whether a queue pair lives; that it has ended; what its answers are.
  output logic [$clog2(QueuePairs)-1:0] pair_o,
  input  logic                          opened_i,
  input  logic                          lives_i,
  output logic                          kill_valid_o,
  input  logic                          kill_ready_i,
  output logic                          heard_valid_o,
  input  logic                          heard_ready_i,
  output wharf_pkg::roce_heard_t        heard_o,
  input  logic                          verdict_valid_i,
  input  logic                          verdict_wants_i,
  input  logic [63:0]                   verdict_address_i,
  output logic                          placed_valid_o,
  input  logic                          placed_ready_i,

  // The segment table, two cycles away, and the receive table, one cycle away.
  output logic                          ask_valid_o,
  output logic [31:0]                   ask_key_o,
  output logic [1:0]                    ask_right_o,
  output logic [63:0]                   ask_address_o,
  output logic [31:0]                   ask_length_o,
  input  logic                          answer_valid_i,
  input  logic [2:0]                    answer_i,
  output logic                          want_valid_o,
  input  logic                          taken_valid_i,
  input  logic [1:0]                    taken_result_i,
  input  wharf_pkg::nic_receive_t       taken_i,

  // To the memory writer, which gets the data of the packet.
  output logic                          write_valid_o,
  input  logic                          write_ready_i,
  output logic [63:0]                   write_address_o,
  output logic                          write_swaps_o,     // Its 8 bytes are a big-endian value.
  input  logic                          written_i,         // Memory has its last line, or that of an atomic.
  // Memory itself, for atomics.
  output logic                          line_valid_o,
  input  logic                          line_ready_i,
  output wharf_pkg::memory_request_t    line_o,
  input  logic                          line_answer_valid_i,
  input  logic [511:0]                  line_answer_i,

  // What is owed to the peer.
  output logic                          push_valid_o,
  output wharf_pkg::roce_answer_t       push_o,
  input  logic                          push_room_i,
  output logic                          completion_valid_o,
  input  logic                          completion_ready_i,
  output wharf_pkg::nic_completion_t    completion_o,

  // Something to count, as it happens.
  output logic                          received_o,
  output logic                          foreign_o,
  output logic                          unknown_opcode_o,
  output logic                          version_o,
  output logic                          service_o,
  output logic                          congestion_o,
  output logic                          unknown_queue_o,
  output logic                          not_ready_o,
  output logic                          partition_o,
  output logic                          duplicate_o,
  output logic                          out_of_order_o,
  output logic                          dropped_duplicate_o,
  output logic                          no_resources_o
);
  localparam int unsigned PairW  = $clog2(QueuePairs);
  localparam int unsigned MtuW   = $clog2(Mtu);
  localparam int unsigned SavedW = Saved < 2 ? 1 : $clog2(Saved);

  if (Saved < 2 || Saved > 128 || (Saved & (Saved - 1)) != 0 || NotReadyCode > 31) begin : gen_refuse
    $error("wharf_roce_receiver: Saved must be a power of two from 2 to 128, NotReadyCode at most 31");
  end

  localparam logic [4:0] Idle        = 5'd0;
  localparam logic [4:0] Judge       = 5'd1;   // A request, beside the context of its queue pair.
  localparam logic [4:0] Want        = 5'd2;   // The receive table looks.
  localparam logic [4:0] Check       = 5'd3;   // The segment table looks.
  localparam logic [4:0] Fit         = 5'd4;   // A Send: whether its data fits.
  localparam logic [4:0] Place       = 5'd5;   // The memory writer begins.
  localparam logic [4:0] Writing     = 5'd6;   // The data goes to memory.
  localparam logic [4:0] AtomicRead  = 5'd7;   // A line is asked for,
  localparam logic [4:0] AtomicWait  = 5'd8;   // awaited,
  localparam logic [4:0] AtomicWrite = 5'd9;   // and written.
  localparam logic [4:0] AtomicEnd   = 5'd10;  // Memory takes it.
  localparam logic [4:0] Notice      = 5'd11;  // The receive is over.
  localparam logic [4:0] Accept      = 5'd12;  // The request is done.
  localparam logic [4:0] Refuse      = 5'd13;  // It gets a NAK,
  localparam logic [4:0] Kill        = 5'd14;  // and the queue pair ends.
  localparam logic [4:0] Search      = 5'd15;  // A Read or an atomic that came before is looked for,
  localparam logic [4:0] Compare     = 5'd16;  // and looked at.
  localparam logic [4:0] Again       = 5'd17;  // It is answered again.
  localparam logic [4:0] Hear        = 5'd18;  // The requesting side hears an answer,
  localparam logic [4:0] Verdict     = 5'd19;  // says what it wants of it,
  localparam logic [4:0] Placed      = 5'd20;  // and that it is there.
  localparam logic [4:0] Leave       = 5'd21;  // The frame is done with.
  logic [4:0] state_q;

  // Contexts: one write port, one synchronous read port. So for what is saved.
  logic [wharf_pkg::RoceResponderW-1:0] contexts [QueuePairs];
  logic [wharf_pkg::RoceSavedW-1:0]     saved [QueuePairs*Saved];
  wharf_pkg::roce_responder_t           ctx_q, ctx, kept;
  wharf_pkg::roce_saved_t               saved_q, fresh;

  // ---------------------------------------------------------------- What the packet is
  wharf_pkg::roce_headers_t h;
  logic [PairW-1:0] pair;
  logic             looks, is_here, is_answer, is_good, is_member;
  assign h         = read_headers_i;
  // The number of queue pair i is QueuePairs + i.
  assign pair      = h.destination[PairW-1:0];
  assign pair_o    = pair;
  assign is_here   = (h.destination >> PairW) == 24'd1 && opened_i;
  assign is_answer = h.opcode >= wharf_pkg::RoceReadFirst && h.opcode <= wharf_pkg::RoceAtomicAcknowledge;
  // Nobody is a limited member here, so the peer may be one.
  assign is_member = h.partition[14:0] == 15'h7fff;
  assign looks     = state_q == Idle && read_valid_i && !open_valid_i;
  assign is_good   = read_verdict_i == wharf_pkg::RoceGood && is_here && lives_i && is_member;
  assign received_o       = looks && read_verdict_i != wharf_pkg::RoceForeign;
  assign foreign_o        = looks && read_verdict_i == wharf_pkg::RoceForeign;
  assign unknown_opcode_o = looks && read_verdict_i == wharf_pkg::RoceUnknownOpcode;
  assign version_o        = looks && read_verdict_i == wharf_pkg::RoceBadVersion;
  assign service_o        = looks && read_verdict_i == wharf_pkg::RoceOtherService;
  assign congestion_o     = looks && read_verdict_i == wharf_pkg::RoceCongestion;
  assign unknown_queue_o  = looks && read_verdict_i == wharf_pkg::RoceGood && !is_here;
  assign not_ready_o      = looks && read_verdict_i == wharf_pkg::RoceGood && is_here && !lives_i;
  assign partition_o      = looks && read_verdict_i == wharf_pkg::RoceGood && is_here && lives_i && !is_member;

  // ---------------------------------------------------------------- Requests
  logic        is_send, is_write, is_read, is_atomic, is_first, is_last, has_immediate, is_none;
  logic [31:0] total, begun, remaining;
  logic [23:0] distance, packets, packets_q;
  logic [63:0] address;
  logic [31:0] bytes;
  assign is_read   = h.opcode == wharf_pkg::RoceReadRequest;
  assign is_atomic = h.opcode == wharf_pkg::RoceCompareSwap || h.opcode == wharf_pkg::RoceFetchAdd;
  assign is_send   = h.opcode <= wharf_pkg::RoceSendOnlyImmediate;
  assign is_write  = h.opcode >= wharf_pkg::RoceWriteFirst && h.opcode <= wharf_pkg::RoceWriteOnlyImmediate;
  assign is_none   = !is_read && !is_atomic && !is_send && !is_write;  // Known on the wire, and not there.
  assign is_first  = h.opcode == wharf_pkg::RoceSendFirst || h.opcode == wharf_pkg::RoceSendOnly ||
                     h.opcode == wharf_pkg::RoceSendOnlyImmediate || h.opcode == wharf_pkg::RoceWriteFirst ||
                     h.opcode == wharf_pkg::RoceWriteOnly || h.opcode == wharf_pkg::RoceWriteOnlyImmediate;
  assign is_last   = h.opcode != wharf_pkg::RoceSendFirst && h.opcode != wharf_pkg::RoceSendMiddle &&
                     h.opcode != wharf_pkg::RoceWriteFirst && h.opcode != wharf_pkg::RoceWriteMiddle;
  assign has_immediate = h.opcode == wharf_pkg::RoceSendLastImmediate || h.opcode == wharf_pkg::RoceSendOnlyImmediate ||
                         h.opcode == wharf_pkg::RoceWriteLastImmediate || h.opcode == wharf_pkg::RoceWriteOnlyImmediate;
  assign bytes     = 32'(read_bytes_i);
  assign distance  = h.psn - ctx_q.expected;
  // Of a Write: all its bytes, and those before this packet. The first packet says where it goes.
  assign total     = is_first ? h.length : ctx_q.length;
  assign begun    = is_first ? '0 : ctx_q.received;
  assign remaining = total - begun;
  assign address   = is_first ? h.address : ctx_q.address;
  assign packets   = h.length[31:MtuW] == '0 && h.length[MtuW-1:0] == '0 ? 24'd1 :
                     24'(h.length[31:MtuW]) + 24'(h.length[MtuW-1:0] != '0);

  // What is wrong with it whatever its key: the order of opcodes, and lengths.
  logic       fits_message, fits_length, is_invalid, takes_receive, is_next, is_behind;
  logic [1:0] kind;
  assign kind          = is_write ? wharf_pkg::MessageWrite : wharf_pkg::MessageSend;
  assign fits_message  = is_read || is_atomic || is_first ? ctx_q.message == wharf_pkg::MessageNone : ctx_q.message == kind;
  // First and middle packets are full, the last one has at least one byte.
  assign fits_length   = is_read ? h.length <= 32'(Mtu) << 20 :
                         (is_atomic || (is_last ? bytes <= 32'(Mtu) && (is_first || bytes != '0) : bytes == 32'(Mtu)));
  assign is_invalid    = is_none || !fits_message || !fits_length ||
                         (is_write && is_first && h.length > 32'h80000000);
  assign takes_receive = (is_send && is_first) || (is_write && has_immediate);
  assign is_next       = distance == '0;
  assign is_behind     = distance[23];

  logic judges, starts, checks;
  assign judges      = state_q == Judge && !open_valid_i;
  assign starts      = judges && push_room_i && is_next && !is_invalid;
  // Nothing is touched by what has no bytes.
  assign checks      = is_write ? total != begun : (is_read ? h.length != '0 : is_atomic);
  // A repeat is looked up whether or not it is the one: nothing hears the answer but Check.
  assign ask_valid_o = (starts && checks) || (state_q == Compare && h.length != '0 && is_read);
  assign ask_key_o   = is_first || !is_write ? h.key : ctx_q.key;
  assign ask_right_o = is_write ? wharf_pkg::RightWrite : (is_read ? wharf_pkg::RightRead : wharf_pkg::RightAtomic);
  assign ask_address_o = is_write ? address : h.address;
  assign ask_length_o  = is_write ? remaining : (is_atomic ? 32'd8 : h.length);
  assign duplicate_o    = judges && push_room_i && is_behind;
  assign out_of_order_o = judges && push_room_i && !is_behind && !is_next && ctx_q.nak_sent;
  assign no_resources_o = judges && !push_room_i;

  // The segment table answers while a receive is looked for, if one is.
  logic       checked_q, granted_q, granted, checked;
  assign checked = checked_q || answer_valid_i;
  assign granted = answer_valid_i ? answer_i == wharf_pkg::GrantGranted : granted_q;
  logic       misfits, misfits_q, is_odd;
  assign misfits = is_write ? (is_last ? bytes != remaining : remaining <= bytes) : (is_atomic && h.address[2:0] != '0);
  // Of what has no bytes to check: a Write that has none left.
  assign is_odd  = is_write && (!is_last || bytes != '0);

  // The receive of a message: of a Send with its first packet, of a Write with immediate with its last one.
  wharf_pkg::nic_receive_t receive_q, receive;
  logic        asked_q, cut_q;
  logic [31:0] received_q;   // With this packet.
  assign want_valid_o = state_q == Want && !asked_q;
  assign receive      = is_send && !is_first ? ctx_q.receive : receive_q;

  // ---------------------------------------------------------------- What was answered before
  logic [SavedW:0]   tried_q;
  logic [SavedW-1:0] place;
  logic [23:0]       index, tail;
  logic [64:0]       offset;
  logic [32:0]       room;
  logic              is_found, is_exhausted;
  assign place        = ctx_q.next_saved[SavedW-1:0] - tried_q[SavedW-1:0] - 1'b1;  // The newest one first.
  assign is_exhausted = 8'(tried_q) == ctx_q.saved;
  assign index        = h.psn - saved_q.first;
  // Both at once: where the repeat begins, and how late one of its length may begin.
  assign offset       = {1'b0, h.address} - {1'b0, saved_q.address};
  assign room         = {1'b0, saved_q.length} - {1'b0, h.length};
  assign tail         = index + packets_q;
  // A repeat may ask for the end of it alone, and for nothing else.
  assign is_found     = saved_q.is_atomic == is_atomic && index < saved_q.packets &&
                        (is_atomic || (tail <= saved_q.packets && h.key == saved_q.key && !offset[64] && !room[32] &&
                                       offset[63:0] <= 64'(room[31:0])));

  // ---------------------------------------------------------------- Atomics
  // Operands are big-endian on the wire, little-endian in memory. What changes nothing is not written.
  logic [63:0] old_bytes, old, old_q, new_bytes, new_value;
  logic        changes;
  assign old_bytes = line_answer_i[{~h.address[5:3], 6'd0} +: 64];
  for (genvar i = 0; i < 8; i++) begin : gen_swap
    assign old[8*i +: 8]       = old_bytes[63-8*i -: 8];
    assign new_bytes[8*i +: 8] = new_value[63-8*i -: 8];
  end
  wharf_atomic_unit atomic_unit (
    .clk_i, .valid_i(line_answer_valid_i),
    .operation_i(h.opcode == wharf_pkg::RoceCompareSwap ? wharf_pkg::OperationCompareSwap : wharf_pkg::OperationFetchAdd),
    .old_i(old), .operand_i(h.operand), .compare_i(h.compare), .writes_o(changes), .value_o(new_value)
  );
  assign line_valid_o = state_q == AtomicRead || (state_q == AtomicWrite && changes);
  always_comb begin
    line_o.is_write = state_q == AtomicWrite;
    line_o.tag      = 1'b1;
    line_o.line     = h.address[63:6];
    line_o.data     = {8{new_bytes}};
    line_o.enable   = {8'hff, 56'd0} >> {h.address[5:3], 3'd0};
  end

  // ---------------------------------------------------------------- What is owed
  logic [7:0] syndrome_q;
  logic       is_fatal;
  assign is_fatal     = syndrome_q[6:5] == wharf_pkg::AethNak && syndrome_q != wharf_pkg::SyndromeSequence;
  always_comb begin
    ctx = ctx_q;
    if (state_q == Refuse) begin
      // Once for each gap.
      ctx.nak_sent = syndrome_q == wharf_pkg::SyndromeSequence;
    end else begin
      ctx.nak_sent = 1'b0;
      ctx.expected = ctx_q.expected + (is_read ? packets_q : 24'd1);
      if (is_last) ctx.msn = ctx_q.msn + 24'd1;
      if (is_read || is_atomic) begin
        ctx.next_saved = ctx_q.next_saved + 8'd1;
        if (ctx_q.saved != 8'(Saved)) ctx.saved = ctx_q.saved + 8'd1;
      end else begin
        ctx.message  = is_last ? wharf_pkg::MessageNone : kind;
        ctx.received = received_q;
        if (is_write) begin
          ctx.key     = ask_key_o;
          ctx.address = address + 64'(bytes);
          ctx.length  = total;
        end else begin
          ctx.receive = receive;
        end
      end
    end
  end
  always_comb begin
    fresh           = '0;
    fresh.is_atomic = is_atomic;
    fresh.first     = h.psn;
    fresh.packets   = is_read ? packets_q : 24'd1;
    fresh.address   = is_atomic ? old_q : h.address;
    fresh.length    = h.length;
    fresh.key       = h.key;
  end
  logic acknowledges;  // A duplicate of a Write or Send: the newest number is told again.
  assign acknowledges = judges && push_room_i && is_behind && !is_read && !is_atomic;
  assign push_valid_o = (state_q == Accept && !open_valid_i && (is_read || is_atomic || h.acknowledge)) ||
                        (state_q == Refuse && !open_valid_i) || (state_q == Again && !open_valid_i) || acknowledges;
  always_comb begin
    push_o             = '0;
    push_o.destination = ctx_q.remote;
    push_o.psn         = h.psn;
    push_o.msn         = state_q == Accept ? ctx.msn : ctx_q.msn;
    push_o.syndrome    = wharf_pkg::SyndromeAck;
    push_o.kind        = wharf_pkg::AnswerAcknowledge;
    push_o.address     = h.address;
    push_o.length      = h.length;
    if (acknowledges) begin
      push_o.psn = ctx_q.expected - 24'd1;
    end else if (state_q == Refuse) begin
      push_o.kind     = wharf_pkg::AnswerNak;
      push_o.syndrome = syndrome_q;
      if (syndrome_q == wharf_pkg::SyndromeSequence) push_o.psn = ctx_q.expected;
    end else if (is_read) begin
      push_o.kind = wharf_pkg::AnswerRead;
    end else if (is_atomic) begin
      push_o.kind    = wharf_pkg::AnswerAtomic;
      push_o.address = state_q == Again ? saved_q.address : old_q;
    end
  end
  assign dropped_duplicate_o = state_q == Search && is_exhausted;

  assign completion_valid_o = state_q == Notice;
  always_comb begin
    completion_o               = '0;
    completion_o.tag           = receive.tag;
    completion_o.jetty         = 20'(pair);
    completion_o.status        = cut_q ? wharf_pkg::CompletionLocalLength : wharf_pkg::CompletionSuccess;
    completion_o.operation     = is_send ? (has_immediate ? wharf_pkg::OperationSendImmediate : wharf_pkg::OperationSend)
                                         : wharf_pkg::OperationWriteImmediate;
    completion_o.length        = cut_q ? '0 : received_q;
    completion_o.is_receive    = 1'b1;
    completion_o.has_immediate = has_immediate && !cut_q;
    completion_o.immediate     = completion_o.has_immediate ? 64'(h.immediate) : '0;
    completion_o.remote_jetty  = ctx_q.remote[19:0];
  end

  // ---------------------------------------------------------------- Answers, memory and frame
  logic [63:0] wanted_q;   // Where the data of an answer goes.
  logic        placed_q, is_result;
  assign is_result       = h.opcode == wharf_pkg::RoceAtomicAcknowledge;
  assign heard_valid_o   = state_q == Hear;
  assign placed_valid_o  = state_q == Placed;
  assign kill_valid_o    = state_q == Kill;
  always_comb begin
    heard_o.opcode   = h.opcode;
    heard_o.psn      = h.psn;
    heard_o.syndrome = h.syndrome;
    heard_o.bytes    = 16'(read_bytes_i);
  end
  assign write_valid_o   = state_q == Place && take_ready_i;
  assign write_address_o = is_answer ? wanted_q : (is_send ? receive.address + 64'(begun) : address);
  assign write_swaps_o   = is_result;
  assign take_data_o     = state_q == Place;
  // What an atomic has found is the last of the headers.
  assign take_start_o    = is_result ? 7'd16 : read_start_i;
  assign take_length_o   = is_result ? LengthW'(8) : read_bytes_i;
  assign take_valid_o    = (state_q == Place && write_ready_i) || (state_q == Leave && !placed_q);
  // A frame whose data was wanted is done with when that has been read.
  assign read_ready_o    = (state_q == Leave && (placed_q || take_ready_i)) ||
                           (placed_q && ((state_q == Accept && !open_valid_i) || (state_q == Placed && placed_ready_i)));

  // ---------------------------------------------------------------- State
  always_comb begin
    kept = ctx;
    if (open_valid_i) begin
      kept          = '0;
      kept.remote   = open_remote_i;
      kept.expected = open_psn_i;
    end
  end
  logic stores;
  assign stores = state_q == Accept || state_q == Refuse;
  always_ff @(posedge clk_i) begin
    if (open_valid_i || stores) contexts[open_valid_i ? open_pair_i : pair] <= kept;
    if (looks) ctx_q <= contexts[pair];
    if (stores && !open_valid_i) ctx_q <= ctx;
    if (state_q == Accept && (is_read || is_atomic)) saved[{pair, ctx_q.next_saved[SavedW-1:0]}] <= fresh;
    if (state_q == Search) saved_q <= saved[{pair, place}];
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q <= Idle;
    end else begin
      unique case (state_q)
        Idle: if (looks) state_q <= !is_good ? Leave : (is_answer ? Hear : Judge);
        Judge: if (!open_valid_i) begin
          if (!push_room_i) state_q <= Leave;
          else if (is_behind) state_q <= is_read || is_atomic ? Search : Leave;
          else if (!is_next) state_q <= ctx_q.nak_sent ? Leave : Refuse;
          else if (is_invalid) state_q <= Refuse;
          else if (takes_receive) state_q <= Want;
          else if (checks) state_q <= Check;
          else if (is_send) state_q <= Fit;
          else state_q <= is_odd ? Refuse : Accept;
        end
        Want: if (taken_valid_i) begin
          if (taken_result_i != wharf_pkg::TakenEntry) state_q <= Refuse;
          else if (is_send) state_q <= Fit;
          else state_q <= checks ? Check : (is_odd ? Refuse : Notice);
        end
        Check: if (checked) begin
          if (!granted || misfits_q) state_q <= Refuse;
          else if (is_write) state_q <= bytes != '0 ? Place : Accept;
          else state_q <= is_read ? (is_behind ? Again : Accept) : AtomicRead;
        end
        Fit: begin
          if (received_q > receive.capacity) state_q <= Notice;
          else if (bytes != '0) state_q <= Place;
          else state_q <= is_last ? Notice : Accept;
        end
        Place: if (take_ready_i && write_ready_i) state_q <= Writing;
        Writing: if (written_i) begin
          if (is_answer) state_q <= Placed;
          else state_q <= is_last && (is_send || has_immediate) ? Notice : Accept;
        end
        AtomicRead: if (line_ready_i) state_q <= AtomicWait;
        AtomicWait: if (line_answer_valid_i) state_q <= AtomicWrite;
        AtomicWrite: if (!changes) state_q <= Accept;
                     else if (line_ready_i) state_q <= AtomicEnd;
        AtomicEnd: if (written_i) state_q <= Accept;
        Notice: if (completion_ready_i) state_q <= cut_q ? Refuse : Accept;
        Accept: if (!open_valid_i) state_q <= placed_q ? Idle : Leave;
        Refuse: if (!open_valid_i) state_q <= is_fatal ? Kill : Leave;
        Kill: if (kill_ready_i) state_q <= Leave;
        Search: state_q <= is_exhausted ? Leave : Compare;
        Compare: state_q <= !is_found ? Search : (is_read && h.length != '0 ? Check : Again);
        Again: if (!open_valid_i) state_q <= Leave;
        // What has no data is nothing to wait for.
        Hear: if (heard_ready_i) state_q <= h.opcode == wharf_pkg::RoceAcknowledge ? Leave : Verdict;
        Verdict: if (verdict_valid_i)
          state_q <= !verdict_wants_i ? Leave : (is_result || read_bytes_i != '0 ? Place : Placed);
        Placed: if (placed_ready_i) state_q <= placed_q ? Idle : Leave;
        default: if (placed_q || take_ready_i) state_q <= Idle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) asked_q <= 1'b0;
    else asked_q <= state_q == Want;
    if (state_q == Idle) placed_q <= 1'b0;
    else if (state_q == Place) placed_q <= 1'b1;
    // What the states behind it want to know.
    if (state_q == Judge) begin
      packets_q  <= packets;
      misfits_q  <= misfits;
      received_q <= begun + bytes;
    end
    if (state_q == Judge) checked_q <= 1'b0;
    else if (answer_valid_i) checked_q <= 1'b1;
    else if (state_q == Compare) checked_q <= 1'b0;
    if (answer_valid_i) granted_q <= answer_i == wharf_pkg::GrantGranted;
    if (state_q == Judge) tried_q <= '0;
    else if (state_q == Compare) tried_q <= tried_q + 1'b1;
    if (state_q == Want && taken_valid_i) receive_q <= taken_i;
    if (state_q == Fit) cut_q <= received_q > receive.capacity;
    else if (state_q == Judge) cut_q <= 1'b0;
    if (line_answer_valid_i) old_q <= old;
    if (state_q == Verdict && verdict_valid_i) wanted_q <= verdict_address_i;
    // What a NAK will say.
    unique case (state_q)
      Judge:   syndrome_q <= is_next ? wharf_pkg::SyndromeInvalid : wharf_pkg::SyndromeSequence;
      Want:    if (taken_valid_i) syndrome_q <= taken_result_i == wharf_pkg::TakenEntry ? wharf_pkg::SyndromeInvalid
                                                                                       : {3'b001, 5'(NotReadyCode)};
      Check:   syndrome_q <= granted ? wharf_pkg::SyndromeInvalid : wharf_pkg::SyndromeRemoteAccess;
      default: ;
    endcase
  end
  logic unused;
  assign unused = &{1'b0, h, saved_q};
endmodule
