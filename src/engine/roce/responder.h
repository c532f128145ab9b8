// SPDX-License-Identifier: Apache-2.0
// The responder half of a queue pair: checks requests in PSN order, touches memory for them, and answers each
// in order: ACK, NAK, READ data or atomic result. [IBTA vol 1 9.7, 9.9.3; where it leaves freedom, Linux
// rdma_rxe behaviour]
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "engine/roce/engine_core.h"
#include "wire/packet.h"

namespace wharf::roce {

constexpr bool is_atomic_request(wire::RoceOpcode opcode) {
  return opcode == wire::RoceOpcode::kRcCompareSwap || opcode == wire::RoceOpcode::kRcFetchAdd;
}

/// What a packet does to the message in progress.
struct Step {
  MessageInProgress kind = MessageInProgress::kNone;
  bool first = false;
  bool last = false;
};

/// By opcode without its transport. [IBTA vol 1 table 38]
inline constexpr std::array<Step, 32> kSteps = [] {
  std::array<Step, 32> steps{};
  const auto set = [&steps](wire::RoceOpcode opcode, MessageInProgress kind, bool first, bool last) {
    steps[static_cast<std::size_t>(opcode)] = {kind, first, last};
  };
  set(wire::RoceOpcode::kRcSendFirst, MessageInProgress::kSend, true, false);
  set(wire::RoceOpcode::kRcSendMiddle, MessageInProgress::kSend, false, false);
  set(wire::RoceOpcode::kRcSendLast, MessageInProgress::kSend, false, true);
  set(wire::RoceOpcode::kRcSendLastImmediate, MessageInProgress::kSend, false, true);
  set(wire::RoceOpcode::kRcSendLastInvalidate, MessageInProgress::kSend, false, true);
  set(wire::RoceOpcode::kRcSendOnly, MessageInProgress::kSend, true, true);
  set(wire::RoceOpcode::kRcSendOnlyImmediate, MessageInProgress::kSend, true, true);
  set(wire::RoceOpcode::kRcSendOnlyInvalidate, MessageInProgress::kSend, true, true);
  set(wire::RoceOpcode::kRcWriteFirst, MessageInProgress::kWrite, true, false);
  set(wire::RoceOpcode::kRcWriteMiddle, MessageInProgress::kWrite, false, false);
  set(wire::RoceOpcode::kRcWriteLast, MessageInProgress::kWrite, false, true);
  set(wire::RoceOpcode::kRcWriteLastImmediate, MessageInProgress::kWrite, false, true);
  set(wire::RoceOpcode::kRcWriteOnly, MessageInProgress::kWrite, true, true);
  set(wire::RoceOpcode::kRcWriteOnlyImmediate, MessageInProgress::kWrite, true, true);
  return steps;
}();

constexpr Step step_of(wire::RoceOpcode opcode) { return kSteps[static_cast<std::size_t>(opcode) & 31U]; }

/// Accesses that one request packet can need: a scatter entry each, its completion, a receive-entry fetch.
inline constexpr std::uint32_t kAccessesPerPacket = verbs::kMaxScatterEntries + 2;

class Responder {
 public:
  explicit Responder(EngineCore& core) : core_(core) {}

  /// A request packet. When it is refused for good, the NAK is queued and `pair.fatal` is set.
  [[gnu::always_inline]] void receive(TimePs now, QueuePair& pair, const wire::Packet& packet) {
    if (packet.roce.bth.opcode == wire::RoceOpcode::kRcWriteOnly &&
        packet.payload.length <= pair.context.path_mtu && is_taking(pair) && take_plain_write(pair, packet)) {
      // A later packet that seems to go on with this WRITE asks for its key, see RoceEngine::needed_key().
      pair.context.responder.remote_key = packet.roce.reth.remote_key;
      core_.pool->retain(packet.payload.buffer);
      list_if_ready(pair);
    } else {
      receive_other(now, pair, packet);
    }
  }

  /// A request packet of unreliable service: executed or lost, and nobody is told. [IBTA vol 1 9.8]
  void receive_unreliable(QueuePair& pair, const wire::Packet& packet);

