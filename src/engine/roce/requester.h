// SPDX-License-Identifier: Apache-2.0
// The requester half of a queue pair: cuts work requests into packets, fetches their payload, takes in
// answers and completes the requests in order. What happens when an answer does not come is in
// retransmission.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "engine/roce/engine_core.h"
#include "wire/packet.h"

namespace wharf::roce {

class Retransmission;

/// All that the engine offers.
constexpr bool is_offered(verbs::Verb verb) {
  constexpr auto bit = [](verbs::Verb each) { return 1U << static_cast<unsigned>(each); };
  constexpr std::uint32_t kOffered = bit(verbs::Verb::kRead) | bit(verbs::Verb::kWrite) |
                                     bit(verbs::Verb::kWriteImm) | bit(verbs::Verb::kSend) |
                                     bit(verbs::Verb::kSendImm) | bit(verbs::Verb::kSendInvalidate) |
                                     bit(verbs::Verb::kCompareSwap) | bit(verbs::Verb::kFetchAdd);
  return (kOffered >> static_cast<unsigned>(verb) & 1U) != 0;
}

/// Of Sends and Writes: the opcode of a message of one packet. [IBTA vol 1 9.2.1]
inline constexpr auto kSinglePacketOpcodes = [] {
  std::array<wire::RoceOpcode, verbs::kVerbCount> opcodes{};
  const auto set = [&opcodes](verbs::Verb verb, wire::RoceOpcode opcode) {
    opcodes[static_cast<std::size_t>(verb)] = opcode;
  };
  set(verbs::Verb::kWrite, wire::RoceOpcode::kRcWriteOnly);
  set(verbs::Verb::kWriteImm, wire::RoceOpcode::kRcWriteOnlyImmediate);
  set(verbs::Verb::kSend, wire::RoceOpcode::kRcSendOnly);
  set(verbs::Verb::kSendImm, wire::RoceOpcode::kRcSendOnlyImmediate);
  set(verbs::Verb::kSendInvalidate, wire::RoceOpcode::kRcSendOnlyInvalidate);
  return opcodes;
}();
constexpr wire::RoceOpcode single_packet_opcode(verbs::Verb verb) {
  return kSinglePacketOpcodes[static_cast<std::size_t>(verb)];
}

class Requester {
 public:
  Requester(EngineCore& core, Retransmission& retransmission)
      : core_(core), retransmission_(retransmission) {}

  static bool supports(verbs::Verb verb) { return is_offered(verb); }

  /// What is wrong with `request` on `pair`, before anything is stored.
  engine::PostStatus check(const QueuePair& pair, const verbs::WorkRequest& request) const;
  /// Stores a request that check() accepts. The caller runs advance() afterwards.
  engine::PostStatus post(QueuePair& pair, const verbs::WorkRequest& request, engine::Submission submission);
  /// The usual request in one pass, post() and advance() at once: in hand, a Send or Write of one packet and
  /// one piece of local memory, that nothing but others before it holds back. False, and nothing has
  /// happened, when it is not like that. QueuePair::usual says `storing` and `preparing`.
  [[gnu::always_inline]] bool post_plain(QueuePair& pair, const verbs::WorkRequest& request);
  /// The same for any request that waits for others; QueuePair::usual says `storing`.
  bool post_behind_others(QueuePair& pair, const verbs::WorkRequest& request);
  /// Ask for what QueuePair::usual says, and note it when it is so.
  static bool find_storing(QueuePair& pair);
  static bool find_preparing(QueuePair& pair);
  static bool find_sending(QueuePair& pair);
  /// `count` entries of a ring of bytes were written.
  engine::PostStatus announce(QueuePair& pair, std::uint32_t count);

  /// Prepares as many packets as window, fences, credits and slots allow.
  void advance(TimePs now, QueuePair& pair) {
    if (pair.context.state != QueueState::kReadyToSend) return;
    if (pair.fetch_issued != pair.send.tail()) fetch_work(pair);
    if (pair.context.requester.sending != pair.send.tail() && !pair.transmit.full() &&
        !waits_for_answers(pair)) {
      prepare(now, pair);
    }
  }

