// SPDX-License-Identifier: Apache-2.0
// The requesting side of all queue pairs: send queues, turns, packet numbers, what the peer's answers mean, time-outs and
// going back. It works on one queue pair at a time, whose context it takes out of a memory and puts back. Reference:
// Requester and Retransmission of src/engine/roce. Source: IBTA vol 1 9.7. Description: README.md.
module wharf_roce_requester #(
  parameter int unsigned QueuePairs = 8,      // A power of two from 2.
  parameter int unsigned Depth      = 4,      // Requests of one that are not over: a power of two from 2.
  parameter int unsigned Mtu        = 1024,   // Data of a packet: a power of two.
  parameter int unsigned Window     = 64,     // PSNs from the oldest one without an answer on: a power of two from 2.
  parameter int unsigned Fetches    = 4,      // Reads and atomics of one queue pair without an answer: 1 to 255.
  parameter int unsigned Tick       = 250,    // Cycles of a microsecond, of which time is counted in: from 1.
  parameter int unsigned Timeout    = 26,     // Ticks until packets are sent again.
  parameter int unsigned Retries    = 7,      // How often that may be for nothing: 0 to 7.
  parameter int unsigned NotReadyRetries = 7  // How often a peer may be not ready: 0 to 6, or 7 for ever.
) (
  input  logic                          clk_i,
  input  logic                          rst_i,

  // A queue pair begins anew, and knows its peer's. Always taken; of one that lives, requests are forgotten.
  input  logic                          open_valid_i,
  input  logic [$clog2(QueuePairs)-1:0] open_pair_i,
  input  logic [23:0]                   open_remote_i,
  input  logic [23:0]                   open_psn_i,        // Of its first packet.

  input  logic                          doorbell_valid_i,
  output logic                          doorbell_ready_o,
  input  logic [19:0]                   doorbell_pair_i,
  input  wharf_pkg::nic_request_t       doorbell_i,
  output logic                          doorbell_refused_o,

  // The peer has had an error as its answer: the queue pair ends.
  input  logic                          kill_valid_i,
  output logic                          kill_ready_o,
  input  logic [$clog2(QueuePairs)-1:0] kill_pair_i,
  // Whether a queue pair is open, and has not ended.
  input  logic [$clog2(QueuePairs)-1:0] lives_pair_i,
  output logic                          lives_opened_o,
  output logic                          lives_o,

  // Packets to be made.
  output logic                          job_valid_o,
  input  logic                          job_ready_i,
  output wharf_pkg::roce_job_t          job_o,

  // An answer that has come. Then, in some later cycle: whether its data is wanted, and where. The same answer is
  // over when that has been placed.
  input  logic                          heard_valid_i,
  output logic                          heard_ready_o,
  input  logic [$clog2(QueuePairs)-1:0] heard_pair_i,
  input  wharf_pkg::roce_heard_t        heard_i,
  output logic                          verdict_valid_o,
  output logic                          verdict_wants_o,
  output logic [63:0]                   verdict_address_o,
  input  logic                          placed_valid_i,
  output logic                          placed_ready_o,

  output logic                          completion_valid_o,
  input  logic                          completion_ready_i,
  output wharf_pkg::nic_completion_t    completion_o,

  // Something to count, as it happens.
  output logic                          resent_o,
  output logic                          timeout_o,
  output logic                          sequence_nak_o,
  output logic                          implied_nak_o,
  output logic                          not_ready_o,
  output logic                          exhausted_o,
  output logic                          stale_o
);
  localparam int unsigned PairW    = $clog2(QueuePairs);
  localparam int unsigned SlotW    = $clog2(Depth);
  localparam int unsigned MtuW     = $clog2(Mtu);
  localparam int unsigned AckEvery = Window < 128 ? Window / 2 : 64;
  localparam int unsigned TickW    = Tick < 2 ? 1 : $clog2(Tick);

  if (QueuePairs < 2 || (QueuePairs & (QueuePairs - 1)) != 0 || Depth < 2 || (Depth & (Depth - 1)) != 0 || PairW > 20 ||
      Window < 2 || (Window & (Window - 1)) != 0 || (Mtu & (Mtu - 1)) != 0) begin : gen_refuse
    $error("wharf_roce_requester: QueuePairs, Depth, Mtu and Window must be powers of two from 2");
  end
  if (Fetches < 1 || Fetches > 255 || Retries > 7 || NotReadyRetries > 7 || Tick < 1) begin : gen_refuse_count
    $error("wharf_roce_requester: Fetches must be 1 to 255, Retries and NotReadyRetries at most 7, Tick 1 or more");
  end

  localparam logic [3:0] Idle   = 4'd0;
  localparam logic [3:0] Send   = 4'd1;   // A packet of the queue pair whose turn it is.
  localparam logic [3:0] Judge  = 4'd2;   // An answer: whether it is of something that was sent.
  localparam logic [3:0] Walk   = 4'd3;   // What it covers is over, request by request;
  localparam logic [3:0] Fetch  = 4'd4;   // the next one is read.
  localparam logic [3:0] Decide = 4'd5;   // What it means besides.
  localparam logic [3:0] Act    = 4'd6;   // That is done.
  localparam logic [3:0] Placed = 4'd7;   // The data of an answer is in memory.
  localparam logic [3:0] Settle = 4'd8;   // Its request is over, or not.
  localparam logic [3:0] Late   = 4'd9;   // A time has come, perhaps.
  localparam logic [3:0] Flush  = 4'd10;  // The queue pair ends, request by request;
  localparam logic [3:0] Next   = 4'd11;  // the next one is read.
  localparam logic [3:0] Expire = 4'd12;  // It has, or not.
  logic [3:0] state_q;

  // What Act does.
  localparam logic [2:0] ActNothing  = 3'd0;
  localparam logic [2:0] ActGoBack   = 3'd1;  // Sends again, if that is still allowed.
  localparam logic [2:0] ActNotReady = 3'd2;
  localparam logic [2:0] ActFail     = 3'd3;
  localparam logic [2:0] ActPlace    = 3'd4;

  // Requests, with the index of their last packet, and contexts: one write port, one synchronous read port. Ends of the
  // queues: written from one side each, two asynchronous read ports.
  localparam int unsigned LastW = 32 - MtuW;
  logic [LastW+wharf_pkg::NicRequestW-1:0] requests [QueuePairs*Depth];
  logic [wharf_pkg::RoceSenderW-1:0] contexts [QueuePairs];
  logic [SlotW:0]                    write_ends [QueuePairs];
  logic [SlotW:0]                    head_ends [QueuePairs];
  logic [SlotW:0]                    send_ends [QueuePairs];
  logic [QueuePairs-1:0]             opened_q, ended_q, timed_q;

  assign lives_opened_o = opened_q[lives_pair_i];
  assign lives_o        = opened_q[lives_pair_i] && !ended_q[lives_pair_i];

  function automatic logic is_before(input logic [23:0] a, input logic [23:0] b);
    is_before = 24'(a - b) >= 24'h800000;
  endfunction

  // ---------------------------------------------------------------- Doorbells
  logic             is_request, bell_known, rings, marks, may_mark, mark_ready;
  logic [PairW-1:0] bell, mark_pair;
  logic [SlotW:0]   bell_write, bell_level;
  always_comb begin
    unique case (doorbell_i.operation)
      wharf_pkg::OperationSend, wharf_pkg::OperationSendImmediate, wharf_pkg::OperationWrite,
      wharf_pkg::OperationWriteImmediate: is_request = !doorbell_i.is_inline || doorbell_i.length <= 32'd16;
      wharf_pkg::OperationRead: is_request = !doorbell_i.is_inline;
      wharf_pkg::OperationCompareSwap, wharf_pkg::OperationFetchAdd:
        is_request = !doorbell_i.is_inline && doorbell_i.length == 32'd8;
      default: is_request = 1'b0;
    endcase
    // A quarter of all PSNs at most.
    if (doorbell_i.length > 32'(Mtu) << 20) is_request = 1'b0;
  end
  assign bell               = doorbell_pair_i[PairW-1:0];
  assign bell_write         = write_ends[bell];
  assign bell_level         = bell_write - head_ends[bell];
  assign bell_known         = (doorbell_pair_i >> PairW) == '0 && opened_q[bell] && !ended_q[bell];
  // A queue pair that goes on is listed first.
  assign doorbell_ready_o   = !may_mark && !open_valid_i;
  assign doorbell_refused_o = doorbell_valid_i && doorbell_ready_o &&
                              (!is_request || !bell_known || bell_level == (SlotW + 1)'(Depth));
  assign rings              = doorbell_valid_i && doorbell_ready_o && !doorbell_refused_o;
  logic [LastW-1:0] bell_last;
  assign bell_last = doorbell_i.length[31:MtuW] -
                     LastW'(doorbell_i.length[MtuW-1:0] == '0 && doorbell_i.length[31:MtuW] != '0);

  // ---------------------------------------------------------------- Time
  logic [TickW-1:0] part_q;
  logic [23:0]      now_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      part_q <= '0;
      now_q  <= '0;
    end else begin
      part_q <= part_q == TickW'(Tick - 1) ? '0 : part_q + 1'b1;
      if (part_q == TickW'(Tick - 1)) now_q <= now_q + 1'b1;
    end
  end
  // A tick has begun already, so one more: never too early.
  logic [23:0] answer_deadline, ready_deadline;
  logic [4:0]  code;
  logic [17:0] tens;
  logic [3:0]  half;
  assign answer_deadline = now_q + 24'(Timeout + 1);
  // Tens of microseconds of a code: 1, 2, 3, 4, 6, 8, 12, ...; of 0, 65536.
  assign code = heard_q.syndrome[4:0];
  assign half = code[4:1];
  assign tens = code == 5'd0 ? 18'd65536 :
                (code == 5'd1 ? 18'd1 : (code[0] ? 18'd3 << (half - 4'd1) : 18'd1 << half));
  // Begun a cycle before it is used.
  always_ff @(posedge clk_i) ready_deadline <= now_q + {3'd0, tens, 3'd0} + {5'd0, tens, 1'b0} + 24'd1;

  // Queue pairs with a timer are looked at one after the other, so often that others have their turn.
  logic [PairW-1:0] sweep_q;
  logic [3:0]       pause_q;
  logic             sweeps, placing_q, picks_sweep;
  assign sweeps = timed_q[sweep_q] && pause_q == '0 && !placing_q;
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      sweep_q <= '0;
      pause_q <= '0;
    end else if (timed_q[sweep_q] && pause_q != '0) begin
      pause_q <= pause_q - 1'b1;
    end else if (!timed_q[sweep_q] || picks_sweep) begin
      sweep_q <= sweep_q + 1'b1;
      pause_q <= picks_sweep ? 4'd15 : pause_q;
    end
  end

  // ---------------------------------------------------------------- What comes next
  logic             turn_valid, picks_heard, picks_placed, picks_kill, picks_turn, picks;
  logic [PairW-1:0] turn, pick, pair_q, read_pair;
  logic [PairW:0]   listed;
  logic [SlotW:0]   pick_head, pick_send, head_q, send_q, write_q;
  logic             is_idle;
  // A queue pair that is opened has the ports.
  assign is_idle      = state_q == Idle && !open_valid_i;
  assign picks_placed = is_idle && placed_valid_i;
  assign picks_heard  = is_idle && heard_valid_i && !placed_valid_i;
  assign picks_kill   = is_idle && kill_valid_i && !placed_valid_i && !heard_valid_i;
  assign picks_sweep  = is_idle && sweeps && !kill_valid_i && !placed_valid_i && !heard_valid_i;
  assign picks_turn   = is_idle && turn_valid && !sweeps && !kill_valid_i && !placed_valid_i && !heard_valid_i;
  assign picks        = picks_placed || picks_heard || picks_kill || picks_sweep || picks_turn;
  assign heard_ready_o  = picks_heard;
  assign placed_ready_o = picks_placed;
  assign kill_ready_o   = picks_kill;
  always_comb begin
    if (placed_valid_i || heard_valid_i) pick = heard_pair_i;
    else if (kill_valid_i) pick = kill_pair_i;
    else if (sweeps) pick = sweep_q;
    else pick = turn;
  end
  assign pick_head = head_ends[pick];
  assign pick_send = send_ends[pick];
  wharf_ready_list #(.Members(QueuePairs)) turns (
    .clk_i, .rst_i,
    .mark_valid_i(marks || rings), .mark_ready_o(mark_ready), .mark_member_i(mark_pair),
    .turn_valid_o(turn_valid), .turn_ready_i(picks_turn), .turn_again_i(1'b0), .turn_member_o(turn), .listed_o(listed)
  );
  assign mark_pair = may_mark ? pair_q : bell;

  // ---------------------------------------------------------------- The request at hand
  wharf_pkg::roce_sender_t ctx_q, ctx, kept;      // As it is, as this state leaves it, and what is kept of it.
  wharf_pkg::nic_request_t request_q;
  wharf_pkg::roce_heard_t  heard_q;
  logic [LastW-1:0]        last_q;                // The index of its last packet,
  logic [23:0]             last;
  logic [15:0]             last_bytes;            // and the data of that.
  logic                    has_begun, is_fetch, is_read;
  assign last       = 24'(last_q);
  assign last_bytes = request_q.length[MtuW-1:0] == '0 && request_q.length[31:MtuW] != '0 ? 16'(Mtu)
                                                                                        : 16'(request_q.length[MtuW-1:0]);
  assign is_read    = request_q.operation == wharf_pkg::OperationRead;
  assign is_fetch   = request_q.operation >= wharf_pkg::OperationRead;
  // No number that was given is behind `highest`, so that a comparison for equality will do.
  assign has_begun  = ctx_q.head_first != ctx_q.highest;

  // ---------------------------------------------------------------- Sending
  logic        is_new, is_first, is_last, is_front, waits, sends, has_work;
  logic [31:0] offset;
  assign offset   = 32'(ctx_q.index) << MtuW;
  assign is_front = ctx_q.next == ctx_q.highest;
  assign is_first = ctx_q.index == '0;
  assign is_new   = is_first && is_front;
  assign is_last  = is_fetch || ctx_q.index == last;
  assign has_work = send_q != write_q;   // What came since is not the request that was read.
  assign waits    = ctx_q.outstanding >= 24'(Window) || ctx_q.timer == wharf_pkg::TimerNotReady ||
                    (is_new && ((request_q.fence && ctx_q.fetches != '0) ||
                                (is_fetch && ctx_q.fetches >= 8'(Fetches))));
  assign job_valid_o = state_q == Send && has_work && !waits && !open_valid_i;
  assign sends       = job_valid_o && job_ready_i;
  assign resent_o    = sends && !is_front;

  // Data that is inline ends where its length says.
  logic [127:0] inline_data;
  always_comb begin
    for (int unsigned i = 0; i < 16; i++)
      inline_data[127-8*i -: 8] =
          request_q.data[127-8*i -: 8] & {8{!request_q.is_inline || 5'(i) < request_q.length[4:0]}};
  end
  always_comb begin
    job_o                = '0;
    job_o.destination    = ctx_q.remote;
    job_o.psn            = ctx_q.next;
    job_o.acknowledge    = is_last || ((ctx_q.index + 24'd1) & 24'(AckEvery - 1)) == '0 ||
                           ctx_q.outstanding >= 24'(Window - 1);
    job_o.urgency        = is_front ? wharf_pkg::UrgencyData : wharf_pkg::UrgencyRepeated;
    job_o.key            = request_q.token_value;
    job_o.remote_address = request_q.remote_address;
    job_o.length         = request_q.length;
    job_o.immediate      = request_q.immediate[31:0];
    job_o.is_inline      = request_q.is_inline;
    job_o.address        = request_q.local_address + 64'(offset);
    job_o.data           = inline_data;
    job_o.bytes          = is_last ? last_bytes : 16'(Mtu);
    unique case (request_q.operation)
      wharf_pkg::OperationWrite:
        job_o.opcode = is_first ? (is_last ? wharf_pkg::RoceWriteOnly : wharf_pkg::RoceWriteFirst)
                                : (is_last ? wharf_pkg::RoceWriteLast : wharf_pkg::RoceWriteMiddle);
      wharf_pkg::OperationWriteImmediate:
        job_o.opcode = is_first ? (is_last ? wharf_pkg::RoceWriteOnlyImmediate : wharf_pkg::RoceWriteFirst)
                                : (is_last ? wharf_pkg::RoceWriteLastImmediate : wharf_pkg::RoceWriteMiddle);
      wharf_pkg::OperationSend:
        job_o.opcode = is_first ? (is_last ? wharf_pkg::RoceSendOnly : wharf_pkg::RoceSendFirst)
                                : (is_last ? wharf_pkg::RoceSendLast : wharf_pkg::RoceSendMiddle);
      wharf_pkg::OperationSendImmediate:
        job_o.opcode = is_first ? (is_last ? wharf_pkg::RoceSendOnlyImmediate : wharf_pkg::RoceSendFirst)
                                : (is_last ? wharf_pkg::RoceSendLastImmediate : wharf_pkg::RoceSendMiddle);
      wharf_pkg::OperationRead: begin
        // One that is asked for again asks for the part that is missing.
        job_o.opcode         = wharf_pkg::RoceReadRequest;
        job_o.remote_address = request_q.remote_address + 64'(offset);
        job_o.length         = request_q.length - offset;
        job_o.bytes          = '0;
      end
      default: begin
        job_o.opcode = request_q.operation == wharf_pkg::OperationCompareSwap ? wharf_pkg::RoceCompareSwap
                                                                             : wharf_pkg::RoceFetchAdd;
        job_o.bytes  = '0;
      end
    endcase
  end

  // ---------------------------------------------------------------- Answers
  // Whether a queue pair hears no more of what it has gone back for.
  logic        is_ack, is_nak, is_answer, has_aeth, is_atomic_answer, says_last, waiting_q, over, covers_part;
  logic        is_inside, is_expected, is_late, is_end;
  logic [1:0]  class_of;
  logic        beyond_q;                    // It is of a request behind the oldest one.
  logic [23:0] through_q, before_q, reach_q; // The last PSN that it covers, and that from `head_first` on.
  logic [2:0]  act_q, act;
  logic [7:0]  fail_q, fail_status;
  logic        implied_q, implied, odd;
  assign class_of         = heard_q.syndrome[6:5];
  assign is_answer        = heard_q.opcode != wharf_pkg::RoceAcknowledge;   // With what a Read or an atomic has asked for.
  assign is_ack           = !is_answer && class_of == wharf_pkg::AethAck;
  assign is_nak           = !is_answer && class_of != wharf_pkg::AethAck;
  assign has_aeth         = heard_q.opcode != wharf_pkg::RoceReadMiddle;
  assign is_atomic_answer = heard_q.opcode == wharf_pkg::RoceAtomicAcknowledge;
  assign says_last        = heard_q.opcode == wharf_pkg::RoceReadLast || heard_q.opcode == wharf_pkg::RoceReadOnly;
  // Neither of the past nor of what was never sent.
  assign is_late          = is_before(heard_q.psn, ctx_q.unacked) || !is_before(heard_q.psn, ctx_q.highest) ||
                            (!is_answer && class_of == wharf_pkg::AethReserved);
  // The oldest request is over, or a part of it is.
  assign over        = reach_q >= last;
  assign covers_part = has_begun && !reach_q[23];
  assign is_inside   = waiting_q && !beyond_q;
  assign is_expected = heard_q.psn == ctx_q.unacked;
  assign is_end      = ctx_q.covered == last;

  always_comb begin
    act         = ActNothing;
    fail_status = wharf_pkg::CompletionResponseLength;
    implied     = 1'b0;
    odd         = 1'b0;
    if (is_ack) begin
      implied = waiting_q;
    end else if (is_nak) begin
      if (waiting_q && beyond_q) implied = 1'b1;
      else if (has_begun && class_of == wharf_pkg::AethNotReady) act = is_expected ? ActNotReady : ActNothing;
      else if (has_begun) begin
        unique case (heard_q.syndrome[4:0])
          5'd0: act = ActGoBack;
          5'd1: begin
            act         = ActFail;
            fail_status = wharf_pkg::CompletionUnsupported;
          end
          5'd2: begin
            act         = ActFail;
            fail_status = wharf_pkg::CompletionRemoteAccess;
          end
          5'd3, 5'd4: begin
            act         = ActFail;
            fail_status = wharf_pkg::CompletionRemoteError;
          end
          default: odd = 1'b1;
        endcase
      end
    end else if (has_aeth && class_of != wharf_pkg::AethAck) begin
      odd = 1'b1;
    end else if (!is_inside || !is_expected) begin
      implied = waiting_q;
      odd     = !waiting_q;
    end else if (is_read) begin
      act = is_atomic_answer || says_last != is_end || heard_q.bytes != (is_end ? last_bytes : 16'(Mtu)) ? ActFail : ActPlace;
    end else begin
      act = is_atomic_answer ? ActPlace : ActFail;
    end
    if (implied) act = ActGoBack;
  end

  // What an answer has confirmed, and what that means for the timer and the place to go on from; and going back.
  wharf_pkg::roce_sender_t progressed, gone_back;
  logic                    is_settled, settled_q, is_passed;
  assign is_settled = state_q == Settle && settled_q;
  assign is_passed  = is_before(ctx_q.next, ctx_q.unacked);
  always_comb begin
    progressed = ctx_q;
    if (is_settled) begin
      progressed.head_first = ctx_q.unacked;
      progressed.covered    = '0;
      progressed.fetches    = ctx_q.fetches - 8'd1;
    end
    progressed.outstanding = is_passed ? '0 : ctx_q.next - ctx_q.unacked;
    if (is_passed) begin
      progressed.next  = ctx_q.unacked;
      progressed.index = is_settled ? '0 : ctx_q.covered;
    end
    progressed.retries   = 3'(Retries);
    progressed.not_ready = 3'(NotReadyRetries);
    if (is_before(ctx_q.recovery, ctx_q.unacked)) progressed.recovering = 1'b0;
    if (is_passed || ctx_q.unacked == ctx_q.next) begin
      if (ctx_q.timer == wharf_pkg::TimerAnswer) progressed.timer = wharf_pkg::TimerOff;
    end else if (ctx_q.timer != wharf_pkg::TimerNotReady) begin
      progressed.timer    = wharf_pkg::TimerAnswer;
      progressed.deadline = answer_deadline;
    end
    gone_back            = ctx_q;
    gone_back.recovering = 1'b1;
    gone_back.recovery   = ctx_q.unacked;
    gone_back.next        = ctx_q.unacked;
    gone_back.index       = ctx_q.covered;
    gone_back.outstanding = '0;
    gone_back.timer       = wharf_pkg::TimerOff;
  end

  // Whether it is allowed now: not while a delay of the peer's is awaited, nor twice for the same.
  logic is_news, is_due, is_past_q, ends_now, moves_send, advances, goes_back;
  assign is_news = ctx_q.timer != wharf_pkg::TimerNotReady && ctx_q.outstanding != '0 &&
                   !(ctx_q.recovering && ctx_q.recovery == ctx_q.unacked);
  assign is_due  = ctx_q.timer == wharf_pkg::TimerAnswer && is_past_q && ctx_q.outstanding != '0;

  // A Read has the numbers of all that is left of it at once.
  logic [23:0] fetched, skipped;
  assign fetched = last & {24{is_fetch}};
  assign skipped = ctx_q.index & {24{is_fetch}};

  always_comb begin
    ctx        = ctx_q;
    ends_now   = 1'b0;   // The queue pair.
    goes_back  = 1'b0;   // The place to send from is the oldest request.
    moves_send = 1'b0;   // Or it moves on to the next one.
    advances   = 1'b0;   // The oldest request is over.
    unique case (state_q)
      Send: begin
        ctx.next        = ctx_q.next + fetched - skipped + 24'd1;
        ctx.outstanding = ctx_q.outstanding + fetched - skipped + 24'd1;
        ctx.index       = is_last ? '0 : ctx_q.index + 24'd1;
        if (is_front) ctx.highest = ctx.next;
        if (is_new && is_fetch) ctx.fetches = ctx_q.fetches + 8'd1;
        if (ctx_q.timer == wharf_pkg::TimerOff) begin
          ctx.timer    = wharf_pkg::TimerAnswer;
          ctx.deadline = answer_deadline;
        end
        moves_send = sends && is_last;
      end
      Walk: begin
        if (covers_part && !is_fetch) begin
          if (over) begin
            ctx.head_first = ctx_q.head_first + last + 24'd1;
            ctx.unacked    = ctx.head_first;
            ctx.covered    = '0;
            advances       = completion_ready_i && !open_valid_i;
          end else if (reach_q >= ctx_q.covered) begin
            ctx.unacked = through_q + 24'd1;
            ctx.covered = reach_q + 24'd1;
          end
        end
      end
      Decide: begin
        if (ctx_q.unacked != before_q) begin
          ctx       = progressed;
          goes_back = is_passed;
        end
      end
      Act: unique case (act_q)
        ActGoBack: if (is_news) begin
          if (ctx_q.retries == '0) ends_now = 1'b1;
          else begin
            ctx         = gone_back;
            ctx.retries = ctx_q.retries - 3'd1;
            goes_back   = 1'b1;
          end
        end
        ActNotReady: if (ctx_q.timer != wharf_pkg::TimerNotReady) begin
          if (ctx_q.not_ready == '0 && NotReadyRetries != 7) ends_now = 1'b1;
          else begin
            ctx           = gone_back;
            ctx.not_ready = ctx_q.not_ready - 3'd1;
            ctx.timer     = wharf_pkg::TimerNotReady;
            ctx.deadline  = ready_deadline;
            goes_back     = 1'b1;
          end
        end
        ActFail: ends_now = 1'b1;
        default: ;
      endcase
      Placed: begin
        ctx.unacked = ctx_q.unacked + 24'd1;
        ctx.covered = ctx_q.covered + 24'd1;
      end
      Settle: begin
        ctx       = progressed;
        advances  = is_settled && completion_ready_i && !open_valid_i;
        goes_back = is_passed;
      end
      Expire: begin
        if (ctx_q.timer == wharf_pkg::TimerNotReady && is_past_q) begin
          ctx.timer      = wharf_pkg::TimerOff;
          ctx.recovering = 1'b0;
        end else if (is_due) begin
          if (ctx_q.retries == '0) ends_now = 1'b1;
          else begin
            ctx         = gone_back;
            ctx.retries = ctx_q.retries - 3'd1;
            goes_back   = 1'b1;
          end
        end
      end
      default: ;
    endcase
    if (ends_now) ctx.timer = wharf_pkg::TimerOff;
  end

  // ---------------------------------------------------------------- Completions
  logic flushes, has_completion, steps;
  assign flushes            = state_q == Flush && head_q != write_q;
  assign has_completion     = (state_q == Walk && covers_part && !is_fetch && over) ||
                              is_settled || flushes;
  assign completion_valid_o = has_completion && !open_valid_i;
  assign steps              = !open_valid_i && (!has_completion || completion_ready_i);
  always_comb begin
    completion_o           = '0;
    completion_o.tag       = request_q.tag;
    completion_o.jetty     = 20'(pair_q);
    completion_o.status    = state_q == Flush ? fail_q : wharf_pkg::CompletionSuccess;
    completion_o.operation = request_q.operation;
    completion_o.length    = state_q == Flush ? '0 : request_q.length;
  end

  assign verdict_valid_o   = (state_q == Judge && is_late && steps) || (state_q == Act && steps) ||
                             (state_q == Judge && ended_q[pair_q] && steps);
  assign verdict_wants_o   = state_q == Act && act_q == ActPlace;
  assign verdict_address_o = request_q.local_address + (64'(ctx_q.covered) << MtuW);

  assign stale_o        = (state_q == Judge && is_late && !ended_q[pair_q] && steps) || (state_q == Decide && odd && steps);
  assign sequence_nak_o = state_q == Act && act_q == ActGoBack && !implied_q && steps;
  assign implied_nak_o  = state_q == Act && act_q == ActGoBack && implied_q && is_news && steps;
  assign not_ready_o    = state_q == Act && act_q == ActNotReady && steps;
  assign timeout_o      = state_q == Expire && is_due && steps;
  assign exhausted_o    = steps && ((state_q == Expire && ends_now) || (state_q == Act && act_q == ActGoBack && ends_now));

  // ---------------------------------------------------------------- State
  logic stores, frees;   // The context goes back to memory; a time has come.
  assign frees = is_past_q && ctx_q.timer != wharf_pkg::TimerOff;
  logic is_over;
  always_comb begin
    unique case (state_q)
      Send:    stores = sends;
      Act:     stores = steps && !ends_now;
      Settle:  stores = steps;
      Expire:  stores = steps && !ends_now;
      Flush:   stores = steps && head_q == write_q;
      default: stores = 1'b0;
    endcase
  end
  assign is_over = state_q == Send && !open_valid_i && (sends || !job_valid_o);
  // Known early, whether or not somebody does: the place on the list is for this queue pair.
  assign may_mark = state_q == Send ? job_ready_i : state_q == Act || state_q == Settle || state_q == Expire;
  // Somebody may go on: the rest of what is sent, or what an answer or a time has freed.
  assign marks = (sends && (!is_last || send_q + 1'b1 != write_q)) ||
                 (stores && (state_q == Act || state_q == Settle || (state_q == Expire && frees)));

  logic [SlotW:0] head_next, send_next;
  always_comb begin
    head_next = head_q + (SlotW + 1)'(advances || (flushes && steps));
    if (goes_back) send_next = head_next;
    else if (moves_send || ((advances || flushes) && send_q == head_q)) send_next = send_q + 1'b1;
    else send_next = send_q;
  end
  // A queue pair that is opened, or what has been worked on.
  always_comb begin
    kept = ctx;
    if (open_valid_i) begin
      kept            = '0;
      kept.remote     = open_remote_i;
      kept.head_first = open_psn_i;
      kept.next       = open_psn_i;
      kept.unacked    = open_psn_i;
      kept.highest    = open_psn_i;
      kept.retries    = 3'(Retries);
      kept.not_ready  = 3'(NotReadyRetries);
    end
  end
  logic [PairW-1:0] kept_pair;
  logic             moves, ends_move;
  assign kept_pair = open_valid_i ? open_pair_i : pair_q;
  assign moves     = state_q == Send ? sends : steps && state_q != Idle;
  assign ends_move = moves && state_q != Walk;
  always_ff @(posedge clk_i) begin
    if (rings) requests[{bell, bell_write[SlotW-1:0]}] <= {bell_last, doorbell_i};
    if (open_valid_i) write_ends[open_pair_i] <= '0;
    else if (rings) write_ends[bell] <= bell_write + 1'b1;
    // Fetch writes what Walk has made of them.
    if (open_valid_i || ends_move) head_ends[kept_pair] <= open_valid_i ? '0 : head_next;
    if (open_valid_i || ends_move) send_ends[kept_pair] <= open_valid_i ? '0 : send_next;
    if (open_valid_i || stores) contexts[kept_pair] <= kept;
  end

  logic [SlotW-1:0] read_slot;
  assign read_pair = state_q == Idle ? pick : pair_q;
  assign read_slot = state_q != Idle ? head_q[SlotW-1:0] : (picks_turn ? pick_send[SlotW-1:0] : pick_head[SlotW-1:0]);
  always_ff @(posedge clk_i) begin
    if (picks || ((state_q == Fetch || state_q == Next) && !open_valid_i))
      {last_q, request_q} <= requests[{read_pair, read_slot}];
    if (picks) begin
      pair_q  <= pick;
      ctx_q   <= contexts[pick];
      head_q  <= pick_head;
      send_q  <= pick_send;
    end else if (moves) begin
      ctx_q  <= ctx;
      head_q <= head_next;
      send_q <= send_next;
    end
    // Of one that has ended, nothing comes any more.
    if (picks || state_q == Next) write_q <= write_ends[read_pair];
    if (picks_heard) heard_q <= heard_i;
    if (state_q == Judge) begin
      before_q  <= ctx_q.unacked;
      // A NAK says that all before it has arrived.
      through_q <= heard_q.psn - 24'(is_nak);
      reach_q   <= heard_q.psn - ctx_q.head_first - 24'(is_nak);
    end else if (state_q == Fetch) begin
      reach_q   <= through_q - ctx_q.head_first;
    end
    if (state_q == Walk) begin
      waiting_q <= covers_part && is_fetch;
      beyond_q  <= over && (is_nak || reach_q != last);
    end
    if (state_q == Placed) settled_q <= is_end;
    if (state_q == Late) is_past_q <= (now_q - ctx_q.deadline) < 24'h800000;
    if (state_q == Decide) begin
      act_q     <= act;
      implied_q <= implied;
    end
    if (picks_kill) fail_q <= wharf_pkg::CompletionFlushed;
    else if (state_q == Decide) fail_q <= fail_status;
    else if (steps && (state_q == Act || state_q == Expire) && ends_now && !(state_q == Act && act_q == ActFail))
      fail_q <= state_q == Act && act_q == ActNotReady ? wharf_pkg::CompletionNotReady : wharf_pkg::CompletionRetryExhausted;
    else if (state_q == Flush && flushes && steps) fail_q <= wharf_pkg::CompletionFlushed;
  end
  always_ff @(posedge clk_i) begin
    if (rst_i) begin
      state_q   <= Idle;
      opened_q  <= '0;
      ended_q   <= '0;
      timed_q   <= '0;
      placing_q <= 1'b0;
    end else begin
      if (open_valid_i) begin
        opened_q[open_pair_i] <= 1'b1;
        ended_q[open_pair_i]  <= 1'b0;
        timed_q[open_pair_i]  <= 1'b0;
      end else if (picks_kill) begin
        ended_q[pick] <= 1'b1;
      end else if (moves) begin
        if (ends_now) ended_q[pair_q] <= 1'b1;
        if (stores || ends_now) timed_q[pair_q] <= ctx.timer != wharf_pkg::TimerOff && !ended_q[pair_q];
      end
      if (picks_placed) placing_q <= 1'b0;
      else if (verdict_valid_o && verdict_wants_o) placing_q <= 1'b1;
      unique case (state_q)
        Idle: begin
          if (picks_placed) state_q <= Placed;
          else if (picks_heard) state_q <= Judge;
          else if (picks_kill) state_q <= Next;
          else if (picks_sweep) state_q <= Late;
          else if (picks_turn && !ended_q[pick]) state_q <= Send;
        end
        Send:   if (is_over) state_q <= Idle;
        Judge:  if (steps) state_q <= is_late || ended_q[pair_q] ? Idle : Walk;
        Walk:   if (steps) state_q <= covers_part && !is_fetch && over ? Fetch : Decide;
        Fetch:  if (steps) state_q <= Walk;
        Decide: if (steps) state_q <= Act;
        Act:    if (steps) state_q <= ends_now ? Next : Idle;
        Placed: if (steps) state_q <= Settle;
        Settle: if (steps) state_q <= Idle;
        Late:   if (steps) state_q <= Expire;
        Expire: if (steps) state_q <= ends_now ? Next : Idle;
        Flush:  if (steps) state_q <= flushes ? Next : Idle;
        default: if (steps) state_q <= Flush;
      endcase
    end
  end
  logic unused;
  assign unused = &{1'b0, listed, mark_ready, request_q, heard_q};
endmodule