  /// The usual request in one pass: a WRITE of one packet, in order, and nothing before it is in progress.
  /// False, and nothing has happened, when it is not like that. The caller retains the payload. No answer has
  /// become ready.
  [[gnu::always_inline]] bool take_plain_write(QueuePair& pair, const wire::Packet& packet);
  /// Whether a request of one packet may be taken so; QueuePair::usual notes it.
  bool is_taking(const QueuePair& pair) const;
  [[gnu::noinline]] bool find_taking(QueuePair& pair) const { return pair.usual.taking = is_taking(pair); }

  /// The same for a SEND of one packet that finds a receive entry of one piece.
  [[gnu::always_inline]] bool take_plain_send(QueuePair& pair, const wire::Packet& packet);

  /// The usual READ in one pass: of one packet, behind others like it alone, whose data may be asked for at
  /// once. False, and nothing has happened, when it is not like that.
  bool take_plain_read(QueuePair& pair, const wire::Packet& packet);
  /// Takes the answer at the front, a READ of one packet whose data is there; false, and nothing has
  /// happened, when it is not like that.
  [[gnu::always_inline]] bool transmit_plain_read(QueuePair& pair, wire::Packet& out);

  /// Takes the answer at the front, which ready_class() has found ready, and fills `out`.
  bool transmit(TimePs now, QueuePair& pair, wire::Packet& out);
  /// The urgency list of the front answer, or kSendClassCount when it is not ready.
  [[gnu::always_inline]] static std::size_t ready_class(QueuePair& pair) {
    if (pair.selective != nullptr && pair.selective->early.owes_report()) [[unlikely]]
      return 0;
    while (!pair.answers.empty()) {
      const Answer& answer = pair.answers.front();
      switch (answer.kind) {
        case AnswerKind::kAcknowledge:
          if (!answer.closed || answer.outstanding > 0) return kSendClassCount;
          if (answer.silent && !answer.failed) {
            pair.answers.pop();
            continue;
          }
          return 0;
        case AnswerKind::kNak:
          return 0;
        case AnswerKind::kAtomic:
          return answer.started && answer.outstanding == 0 ? 0 : kSendClassCount;
        case AnswerKind::kRead:
          if (answer.fetched == answer.sent || !pair.read_ahead.front().ready) return kSendClassCount;
          return 2;
      }
    }
    return kSendClassCount;
  }

  /// Stores a receive entry; the caller has checked that there is room.
  void post_receive(QueuePair& pair, const verbs::ReceiveRequest& request, verbs::AddressSpaceId space);
  /// Completes a receive entry that was taken out of the queue.
  void cancel(QueuePair& pair, std::uint64_t id);

  // Selective repeat, in responder_selective.cc.
  /// The next request, when it came early and is kept, and there is room to execute it now.
  const EarlyRequest* next_early(QueuePair& pair);
  /// Executes that request.
  void take_early(TimePs now, QueuePair& pair);
  /// Lets that request go, without executing it: the caller has kept what it needs.
  void drop_early(QueuePair& pair);
  /// Forgets everything that came early.
  void discard_early(QueuePair& pair) {
    if (pair.selective != nullptr) pair.selective->early.clear(*core_.pool);
  }

  /// Goes on with what waited for slots, for earlier writes, or for room.
  void advance(TimePs now, QueuePair& pair) {
    fetch_receives(pair);
    start_held(now, pair);
  }