  /// Takes the packet at the front, which ready_class() has found complete, and fills `out`; false when local
  /// memory failed to give its payload.
  bool transmit(TimePs now, QueuePair& pair, wire::Packet& out);
  /// The usual packet in one pass: sent for the first time, while the timer runs. QueuePair::usual says
  /// `sending`, and its requests are listed. False, and nothing has happened, when there is no payload for
  /// it.
  [[gnu::always_inline]] bool transmit_plain(QueuePair& pair, wire::Packet& out);
  /// Prepares the request at `sending` after a packet has left, when that is all there is to do; false, and
  /// nothing has happened, when the queue pair is to be run.
  [[gnu::always_inline]] bool refill_plain(QueuePair& pair);
  /// The urgency list that the front packet belongs to, or kSendClassCount when none is complete.
  [[gnu::always_inline]] static std::size_t ready_class(const QueuePair& pair) {
    if (pair.transmit.empty() || pair.transmit.front().pending > 0) return kSendClassCount;
    const bool resent = wire::psn_before(pair.transmit.front().psn, pair.context.requester.highest_sent);
    return resent ? 1 : 2;
  }

  /// ACK, NAK, RNR NAK, READ response or atomic acknowledge.
  void receive(TimePs now, QueuePair& pair, const wire::Packet& packet);

  /// The usual answer to a READ or atomic: all of it, the next that is expected, for one piece of local
  /// memory. False, and nothing has happened, when it is not like that.
  bool take_plain_data(TimePs now, QueuePair& pair, const wire::Packet& packet);

  // Answers of the memory port.
  [[gnu::always_inline]] void payload_fetched(QueuePair& pair, const AccessSlot& slot,
                                              const engine::AccessResult& result) {
    if (!pair.transmit.contains(slot.position)) return;  // Sent again or given up since.
    TransmitEntry& packet = pair.transmit[slot.position];
    --packet.pending;
    if (result.status != engine::AccessStatus::kDone || result.data.length != slot.access.length)
        [[unlikely]] {
      packet.failed = true;
      packet.whole = false;
    } else if (packet.gathered) [[unlikely]] {
      wire::fill(result.data, {core_.pool->data(packet.payload.buffer) + slot.detail, result.data.length});
    } else {
      packet.payload = result.data;
      core_.pool->retain(result.data.buffer);
    }
    if (packet.pending == 0 && slot.position == pair.transmit.head()) {
      core_.list_flow(pair, Flow::kRequests, ready_class(pair));
    }
  }
  /// payload_fetched() of a whole payload that is nobody's buffer, and not the next one to leave.
  [[gnu::always_inline]] static bool take_payload(QueuePair& pair, const AccessSlot& slot,
                                                  const engine::AccessResult& result) {
    if (!pair.transmit.contains(slot.position)) return false;
    TransmitEntry& packet = pair.transmit[slot.position];
    if (packet.pending != 1 || packet.gathered || result.data.length != slot.access.length ||
        result.data.buffer != wire::kNoBuffer) {
      return false;
    }
    if (slot.position == pair.transmit.head() && !pair.flow_listed[static_cast<std::size_t>(Flow::kRequests)])
      return false;
    packet.payload = result.data;
    packet.pending = 0;
    return true;
  }
  void response_placed(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  /// response_placed() without an error, when others are still under way.
  [[gnu::always_inline]] static bool note_response_placed(QueuePair& pair, AccessSlot& slot) {
    if (pair.responses_outstanding < 2 || slot.access.data.buffer != wire::kNoBuffer) return false;
    --pair.responses_outstanding;
    slot.access.data = wire::Payload{};
    return true;
  }
  void work_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);

