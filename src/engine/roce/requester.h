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
  Requester(EngineCore& core, Retransmission& retransmission);

  static bool supports(verbs::Verb verb) { return is_offered(verb); }

  /// What is wrong with `request` on `pair`, before anything is stored.
  engine::PostStatus check(const QueuePair& pair, const verbs::WorkRequest& request) const;
  /// Stores a request that check() accepts. The caller runs advance() afterwards.
  engine::PostStatus post(QueuePair& pair, const verbs::WorkRequest& request, engine::Submission submission);
  /// The usual request in one pass: in hand, a Send or Write of one packet and one piece of local memory,
  /// with nothing before it that waits for its turn, or no room in the transmit ring. It is stored; when it
  /// can be prepared, prepare_posted() does that. False, and nothing has happened, when it is not like that.
  /// QueuePair::usual says `storing` and `preparing`.
  [[gnu::always_inline]] bool post_plain(QueuePair& pair, const verbs::WorkRequest& request) const;
  /// Prepares the usual requests at `sending`, as many as window, slots and ring have room for; false when
  /// the next one, if any, is unusual or lacks window or slots. QueuePair::usual says `preparing`.
  [[gnu::noinline]] bool prepare_posted(QueuePair& pair);
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
    if (pair.selective != nullptr) [[unlikely]]
      prepare_repairs(pair);
    if (pair.context.state != QueueState::kReadyToSend) return advance_draining(now, pair);
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
  /// Whether the requests at `sending` are usual, or known to wait for others: all there is to do after a
  /// packet has left.
  [[gnu::always_inline]] static bool may_refill_plain(const QueuePair& pair, bool& is_ready);
  /// The urgency list that the front packet belongs to, or kSendClassCount when none is complete.
  [[gnu::always_inline]] static std::size_t ready_class(const QueuePair& pair) {
    if (pair.selective != nullptr && is_repair_next(pair)) [[unlikely]]
      return 1;
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
    note_payload(packet, slot, result);
    if (packet.pending == 0 && slot.position == pair.transmit.head()) {
      core_.list_flow(pair, Flow::kRequests, ready_class(pair));
    }
  }
  /// payload_fetched() of a whole payload that is nobody's buffer, without an error.
  [[gnu::always_inline]] bool take_payload(QueuePair& pair, const AccessSlot& slot,
                                           const engine::AccessResult& result) {
    if (!pair.transmit.contains(slot.position)) return false;
    TransmitEntry& packet = pair.transmit[slot.position];
    return packet.pending == 1 && !packet.gathered &&
           take_payload(pair, packet, slot.position, slot.access.length, result);
  }
  /// The same of a packet that has no other payload.
  [[gnu::always_inline]] bool take_payload(QueuePair& pair, TransmitEntry& packet, Position position,
                                           std::uint32_t length, const engine::AccessResult& result) {
    if (result.data.length != length || result.data.buffer != wire::kNoBuffer) return false;
    packet.payload = result.data;
    packet.pending = 0;
    if (position == pair.transmit.head()) core_.list_flow(pair, Flow::kRequests, ready_class(pair));
    return true;
  }
  /// The packet in front lacks its payload for good: its request fails when it is the oldest. False when
  /// there is no such packet.
  bool give_up_front(QueuePair& pair);
  void response_placed(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  /// payload_fetched() of a packet that is sent again by selective repeat.
  void resend_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
  /// response_placed() without an error, when others are still under way.
  [[gnu::always_inline]] static bool note_response_placed(QueuePair& pair, AccessSlot& slot) {
    if (pair.responses_outstanding < 2 || slot.access.data.buffer != wire::kNoBuffer) return false;
    --pair.responses_outstanding;
    AccessPort::forget_data(slot.access);
    return true;
  }
  void work_fetched(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);

  /// The oldest request fails with `status`, all later ones are flushed, the queue pair goes to the error
  /// state; one of unreliable service to SQE. [IBTA vol 1 10.8.7.1, 10.3.1.6]
  void fail(TimePs now, QueuePair& pair, verbs::CompletionStatus status);
  /// Completes everything that is posted with kFlushed.
  void flush(QueuePair& pair);
  /// The handle that a datagram names, or null.
  static const AddressHandle* find_handle(const QueuePair& pair, verbs::PeerId peer);
  /// Drops the reference that a request with inline data holds.
  void release_inline(const SendEntry& entry) {
    if (entry.form == SendForm::kInline) core_.pool->release(entry.inline_data.buffer);
  }
  /// Drops prepared packets, keeping their requests.
  void discard_prepared(QueuePair& pair);

  // Selective repeat, in requester_selective.cc.
  /// Whether the packet that leaves next is one that is sent again by selective repeat.
  static bool is_repair_next(const QueuePair& pair) {
    const PositionRing<TransmitEntry>& resend = pair.selective->resend;
    return !resend.empty() && resend.front().pending == 0 && pair.context.requester.rnr_until == kNever;
  }
  /// The oldest PSN that has not arrived at the far end, as far as is known, or whose answer has not come.
  static Psn oldest_missing(const QueuePair& pair);
  /// That PSN is to be sent again.
  static void repair_oldest(QueuePair& pair);
  /// Takes back the packets that were prepared and have not left.
  void put_back_prepared(QueuePair& pair);
  /// A receiver-not-ready wait is over.
  static void end_refusal(QueuePair& pair);
  /// Forgets what was to be sent again, and all that is known of single PSNs.
  void discard_repairs(QueuePair& pair);

 private:
  [[gnu::always_inline]] void note_payload(TransmitEntry& packet, const AccessSlot& slot,
                                           const engine::AccessResult& result) {
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
  }
  // Selective repeat, in requester_selective.cc.
  [[gnu::noinline]] void receive_selective(TimePs now, QueuePair& pair, const wire::Packet& packet);
  void take_report(TimePs now, QueuePair& pair, Psn missing, Psn arrived);
  void take_refusal(TimePs now, QueuePair& pair, Psn psn, const wire::Aeth& aeth);
  bool take_selective_data(TimePs now, QueuePair& pair, const wire::Packet& packet);
  void settle_oldest(QueuePair& pair);
  void repair_answers(TimePs now, QueuePair& pair, Psn psn);
  bool repair(TimePs now, QueuePair& pair, Psn lost);
  void wait_for_receiver(TimePs now, QueuePair& pair, Psn psn, std::uint8_t timer_code);
  static bool is_wanted(const QueuePair& pair, Psn psn);
  [[gnu::noinline]] void prepare_repairs(QueuePair& pair);
  void prepare_resend(QueuePair& pair, Psn psn);
  void drop_resend(QueuePair& pair);
  bool transmit_again(TimePs now, QueuePair& pair, wire::Packet& out);

  static engine::PostStatus check_verb(const QueuePair& pair, const verbs::WorkRequest& request);
  engine::PostStatus check_form(const QueuePair& pair, const verbs::WorkRequest& request) const;
  /// In SQD: what was begun goes on; when it has ended, the event says so.
  [[gnu::noinline]] void advance_draining(TimePs now, QueuePair& pair);
  // Unreliable service, in requester_unreliable.cc.
  /// Puts what the handle says of the peer where one-sided requests have their target.
  static void aim(const QueuePair& pair, const verbs::WorkRequest& request, SendEntry& entry);
  static void address_datagram(const QueuePair& pair, const SendEntry& entry, wire::Packet& out);
  /// A packet has left: nothing else will be heard of it.
  void note_left(QueuePair& pair, const TransmitEntry& packet);
  void fail_sending(TimePs now, QueuePair& pair, verbs::CompletionStatus status);
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
  [[gnu::always_inline]] static bool is_single(const QueuePair& pair, const SendEntry& entry) {
    return entry.form == SendForm::kPlain && entry.status == verbs::CompletionStatus::kSuccess &&
           entry.fetched && entry.length <= pair.context.path_mtu;
  }
  [[gnu::noinline]] void prepare_packet(QueuePair& pair, SendEntry& entry);
  /// `at`: of `packet` in the ring that `purpose` names.
  void fetch_payload(QueuePair& pair, const SendEntry& entry, TransmitEntry& packet, Position at,
                     std::uint32_t offset, std::uint32_t length, AccessPurpose purpose);
  static wire::RoceOpcode opcode_at(const QueuePair& pair, const SendEntry& entry, std::uint32_t packet);
  [[gnu::noinline]] void fetch_work(QueuePair& pair);
  void wait(TimePs now, QueuePair& pair, const SendEntry& entry, trace::Stage stage);
  void stop_waiting(TimePs now, QueuePair& pair) {
    if (pair.waiting) end_wait(now, pair);
  }
  [[gnu::noinline]] void end_wait(TimePs now, QueuePair& pair);
  SendEntry* acknowledge_through(QueuePair& pair, Psn through);
  void take_acknowledge(TimePs now, QueuePair& pair, const wire::RocePacket& roce);
  void take_read_response(TimePs now, QueuePair& pair, SendEntry& entry, const wire::Packet& packet);
  void take_atomic_answer(TimePs now, QueuePair& pair, const wire::Packet& packet);
  /// A NAK has ended the oldest request.
  void fail_refused(TimePs now, QueuePair& pair, const wire::Aeth& aeth);
  bool place(QueuePair& pair, Position work, std::uint32_t offset, const wire::Payload& payload);
  /// The same of the value that an atomic has found, which the request keeps.
  bool place_value(QueuePair& pair, Position work, std::uint64_t original);
  /// Drops an answer that nobody waits for any more; false when somebody does.
  bool drop_stale(TimePs now, QueuePair& pair, const wire::RocePacket& roce);
  void take_credits(QueuePair& pair, const wire::Aeth& aeth);
  void complete_oldest(QueuePair& pair);
  [[gnu::always_inline]] void complete_plain_through(QueuePair& pair, Psn through);
  [[gnu::always_inline]] static CompletionEntry& complete_plain(QueuePair& pair, const SendEntry& entry,
                                                                std::uint64_t original);

  EngineCore& core_;
  Retransmission& retransmission_;
  /// A packet of a message asks for an acknowledgement when its number within it has none of these bits.
  std::uint32_t ack_mask_;
};

