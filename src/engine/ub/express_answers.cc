// SPDX-License-Identifier: Apache-2.0
// The short ways of answers: what they end at the initiator.
#include <cstddef>

#include "engine/ub/express.h"
#include "engine/ub/express_numbering.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {
namespace {

// The state of a transaction that waits for its answer and has nothing unusual: opcode, state, status,
// answered, answer_status.
constexpr std::size_t kOutcomeAt = offsetof(Transaction, opcode);
constexpr Bytes kOutcomeMask{0, 255, 255, 255, 255, 0, 0, 0};
constexpr Bytes kOutcomeOpen{0, static_cast<std::uint8_t>(TransactionState::kAwaiting), 0, 0, 0, 0, 0, 0};
static_assert(offsetof(Transaction, state) == kOutcomeAt + 1 &&
              offsetof(Transaction, status) == kOutcomeAt + 2 &&
              offsetof(Transaction, answered) == kOutcomeAt + 3 &&
              offsetof(Transaction, answer_status) == kOutcomeAt + 4 &&
              kOutcomeAt + 8 <= sizeof(Transaction));
static_assert(static_cast<int>(verbs::CompletionStatus::kSuccess) == 0 &&
              static_cast<int>(wire::UbResponseStatus::kSuccess) == 0);

inline bool awaits_usual_answer(const Transaction& transaction) {
  return has_state(transaction, kOutcomeAt, kOutcomeMask, kOutcomeOpen) && transaction.received == 0 &&
         transaction.steps_deferred == 0;
}

}  // namespace

/// Whether a transaction of which nothing is open any more is the only one of the oldest request, a plain
/// one: the usual case of Initiator::finish().
[[gnu::always_inline]] inline bool Express::may_finish(const Jetty& owner, const Transaction& ended,
                                                       const TpChannel& channel) const {
  return ended.request == owner.head && owner.requests.front().plain && ended.counted &&
         channel.requests_open < channel.requests_max;
}

/// Then it has ended. True: settle_end() has to see to what that means to others.
template <bool kUsed>
[[gnu::always_inline]] inline bool Express::end_plain(Jetty& owner, std::uint32_t segment, Transaction& ended,
                                                      TpChannel& channel) {
  Initiator& initiator = parts_.initiator;
  const std::uint32_t jetty_id = ended.jetty;
  const PostedRequest& posted = owner.requests.front();
  --channel.requests_open;
  owner.forget_segment(ended.tassn);
  ++parts_.counters.completions;
  const std::uint64_t number = owner.completion_head + owner.completions.size();
  parts_.accesses.request<kUsed>(
      {.owner = AccessOwner::kCompletion,
       .object = jetty_id,
       .generation = owner.generation,
       .detail = number},
      {.kind = engine::AccessKind::kWriteCompletion,
       .order = verbs::AccessOrder::kRelease,  // After the data that it announces.
       .queue = jetty_id,
       .length = kCompletionBytes,
       .space = owner.config.space,
       .stream = jetty_id,
       .address = owner.config.completion_ring + owner.completion_place * kCompletionBytes,
       .operation = posted.operation});
  if (++owner.completion_place == owner.config.send_depth + owner.config.receive_depth)
    owner.completion_place = 0;
  PendingCompletion& completion = owner.completions.push_stale();
  completion.id = posted.id;
  completion.operation = posted.operation;
  completion.value = {};
  completion.length = posted.issued;
  completion.remote_host = 0;
  completion.remote_queue = 0;
  completion.status = verbs::CompletionStatus::kSuccess;
  completion.verb = posted.verb;
  completion.kind = verbs::CompletionKind::kSend;
  completion.has_immediate = false;
  completion.solicited = false;
  completion.visible = false;
  if (reads_or_atomic(posted.verb)) {
    --owner.reads_unfinished;
    if (verbs::is_atomic(posted.verb)) completion.value = posted.atomic_result();
  }
  ++ended.generation;
  initiator.transactions_.release(segment);
  initiator.segment_room_.give(owner.segments_held);
  owner.requests.pop_front();
  ++owner.head;
  ++owner.report_next;
  if (!owner.quiet) return true;
  return !owner.requests.empty() &&
         (owner.requests.front().done || !owner.requests.front().completion_in_order);
}

/// What has ended may let the next completion be reported, or the next request go on.
[[gnu::noinline]] void Express::settle_end(Jetty& owner, std::uint32_t jetty_id) {
  Initiator& initiator = parts_.initiator;
  if (!owner.requests.empty() &&
      (owner.requests.front().done || !owner.requests.front().completion_in_order)) {
    initiator.report(owner, jetty_id);
  }
  initiator.want_advance(owner, jetty_id);
}

[[gnu::always_inline]] inline void Express::finish(TimePs now, Jetty& owner, std::uint32_t segment,
                                                   TpChannel& channel) {
  Transaction& ended = parts_.initiator.transactions_[segment];
  const std::uint32_t jetty_id = ended.jetty;
  if (!may_finish(owner, ended, channel)) return parts_.initiator.finish(now, segment);
  if (end_plain(owner, segment, ended, channel)) settle_end(owner, jetty_id);
}

[[gnu::noinline]] void Express::settle_taack(TimePs now, std::uint32_t index, TpChannel& channel,
                                             Jetty& owner) {
  if (channel.unacknowledged < parts_.config.acknowledge_every ? !channel.ack_delayed : !channel.ack_listed)
    settle_acceptance(now, index, channel);
  settle_end(owner, owner.record.jetty_id);
  parts_.settle(now);
}