  /// The oldest request fails with `status`, all later ones are flushed, the queue pair goes to the error
  /// state. [IBTA vol 1 10.8.7.1]
  void fail(TimePs now, QueuePair& pair, verbs::CompletionStatus status);
  /// Completes everything that is posted with kFlushed.
  void flush(QueuePair& pair);
  /// Drops the reference that a request with inline data holds.
  void release_inline(const SendEntry& entry) {
    if (entry.form == SendForm::kInline) core_.pool->release(entry.inline_data.buffer);
  }
  /// Drops prepared packets, keeping their requests.
  void discard_prepared(QueuePair& pair);

 private:
  static engine::PostStatus check_verb(const verbs::WorkRequest& request);
  engine::PostStatus check_form(const verbs::WorkRequest& request) const;
  void store(const QueuePair& pair, const verbs::WorkRequest& request, SendEntry& entry);
  void read_entry(QueuePair& pair, const wire::Payload& bytes, SendEntry& entry);
  [[gnu::noinline]] bool may_start(TimePs now, QueuePair& pair, SendEntry& entry);
  void assign_psns(QueuePair& pair, SendEntry& entry);
  [[gnu::noinline]] void prepare(TimePs now, QueuePair& pair);
  /// Whether the request at `sending`, a READ or atomic, is known to wait for the answers of others.
  [[gnu::always_inline]] static bool waits_for_answers(const QueuePair& pair) {
    const RequesterContext& requester = pair.context.requester;
    if (!pair.waiting || pair.waiting_stage != trace::Stage::kWindowWait ||
        requester.reads_outstanding < requester.read_limit || requester.sending != requester.assigned) {
      return false;
    }
    const SendEntry& entry = pair.send[requester.sending];
    return expects_answer(entry.verb) && !entry.fence && entry.status == verbs::CompletionStatus::kSuccess;
  }
  [[gnu::always_inline]] void fill_packet(const QueuePair& pair, const SendEntry& entry,
                                          const TransmitEntry& packet, wire::Packet& out) const;
  [[gnu::always_inline]] static void fill_write(const QueuePair& pair, const SendEntry& entry,
                                                const TransmitEntry& packet, wire::Packet& out);
  [[gnu::always_inline]] static bool is_preparing(const QueuePair& pair) {
    const RequesterContext& requester = pair.context.requester;
    return requester.sending == requester.assigned && !pair.waiting && !requester.credits_in_use &&
           !requester.limited_outstanding;
  }
  /// Whether window and slots have room for a new packet, where is_preparing().
  [[gnu::always_inline]] bool has_room(const QueuePair& pair) const;
  /// Whether `request` is in one piece of local memory without a key, of one packet and nothing unusual.
  [[gnu::always_inline]] static bool is_plain(const QueuePair& pair, const verbs::WorkRequest& request);
  [[gnu::always_inline]] static SendEntry& store_plain(QueuePair& pair, const verbs::WorkRequest& request);
  [[gnu::always_inline]] void prepare_single(QueuePair& pair, SendEntry& entry);
  [[gnu::noinline]] void prepare_packet(QueuePair& pair, SendEntry& entry);
  void fetch_payload(QueuePair& pair, const SendEntry& entry, TransmitEntry& packet, Position at,
                     std::uint32_t offset, std::uint32_t length);
  [[gnu::noinline]] void fetch_work(QueuePair& pair);
  void wait(TimePs now, QueuePair& pair, const SendEntry& entry, trace::Stage stage);
  void stop_waiting(TimePs now, QueuePair& pair) {
    if (pair.waiting) end_wait(now, pair);
  }
  [[gnu::noinline]] void end_wait(TimePs now, QueuePair& pair);
  SendEntry* acknowledge_through(QueuePair& pair, Psn through);
  void take_acknowledge(TimePs now, QueuePair& pair, const wire::RocePacket& roce);
  void take_read_response(TimePs now, QueuePair& pair, SendEntry& entry, const wire::Packet& packet);
  void take_atomic_answer(TimePs now, QueuePair& pair, SendEntry& entry, const wire::Packet& packet);
  bool place(QueuePair& pair, const SendEntry& entry, std::uint32_t offset, const wire::Payload& payload);
  void take_credits(QueuePair& pair, const wire::Aeth& aeth);
  void complete_oldest(QueuePair& pair);
  [[gnu::always_inline]] void complete_plain_through(QueuePair& pair, Psn through);
  template <bool kUsed>
  [[gnu::always_inline]] void complete_plain(QueuePair& pair, const SendEntry& entry);

