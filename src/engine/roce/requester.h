// SPDX-License-Identifier: Apache-2.0
// The requester half of a queue pair: cuts work requests into packets, fetches their payload, takes in
// answers and completes the requests in order. What happens when an answer does not come is in
// retransmission.h.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "engine/contract.h"
#include "engine/roce/engine_core.h"
#include "wire/packet.h"

namespace wharf::roce {

class Retransmission;

class Requester {
 public:
  Requester(EngineCore& core, Retransmission& retransmission)
      : core_(core), retransmission_(retransmission) {}

  static bool supports(verbs::Verb verb);

  /// What is wrong with `request` on `pair`, before anything is stored.
  engine::PostStatus check(const QueuePair& pair, const verbs::WorkRequest& request) const;
  /// Stores a request that check() accepts. The caller runs advance() afterwards.
  engine::PostStatus post(QueuePair& pair, const verbs::WorkRequest& request, engine::Submission submission);
  /// `count` entries of a ring of bytes were written.
  engine::PostStatus announce(QueuePair& pair, std::uint32_t count);

  /// Prepares as many packets as window, fences, credits and slots allow.
  void advance(TimePs now, QueuePair& pair) {
    if (pair.context.state != QueueState::kReadyToSend) return;
    if (pair.fetch_issued != pair.send.tail()) fetch_work(pair);
    if (pair.context.requester.sending != pair.send.tail() && !pair.transmit.full()) prepare(now, pair);
  }

  /// Takes the packet at the front, which ready_class() has found complete, and fills `out`; false when local
  /// memory failed to give its payload.
  bool transmit(TimePs now, QueuePair& pair, wire::Packet& out);
  /// The urgency list that the front packet belongs to, or kSendClassCount when none is complete.
  [[gnu::always_inline]] static std::size_t ready_class(const QueuePair& pair) {
    if (pair.transmit.empty() || pair.transmit.front().pending > 0) return kSendClassCount;
    const bool resent = wire::psn_before(pair.transmit.front().psn, pair.context.requester.highest_sent);
    return resent ? 1 : 2;
  }

  /// ACK, NAK, RNR NAK, READ response or atomic acknowledge.
  void receive(TimePs now, QueuePair& pair, const wire::Packet& packet);

  // Answers of the memory port.
  [[gnu::always_inline]] void payload_fetched(QueuePair& pair, const AccessSlot& slot,
                                              const engine::AccessResult& result) {
    if (!pair.transmit.contains(slot.position)) return;  // Sent again or given up since.
    TransmitEntry& packet = pair.transmit[slot.position];
    --packet.pending;
    if (result.status != engine::AccessStatus::kDone || result.data.length != slot.access.length)
        [[unlikely]] {
      packet.failed = true;
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
  void response_placed(QueuePair& pair, const AccessSlot& slot, const engine::AccessResult& result);
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
  [[gnu::always_inline]] bool prepare_plain(QueuePair& pair, SendEntry& entry);
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

  EngineCore& core_;
  Retransmission& retransmission_;
};

}  // namespace wharf::roce