/// Takes the answer to a plain request that has been confirmed before, and that is the oldest.
[[gnu::noinline, gnu::flatten]] void Express::take_taack(TimePs now, std::uint32_t index, TpChannel& channel,
                                                         const wire::Packet& packet) {
  Initiator& initiator = parts_.initiator;
  const wire::Atah& response = packet.ub.response;
  Jetty* const found = initiator.find(response.requester_id);
  if (found == nullptr || response.status != wire::UbResponseStatus::kSuccess || response.poison)
    return parts_.receive(now, packet);
  Jetty& owner = *found;
  const std::uint32_t segment =
      owner.transactions[response.tassn & (parts_.config.transactions_per_jetty - 1)];
  if (segment == kNoSlot) return parts_.receive(now, packet);
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      !awaits_usual_answer(transaction) || response_of(transaction.opcode) != wire::TaOpcode::kTaack ||
      transaction.packets_unconfirmed > 0 || !may_finish(owner, transaction, channel) ||
      !parts_.accesses.has_used()) {
    return take_answer(now, index, channel, packet);
  }
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  bool unsettled = accept(channel, packet);
  unsettled |= end_plain<true>(owner, segment, transaction, channel);
  if (unsettled || (parts_.attention & kUnsettled) != 0) return settle_taack(now, index, channel, owner);
}

[[gnu::noinline, gnu::flatten]] void Express::take_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                                          const wire::Packet& packet) {
  Initiator& initiator = parts_.initiator;
  const wire::Atah& response = packet.ub.response;
  Jetty* const owner = initiator.find(response.requester_id);
  if (owner == nullptr || response.status != wire::UbResponseStatus::kSuccess || response.poison)
    return parts_.receive(now, packet);
  const std::uint32_t segment =
      owner->transactions[response.tassn & (parts_.config.transactions_per_jetty - 1)];
  if (segment == kNoSlot) return parts_.receive(now, packet);
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      !awaits_usual_answer(transaction) || response.opcode != response_of(transaction.opcode)) {
    return parts_.receive(now, packet);
  }
  const bool reads = response.opcode == wire::TaOpcode::kReadResponse;
  if (reads && (packet.payload.length != transaction.length ||
                owner->posted_request(transaction.request).local_count != 1)) {
    return parts_.receive(now, packet);
  }
  const bool unconfirmed = transaction.packets_unconfirmed > 0;
  if (unconfirmed && transaction.first_number + transaction.packets_numbered > channel.send_cursor)
    return parts_.receive(now, packet);
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  if (unconfirmed) confirm(now, index, channel, transaction);
  if (accept(channel, packet)) settle_acceptance(now, index, channel);
  if (response.opcode == wire::TaOpcode::kTaack) {
    finish(now, *owner, segment, channel);
  } else if (reads) {
    place_answer(segment, transaction, owner->posted_request(transaction.request), packet.payload);
  } else {
    initiator.place_atomic(segment, packet.payload);
    initiator.try_finish(now, segment);
  }
  parts_.settle(now);
}

/// The packets of an answered request have been delivered.
[[gnu::noinline]] void Express::confirm(TimePs now, std::uint32_t index, TpChannel& channel,
                                        Transaction& transaction) {
  TpLayer& tp = parts_.tp;
  const std::uint32_t first = transaction.first_packet;
  if (transaction.packets_numbered != 1 || first != channel.send.head() ||
      tp.packets_[first].state != PacketState::kSent || tp.packets_[first].resend) {
    ++transaction.steps_deferred;  // Not to be finished before this packet has been worked off.
    tp.confirm_delivered(now, index, transaction);
    --transaction.steps_deferred;
    return;
  }
  transaction.packets_unconfirmed = 0;
  tp.packets_[first].state = PacketState::kFree;
  channel.send.confirm_head(tp.packets_, [&](std::uint32_t place) {
    tp.packets_.release(place);
    tp.packet_room_.give(channel.tx_held);
  });
  tp.progressed(now, index);
}

[[gnu::always_inline]] inline void Express::place_answer(std::uint32_t segment, Transaction& transaction,
                                                         const PostedRequest& posted,
                                                         const wire::Payload& data) {
  transaction.received = data.length;
  transaction.writes_open = 1;
  parts_.payloads.retain(data.buffer);
  parts_.accesses.request({.owner = AccessOwner::kResponseWrite,
                           .object = segment,
                           .generation = transaction.generation,
                           .buffer = data.buffer},
                          {.kind = engine::AccessKind::kWrite,
                           .queue = transaction.jetty,
                           .length = data.length,
                           .space = posted.space,
                           .stream = transaction.jetty,
                           .address = posted.local.address[0] + transaction.message_offset,
                           .operation = posted.operation},
                          data);
}

/// What an answer brought is placed.
[[gnu::noinline, gnu::flatten]] void Express::answer_placed(TimePs now, engine::AccessId access,
                                                            const engine::AccessResult& result) {
  AccessPort& port = parts_.accesses;
  const PendingAccess& owner = port.owner(access);
  const std::uint32_t segment = owner.object;
  Initiator& initiator = parts_.initiator;
  Transaction& transaction = initiator.transactions_[segment];
  if (!transaction.answered || transaction.writes_open != 1 || transaction.packets_unconfirmed > 0 ||
      transaction.steps_deferred > 0 || transaction.state != TransactionState::kAwaiting ||
      transaction.status != verbs::CompletionStatus::kSuccess ||
      transaction.answer_status != wire::UbResponseStatus::kSuccess) {
    return parts_.access_done(now, access, result);
  }
  const wire::BufferId buffer = owner.buffer;
  port.end(access);
  transaction.writes_open = 0;
  finish(now, initiator.jetty(transaction.jetty), segment, parts_.tp.channel(transaction.channel));
  parts_.payloads.release(buffer);
  parts_.settle(now);
}

}  // namespace wharf::ub