  EngineCore& core_;
  Retransmission& retransmission_;
};

// --- The short way of a request of one packet ---

[[gnu::always_inline]] inline bool Requester::has_room(const QueuePair& pair) const {
  const RequesterContext& requester = pair.context.requester;
  return core_.port.has_used(1) && core_.may_fetch_payload() &&
         wire::psn_difference(requester.next, requester.unacknowledged) <
             static_cast<std::int32_t>(core_.config.window_packets);
}

// `entry` is at `sending` and kPlain; is_preparing() and has_room() said yes.
[[gnu::always_inline]] inline void Requester::prepare_single(QueuePair& pair, SendEntry& entry) {
  RequesterContext& requester = pair.context.requester;
  const Psn psn = requester.next;
  const Position at = pair.transmit.tail();
  TransmitEntry& packet = pair.transmit.push_stale();
  packet.payload.buffer = wire::kNoBuffer;  // The rest comes with the data.
  packet.psn = psn;
  packet.psn_count = 1;
  packet.work = requester.sending;
  packet.packet = 0;
  packet.pending = 1;
  packet.acknowledge = true;
  packet.gathered = false;
  packet.failed = false;
  packet.whole = true;
  packet.opcode = single_packet_opcode(entry.verb);
  entry.first_psn = requester.next_unassigned;
  entry.packets = 1;
  entry.sequence = requester.sequence = wire::psn_add(requester.sequence, 1);
  requester.next = requester.next_unassigned = wire::psn_add(psn, 1);
  requester.assigned = ++requester.sending;
  AccessSlot& slot =
      core_.open_access<true>(AccessPurpose::kRequestPayload, engine::AccessKind::kRead, pair, at, false,
                              static_cast<std::uint32_t>(entry.operand));  // No atomic: see space().
  slot.detail = 0;
  slot.access.address = entry.local.address[0];
  slot.access.length = entry.length;
  slot.access.operation = entry.operation;
  core_.port.issue(slot);
}

[[gnu::always_inline]] inline bool Requester::is_plain(const QueuePair& pair,
                                                       const verbs::WorkRequest& request) {
  return !request.tagged && !request.fence && request.local_count == 1 &&
         request.delivery == verbs::Delivery::kDefault &&
         request.atomic_function == verbs::AtomicFunction::kOfVerb &&
         request.inline_data.kind == wire::PayloadKind::kNone && request.local[0].length == request.length &&
         request.local[0].key == 0 && request.length - 1 < pair.context.path_mtu && pair.answers.empty() &&
         pair.send.size() + pair.send_completions.size() < pair.config.send_depth;
}

// All of an entry but `immediate` and `form`.
[[gnu::always_inline]] inline SendEntry& Requester::store_plain(QueuePair& pair,
                                                                const verbs::WorkRequest& request) {
  SendEntry& entry = pair.send.push_known();
  ++pair.fetch_issued;
  entry.id = request.id;
  entry.operation = request.operation;
  entry.remote_address = request.remote.address;
  entry.local.address[0] = request.local[0].address;
  entry.local.length[0] = request.length;
  entry.operand = pair.config.space;
  entry.compare = 0;
  entry.original = 0;
  entry.remote_key = request.remote.token.id;
  entry.length = request.length;
  entry.verb = request.verb;
  entry.local_count = 1;
  entry.status = verbs::CompletionStatus::kSuccess;
  entry.signaled = request.signaled;
  entry.fence = false;
  entry.solicited = request.solicited && verbs::consumes_receive_entry(request.verb);
  entry.fetched = true;
  return entry;
}

[[gnu::always_inline]] inline bool Requester::post_plain(QueuePair& pair, const verbs::WorkRequest& request) {
  if (!is_offered(request.verb) || !verbs::carries_payload(request.verb) || !is_plain(pair, request))
    return false;
  const bool waits = pair.transmit.full();
  if (!waits && !(pair.context.requester.sending == pair.send.tail() && has_room(pair))) return false;
  SendEntry& entry = store_plain(pair, request);
  entry.immediate = request.verb == verbs::Verb::kSendInvalidate
                        ? request.invalidate.id
                        : static_cast<std::uint32_t>(request.immediate);
  entry.form = SendForm::kPlain;
  if (!waits) prepare_single(pair, entry);
  return true;
}

[[gnu::always_inline]] inline bool Requester::transmit_plain(QueuePair& pair, wire::Packet& out) {
  RequesterContext& requester = pair.context.requester;
  const TransmitEntry& packet = pair.transmit.front();
  const SendEntry& entry = pair.send[packet.work];
  const Psn past = wire::psn_add(packet.psn, packet.psn_count);
  if (packet.whole && packet.opcode == wire::RoceOpcode::kRcWriteOnly) {
    fill_write(pair, entry, packet, out);
  } else {
    if (packet.failed) return false;
    fill_packet(pair, entry, packet, out);
  }
  requester.sent = requester.highest_sent = past;
  pair.transmit.pop_known();  // The payload reference goes with the packet.
  return true;
}

// The same for a WRITE of one packet.
[[gnu::always_inline]] inline void Requester::fill_write(const QueuePair& pair, const SendEntry& entry,
                                                         const TransmitEntry& packet, wire::Packet& out) {
  begin_packet(pair.context, entry.operation, packet.payload, out);
  out.roce.bth.opcode = wire::RoceOpcode::kRcWriteOnly;
  out.roce.bth.psn = packet.psn;
  out.roce.bth.acknowledge_request = true;
  out.roce.reth = {entry.remote_address, entry.remote_key, entry.length};
}

[[gnu::always_inline]] inline void Requester::fill_packet(const QueuePair& pair, const SendEntry& entry,
                                                          const TransmitEntry& packet,
                                                          wire::Packet& out) const {
  begin_packet(pair.context, entry.operation, packet.payload, out);
  wire::RocePacket& roce = out.roce;
  roce.bth.opcode = packet.opcode;
  roce.bth.psn = packet.psn;
  roce.bth.acknowledge_request = packet.acknowledge;
  const bool ends_message = packet.packet + 1 == entry.packets;
  roce.bth.solicited = entry.solicited && ends_message;
  const unsigned headers = wire::roce_headers(packet.opcode);
  if ((headers & (wire::kRoceImmediate | wire::kRoceIeth)) != 0) {
    if ((headers & wire::kRoceImmediate) != 0) roce.immediate = entry.immediate;
    if ((headers & wire::kRoceIeth) != 0) roce.invalidate_key = entry.immediate;
  }
  if ((headers & wire::kRoceReth) != 0) {
    const std::uint32_t offset = packet.packet << pair.context.mtu_shift;
    roce.reth = {entry.remote_address + offset, entry.remote_key, entry.length - offset};
  } else if ((headers & wire::kRoceAtomicEth) != 0) {
    roce.atomic = {entry.remote_address, entry.operand, entry.compare, entry.remote_key};
  }
}

[[gnu::always_inline]] inline bool Requester::refill_plain(QueuePair& pair) {
  const RequesterContext& requester = pair.context.requester;
  if (!pair.usual.storing || !pair.answers.empty()) return false;
  if (!pair.usual.preparing) return waits_for_answers(pair);
  SendEntry& entry = pair.send[requester.sending];
  if (!entry.fetched || entry.form != SendForm::kPlain || entry.length > pair.context.path_mtu ||
      entry.status != verbs::CompletionStatus::kSuccess || !has_room(pair) ||
      pair.transmit.size() + 1 != pair.transmit.capacity()) {
    return false;
  }
  prepare_single(pair, entry);
  return true;
}

}  // namespace wharf::roce