// --- The short way of a request of one packet ---

[[gnu::always_inline]] inline bool Requester::has_room(const QueuePair& pair) const {
  const RequesterContext& requester = pair.context.requester;
  return core_.may_fetch_payload() && wire::psn_difference(requester.next, requester.unacknowledged) <
                                          static_cast<std::int32_t>(requester.window);
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

// All of an entry but `immediate`, `form`, and what atomics alone have.
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

[[gnu::always_inline]] inline bool Requester::post_plain(QueuePair& pair,
                                                         const verbs::WorkRequest& request) const {
  if (!is_offered(request.verb) || !verbs::carries_payload(request.verb) || !is_plain(pair, request))
    return false;
  if (pair.context.requester.sending != pair.send.tail() && core_.unprepared != &pair &&
      !pair.transmit.full())
    return false;
  SendEntry& entry = store_plain(pair, request);
  entry.immediate = request.verb == verbs::Verb::kSendInvalidate
                        ? request.invalidate.id
                        : static_cast<std::uint32_t>(request.immediate);
  entry.form = SendForm::kPlain;
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

[[gnu::always_inline]] inline bool Requester::may_refill_plain(const QueuePair& pair, bool& is_ready) {
  if (!pair.usual.storing || !pair.answers.empty()) return false;
  is_ready = pair.usual.preparing;
  return is_ready ? is_single(pair, pair.send[pair.context.requester.sending]) : waits_for_answers(pair);
}

}  // namespace wharf::roce