  // Answers of the memory port.
  [[gnu::always_inline]] void placed(TimePs now, QueuePair& pair, const AccessSlot& slot,
                                     const engine::AccessResult& result) {
    if (!pair.answers.contains(slot.position)) return;
    Answer& answer = pair.answers[slot.position];
    --answer.outstanding;
    if (result.status != engine::AccessStatus::kDone) [[unlikely]] {
      placement_failed(pair, answer, slot);
    }
    if (answer.outstanding != 0) return;
    start_held(now, pair);
    // A shared completion queue of bytes is told what has become of all placements.
    if (pair.receive_completions_issued != pair.receive_completions.tail() &&
        pair.config.receive_completions != engine::kOwn) [[unlikely]] {
      core_.kick(pair);
    }
  }
  /// placed() without an error, of data that is nobody's buffer, when nothing waits for it but an answer that
  /// is listed.
  [[gnu::always_inline]] static bool note_placed(QueuePair& pair, AccessSlot& slot) {
    if (!pair.answers.contains(slot.position) || slot.access.data.buffer != wire::kNoBuffer) return false;
    Answer& answer = pair.answers[slot.position];
    if (answer.outstanding == 1 && (answer.silent || pair.held_answers + pair.reads_to_fetch > 0 ||
                                    !pair.flow_listed[static_cast<std::size_t>(Flow::kAnswers)] ||
                                    pair.receive_completions_issued != pair.receive_completions.tail())) {
      return false;
    }
    --answer.outstanding;
    AccessPort::forget_data(slot.access);
    return true;
  }
  void read_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  /// read_fetched() of data that is nobody's buffer, and not the next to leave unless that is listed.
  [[gnu::always_inline]] static bool take_read_data(QueuePair& pair, const AccessSlot& slot,
                                                    const engine::AccessResult& result) {
    if (!pair.read_ahead.contains(slot.position) || result.data.length != slot.access.length ||
        result.data.buffer != wire::kNoBuffer ||
        (slot.position == pair.read_ahead.head() &&
         !pair.flow_listed[static_cast<std::size_t>(Flow::kAnswers)])) {
      return false;
    }
    ReadAhead& data = pair.read_ahead[slot.position];
    data.ready = true;
    data.failed = false;
    data.payload = result.data;
    return true;
  }
  void atomic_done(TimePs now, QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  void receive_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);

  /// Completes every receive entry with kFlushed.
  void flush_receives(QueuePair& pair);
  /// Forgets all answers and saved resources.
  void discard(QueuePair& pair);
  /// The queue pair is in the error state: READs and atomics that have not touched memory yet will not,
  /// unless a refusal stands behind them, which the peer understands once it has all answers before.
  void drop_reads(QueuePair& pair);
  /// The receive entries are given back: no placement that waits for one may touch memory any more.
  void discard_held(QueuePair& pair);
  /// A memory key is gone: what was accepted and has not touched memory yet fails. `by_peer`: a SEND of the
  /// same queue pair took it. WRITEs that came before that are carried out, and it is told of behind them.
  void revoke(QueuePair& pair, std::uint32_t remote_key, bool by_peer = false);

 private:
  // Unreliable service, in responder_unreliable.cc.
  void receive_datagram(QueuePair& pair, const wire::Packet& packet);
  void take_in_order(QueuePair& pair, const wire::Packet& packet);
  void take_unreliable_write(QueuePair& pair, const wire::Packet& packet, bool first, bool last);
  void take_unreliable_send(QueuePair& pair, const wire::Packet& packet, bool first, bool last);
  /// The message in progress, if there is one, will not be completed.
  void cut_message(QueuePair& pair);
  /// What counts placements of packets that nobody acknowledges.
  Answer& quiet_answer(QueuePair& pair);
  void place_in_entry(QueuePair& pair, Answer& answer, const wire::Packet& packet, const ReceiveEntry& entry,
                      std::uint32_t offset, const wire::Payload& data);

  // Selective repeat, in responder_selective.cc.
  [[gnu::noinline]] void receive_selective(TimePs now, QueuePair& pair, const wire::Packet& packet);
  /// The packet with the PSN that is expected.
  void take_expected(TimePs now, QueuePair& pair, const wire::Packet& packet);
  static Psn first_missing(const QueuePair& pair);
  bool transmit_report(QueuePair& pair, wire::Packet& out);
  bool has_room(const QueuePair& pair) const {
    return !pair.answers.full() && core_.port.available(pair.share) >= kAccessesPerPacket;
  }
  void drop_for_room(QueuePair& pair);

  [[gnu::noinline]] void receive_other(TimePs now, QueuePair& pair, const wire::Packet& packet);
  bool in_order(TimePs now, QueuePair& pair, const wire::Packet& packet);
  bool take_write(QueuePair& pair, const wire::Packet& packet, bool first, bool last);
  bool take_send(QueuePair& pair, const wire::Packet& packet, bool first, bool last);
  bool take_read(TimePs now, QueuePair& pair, const wire::Packet& packet);
  bool take_atomic(TimePs now, QueuePair& pair, const wire::Packet& packet);
  bool duplicate(TimePs now, QueuePair& pair, const wire::Packet& packet);
  bool duplicate_read(TimePs now, QueuePair& pair, const wire::Packet& packet);
  void duplicate_atomic(QueuePair& pair, const wire::Packet& packet);

  /// The packet has been executed: counts it, and acknowledges it if it asks for that.
  [[gnu::always_inline]] void accept(QueuePair& pair, Answer& answer, const wire::Packet& packet,
                                     bool message_ends) {
    ResponderContext& responder = pair.context.responder;
    pair.expect(wire::psn_add(responder.expected, 1));
    if (message_ends) responder.message_sequence = wire::psn_add(responder.message_sequence, 1);
    answer.psn = packet.roce.bth.psn;
    answer.message_sequence = responder.message_sequence;
    answer.operation = packet.operation;
    answer.syndrome = ack_syndrome(pair);
    answer.closed = answer.closed || packet.roce.bth.acknowledge_request;
    answer.silent = false;
  }
  /// The newest answer, if it is an acknowledgement that takes one more packet.
  [[gnu::always_inline]] Answer* last_acknowledge(QueuePair& pair) {
    if (pair.answers.empty()) return nullptr;
    Answer& last = pair.answers.back();
    if (last.kind != AnswerKind::kAcknowledge) return nullptr;
    if (!last.closed) return &last;
    // When memory is slow, one acknowledgement waits for more packets rather than dropping them.
    const bool crowded =
        pair.answers.size() > pair.answers.capacity() / 2 && !core_.config.acknowledge_every_request;
    return crowded ? &last : nullptr;
  }
  /// The acknowledgement that collects packets until one asks for it.
  [[gnu::always_inline]] Answer& open_acknowledge(QueuePair& pair) {
    if (Answer* const last = last_acknowledge(pair)) return *last;
    return push_answer(pair, AnswerKind::kAcknowledge, pair.context.responder.expected);
  }
  void close_acknowledge(QueuePair& pair);
  [[gnu::always_inline]] Answer& push_answer(QueuePair& pair, AnswerKind kind, Psn psn) {
    Answer& answer = pair.answers.push_stale();
    if (kind == AnswerKind::kRead || kind == AnswerKind::kAtomic) answer = Answer{};
    answer.operation = {};
    answer.original = 0;
    answer.psn = psn;
    answer.message_sequence = pair.context.responder.message_sequence;
    answer.fault_psn = 0;
    answer.outstanding = 0;
    answer.syndrome = ack_syndrome(pair);
    answer.kind = kind;
    answer.closed = false;
    answer.silent = false;
    answer.failed = false;
    return answer;
  }
  /// The packet `psn` of `answer` cannot be carried out. A NAK acknowledges all before its PSN, so it names
  /// the first packet that failed, which need not have been the first to fail. [IBTA vol 1 9.7.5.1.1]
  static void note_fault(Answer& answer, Psn psn) {
    if (!answer.failed || wire::psn_before(psn, answer.fault_psn)) answer.fault_psn = psn;
    answer.failed = true;
  }
  [[gnu::noinline]] void placement_failed(QueuePair& pair, Answer& answer, const AccessSlot& slot);
  void merge_acknowledgements(QueuePair& pair, wire::Packet& out);
  /// Of READs, which ask for no more.
  void forget_read_data(QueuePair& pair);
  void push_nak(QueuePair& pair, std::uint8_t syndrome, Psn psn);
  bool refuse(QueuePair& pair, wire::NakCode code, Psn psn);
  void fail(QueuePair& pair);
  void receiver_not_ready(QueuePair& pair, Psn psn);
  [[gnu::always_inline]] AccessSlot& place_message(QueuePair& pair, const wire::Packet& packet,
                                                   verbs::AddressSpaceId space);
  void place(QueuePair& pair, Answer& answer, const wire::Packet& packet, std::uint64_t address,
             const wire::Payload& data, verbs::AccessOrder order, verbs::AddressSpaceId space,
             std::uint32_t remote_key);
  /// Whether a message finds a receive entry.
  bool has_entry(QueuePair& pair) {
    if (pair.receives.free_entries() > 0) return true;
    return pair.config.receive_queue != engine::kOwn && core_.draw_receive(pair);
  }
  /// Whether an access that is held back waits for an atomic.
  static bool is_behind_atomic(const QueuePair& pair, const AccessSlot& held) {
    return static_cast<std::int32_t>(held.run - pair.atomics_done) > 0;
  }
  /// Issues what has been held back and need not be any more. True when a placement was refused instead.
  /// `fetch_failed`: the receive entries that came last.
  bool release_held(QueuePair& pair, bool fetch_failed);
  /// What waits for an atomic will not happen.
  void drop_behind_atomics(QueuePair& pair);
  void drop_held(QueuePair& pair, AccessSlot& held);
  /// Flushes the record of a message that stands behind an atomic.
  static void drop_record(const QueuePair& pair, CompletionEntry& record);
  /// The atomic will not start.
  void drop_atomic(Answer& answer);
  /// The packet `psn` of a message cannot be placed, and never will be.
  void fail_placement(QueuePair& pair, Answer& answer, Psn psn, Position entry);
  /// The packet was accepted; when the receive entry of its message could not be fetched, its answer is a
  /// NAK.
  void refuse_bad_entry(QueuePair& pair, const wire::Packet& packet);
  /// The completion of `entry`, if it is not out yet, says `status`.
  static void end_entry(QueuePair& pair, Position entry, verbs::CompletionStatus status);
  static CompletionEntry& push_receive_completion(QueuePair& pair, verbs::Verb verb,
                                                  verbs::CompletionStatus status);
  void complete_receive(QueuePair& pair, const wire::Packet& packet, verbs::Verb verb, std::uint32_t length);
  /// `operation`: whose message needs the entry, if one does.
  void fetch_receives(QueuePair& pair, wire::OperationTag operation = {}) {
    if (pair.receives.needs_fetch()) fetch_receives_ahead(pair, operation);
  }
  [[gnu::noinline]] void fetch_receives_ahead(QueuePair& pair, wire::OperationTag operation);
  /// Starts the newest answer, a READ or atomic.
  void start_newest(TimePs now, QueuePair& pair, Answer& answer);
  void start(TimePs now, QueuePair& pair, Answer& answer);
  void start_held(TimePs now, QueuePair& pair) {
    if (pair.answers.empty()) return;
    if (pair.held_answers > 0) start_held_answers(now, pair, pair.answers.head());
    expand_reads(pair);
  }
  /// `from`: everything before it is in memory.
  [[gnu::noinline]] void start_held_answers(TimePs now, QueuePair& pair, Position from);
  /// Queues the answer to the READ `packet`, whose data `saved` describes, and starts it when it may.
  void answer_read(TimePs now, QueuePair& pair, const wire::Packet& packet, const SavedResource& saved,
                   std::uint32_t packets, verbs::AccessOrder order);
  void expand_reads(QueuePair& pair) {
    if (pair.reads_to_fetch > 0) ask_ahead(pair);
    list_if_ready(pair);
  }
  [[gnu::noinline]] void ask_ahead(QueuePair& pair);
  [[gnu::always_inline]] void list_if_ready(QueuePair& pair) {
    const std::size_t send_class = ready_class(pair);
    if (send_class != kSendClassCount) core_.list_flow(pair, Flow::kAnswers, send_class);
  }
  std::uint8_t ack_syndrome(const QueuePair& pair) const {
    // [IBTA vol 1 9.7.7.2: no credits for a shared receive queue]
    return core_.config.advertise_credits && pair.config.receive_queue == engine::kOwn
               ? credit_code_for(pair.receives.free_entries())
               : wire::kAckUnlimited;
  }
  void fill_header(const QueuePair& pair, const Answer& answer, wire::Packet& out) const;

  EngineCore& core_;
};

[[gnu::always_inline]] inline bool Responder::take_plain_write(QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const wire::Reth& reth = packet.roce.reth;
  const std::uint32_t length = packet.payload.length;
  if (packet.roce.bth.psn != responder.expected || length == 0 || length != reth.length ||
      pair.answers.full() || !core_.port.has_used(kAccessesPerPacket) ||
      !pair.attributes.rights.remote_write) {
    return false;
  }
  const MemoryKeyRecord* const record =
      core_.keys.find(pair.context.domain, reth.remote_key, reth.address, length, RemoteAccess::kWrite);
  if (record == nullptr) return false;
  AccessSlot& slot = place_message(pair, packet, core_.keys.space_of(*record));
  slot.access.address = reth.address;
  slot.access.order = record->write_order;
  core_.port.issue(slot);
  return true;
}

[[gnu::always_inline]] inline bool Responder::take_plain_send(QueuePair& pair, const wire::Packet& packet) {
  ResponderContext& responder = pair.context.responder;
  const std::uint32_t length = packet.payload.length;
  if (packet.roce.bth.psn != responder.expected || length == 0 || pair.answers.full() || !pair.plain ||
      pair.starved || !core_.port.has_two_used(kAccessesPerPacket) || pair.receives.free_entries() == 0) {
    return false;
  }
  const Position position = pair.receives.taken();
  const ReceiveEntry& entry = pair.receives.entry(position);
  if (position != pair.receives.head() || entry.local_count != 1 || length > entry.local.length[0])
    return false;
  AccessSlot& slot = place_message(pair, packet, entry.space);
  slot.for_receive = true;
  slot.entry = position;
  slot.access.address = entry.local.address[0];
  core_.port.issue(slot);
  responder.receive_position = pair.receives.take();
  CompletionEntry& record = pair.receive_completions.push_stale();
  record.id = entry.id;
  record.operation = packet.operation;
  record.value = std::uint64_t{pair.atomics_taken} << 32U;
  record.length = length;
  record.work = position;
  record.remote_host = pair.context.remote_host;
  record.remote_queue = pair.context.remote_queue_number;
  record.status = verbs::CompletionStatus::kSuccess;
  record.kind = verbs::CompletionKind::kReceive;
  record.verb = verbs::Verb::kSend;
  record.has_immediate = false;
  record.drain = verbs::DrainMark::kNone;
  record.solicited = packet.roce.bth.solicited;
  record.visible = false;
  pair.receives.pop();
  core_.issue_receive_completion(pair, record);
  return true;
}

[[gnu::always_inline]] inline bool Responder::transmit_plain_read(QueuePair& pair, wire::Packet& out) {
  if (pair.answers.empty() || pair.read_ahead.empty()) return false;
  const Answer& answer = pair.answers.front();
  const ReadAhead& data = pair.read_ahead.front();
  if (answer.kind != AnswerKind::kRead || answer.packets != 1 || answer.fetched != 1 || answer.failed ||
      !data.ready || data.failed || pair.selective != nullptr) {
    return false;
  }
  begin_packet(pair.context, answer.operation, data.payload, out);
  out.roce.bth.opcode = wire::RoceOpcode::kRcReadResponseOnly;
  out.roce.bth.psn = answer.psn;
  out.roce.ack = {answer.original, {answer.syndrome, answer.message_sequence}};
  pair.read_ahead.pop();
  pair.answers.pop();
  if (pair.reads_to_fetch > 0) ask_ahead(pair);
  return true;
}

// All of accept() and place() for a message of one packet that credits do not concern.
[[gnu::always_inline]] inline AccessSlot& Responder::place_message(QueuePair& pair,
                                                                   const wire::Packet& packet,
                                                                   verbs::AddressSpaceId space) {
  ResponderContext& responder = pair.context.responder;
  const Psn psn = responder.expected;
  pair.expect(wire::psn_add(psn, 1));
  responder.message_sequence = wire::psn_add(responder.message_sequence, 1);
  Answer* const last = last_acknowledge(pair);
  Answer& answer = last != nullptr ? *last : pair.answers.push_known();
  if (last == nullptr) {
    answer.original = 0;
    answer.fault_psn = 0;
    answer.outstanding = 0;
    answer.kind = AnswerKind::kAcknowledge;
    answer.closed = false;
    answer.failed = false;
  }
  answer.operation = packet.operation;
  answer.psn = psn;
  answer.message_sequence = responder.message_sequence;
  ++answer.outstanding;
  answer.syndrome = wire::kAckUnlimited;
  answer.closed |= packet.roce.bth.acknowledge_request;
  answer.silent = false;
  AccessSlot& slot = core_.open_access<true>(AccessPurpose::kPlacement, engine::AccessKind::kWrite, pair,
                                             pair.answers.tail() - 1, true, space);
  slot.detail = psn;
  slot.access.length = packet.payload.length;
  slot.access.data = packet.payload;
  slot.access.operation = packet.operation;
  return slot;
}

}  // namespace wharf::roce
