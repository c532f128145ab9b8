// SPDX-License-Identifier: Apache-2.0
// The short ways of answers: what they end at the initiator.
#include <cstddef>

#include "engine/ub/express.h"
#include "engine/ub/express_numbering.h"
#include "engine/ub/ub_engine.h"

namespace wharf::ub {
namespace {

// The state of a transaction that waits for its answer and has nothing unusual: opcode, state, status,
// answered, answer_status, plain_answer.
constexpr std::size_t kOutcomeAt = offsetof(Transaction, opcode);
constexpr Bytes kOutcomeMask{0, 255, 255, 255, 255, 0, 0, 0};
constexpr Bytes kOutcomeOpen{0, static_cast<std::uint8_t>(TransactionState::kAwaiting), 0, 0, 0, 0, 0, 0};
constexpr Bytes kPlainMask{0, 255, 255, 255, 255, 255, 0, 0};
constexpr Bytes kPlainOpen{0, static_cast<std::uint8_t>(TransactionState::kAwaiting), 0, 0,
                           0, static_cast<std::uint8_t>(PlainAnswer::kTaack),         0, 0};
static_assert(offsetof(Transaction, state) == kOutcomeAt + 1 &&
              offsetof(Transaction, status) == kOutcomeAt + 2 &&
              offsetof(Transaction, answered) == kOutcomeAt + 3 &&
              offsetof(Transaction, answer_status) == kOutcomeAt + 4 &&
              offsetof(Transaction, plain_answer) == kOutcomeAt + 5 && kOutcomeAt + 8 <= sizeof(Transaction));
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
  return ended.request == owner.head() && ended.plain_answer != PlainAnswer::kNone &&
         channel.requests_open < channel.requests_max;
}

/// Then it has ended. `kKind`: of the request. True: settle_end() has to see to what that means to others.
template <PlainKind kKind, bool kUsed>
[[gnu::always_inline]] inline bool Express::end_plain(Jetty& owner, std::uint32_t segment, Transaction& ended,
                                                      TpChannel& channel) {
  Initiator& initiator = parts().initiator;
  const std::uint32_t jetty_id = ended.jetty;
  const PostedRequest& posted = owner.requests.front();
  --channel.requests_open;
  if (owner.others > 0 || ended.tassn != owner.tassn_oldest) {
    owner.forget_segment(ended.tassn);
  } else {
    // All behind it are plain, too: of one segment each, and open.
    owner.place_of(ended.tassn) = kNoSlot;
    ++owner.tassn_oldest;
  }
  ++parts().counters.completions;
  const std::uint64_t number = owner.completions.end();
  PendingCompletion& completion = owner.completions.append_stale();  // The request has reserved it.
  completion.id = posted.id;
  completion.status = verbs::CompletionStatus::kSuccess;
  completion.kind = verbs::CompletionKind::kSend;
  completion.verb = posted.verb;
  completion.has_immediate = false;
  completion.length = posted.issued;
  completion.value = kKind == PlainKind::kAtomic ? posted.atomic_result() : std::array<std::uint64_t, 2>{};
  completion.operation = posted.operation;
  completion.remote_host = 0;
  completion.remote_queue = 0;
  completion.solicited = false;
  completion.visible = false;
  completion.drain = verbs::DrainMark::kNone;
  parts().accesses.request<kUsed>(
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
  if (kKind != PlainKind::kCarries) --owner.reads_unfinished;
  // As good as new.
  ++ended.generation;
  ended.packets_unconfirmed = 1;
  ended.answered = false;
  ended.plain_answer = PlainAnswer::kNone;
  if (kKind == PlainKind::kReads) ended.received = 0;
  initiator.transactions_.release(segment);
  initiator.segment_room_.give(owner.segments_held);
  owner.requests.pop_front();
  ++owner.report_next;
  return owner.others > 0;
}

/// What has ended may let the next completion be reported, or the next request go on. Only requests that are
/// not plain wait for that.
[[gnu::noinline]] void Express::settle_end(Jetty& owner, std::uint32_t jetty_id) {
  Initiator& initiator = parts().initiator;
  if (!owner.requests.empty() &&
      (owner.requests.front().done || !owner.requests.front().completion_in_order)) {
    initiator.report(owner, jetty_id);
  }
  initiator.want_advance(owner, jetty_id);
}

template <PlainKind kKind>
[[gnu::always_inline]] inline void Express::finish(TimePs now, Jetty& owner, std::uint32_t segment,
                                                   TpChannel& channel) {
  Transaction& ended = parts().initiator.transactions_[segment];
  const std::uint32_t jetty_id = ended.jetty;
  if (!may_finish(owner, ended, channel)) return parts().initiator.finish(now, segment);
  if (end_plain<kKind>(owner, segment, ended, channel)) settle_end(owner, jetty_id);
}

[[gnu::noinline]] void Express::settle_taack(TimePs now, std::uint32_t index, TpChannel& channel,
                                             Jetty& owner) {
  if (channel.unacknowledged < parts().config.acknowledge_every ? !channel.ack_delayed : !channel.ack_listed)
    settle_acceptance(now, index, channel);
  settle_end(owner, owner.record.jetty_id);
  parts().settle(now);
}

/// Takes the answer to a plain request that has been confirmed before, and that is the oldest.
[[gnu::noinline, gnu::flatten]] void Express::take_taack(TimePs now, std::uint32_t index, TpChannel& channel,
                                                         const wire::Packet& packet) {
  Initiator& initiator = parts().initiator;
  const wire::Atah& response = packet.ub.response;
  Jetty* const found = initiator.find(response.requester_id);
  if (found == nullptr || response.status != wire::UbResponseStatus::kSuccess || response.poison)
    return parts().receive(now, packet);
  Jetty& owner = *found;
  const std::uint32_t segment = owner.place_of(response.tassn);
  if (segment == kNoSlot) return parts().receive(now, packet);
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      !has_state(transaction, kOutcomeAt, kPlainMask, kPlainOpen) || transaction.packets_unconfirmed > 0 ||
      transaction.request != owner.head() || channel.requests_open >= channel.requests_max ||
      !parts().accesses.has_used()) {
    return take_answer(now, index, channel, packet);
  }
  initiator.stop_awaiting(transaction);
  end_plain<PlainKind::kCarries, true>(owner, segment, transaction, channel);
  if (accept(channel, packet) || owner.others > 0) return settle_taack(now, index, channel, owner);
}

void Initiator::executed(TimePs now, std::uint32_t index) { parts_.express().executed(now, index); }

[[gnu::noinline, gnu::flatten]] void Express::executed(TimePs now, std::uint32_t segment) {
  Initiator& initiator = parts().initiator;
  Transaction& transaction = initiator.transactions_[segment];
  Jetty& owner = initiator.jetty(transaction.jetty);
  TpChannel& channel = parts().tp.channel(transaction.channel);
  if (!parts().takes_short_ways() || !has_state(transaction, kOutcomeAt, kPlainMask, kPlainOpen) ||
      transaction.steps_deferred > 0 || transaction.request != owner.head() ||
      channel.requests_open >= channel.requests_max || !parts().accesses.has_used()) {
    transaction.answered = true;
    return initiator.try_finish(now, segment);
  }
  const std::uint32_t jetty_id = transaction.jetty;
  if (end_plain<PlainKind::kCarries, true>(owner, segment, transaction, channel)) settle_end(owner, jetty_id);
}

[[gnu::noinline, gnu::flatten]] void Express::take_answer(TimePs now, std::uint32_t index, TpChannel& channel,
                                                          const wire::Packet& packet) {
  Initiator& initiator = parts().initiator;
  const wire::Atah& response = packet.ub.response;
  Jetty* const owner = initiator.find(response.requester_id);
  if (owner == nullptr || response.status != wire::UbResponseStatus::kSuccess || response.poison)
    return parts().receive(now, packet);
  const std::uint32_t segment = owner->place_of(response.tassn);
  if (segment == kNoSlot) return parts().receive(now, packet);
  Transaction& transaction = initiator.transactions_[segment];
  if (transaction.channel != index || static_cast<std::uint16_t>(transaction.tassn) != response.tassn ||
      !awaits_usual_answer(transaction) || response.opcode != response_of(transaction.opcode)) {
    return parts().receive(now, packet);
  }
  const bool reads = response.opcode == wire::TaOpcode::kReadResponse;
  if (reads && (packet.payload.length != transaction.length ||
                owner->posted_request(transaction.request).local_count != 1)) {
    return parts().receive(now, packet);
  }
  const bool unconfirmed = transaction.packets_unconfirmed > 0;
  if (unconfirmed && transaction.first_number + transaction.packets_numbered > channel.send_cursor)
    return parts().receive(now, packet);
  transaction.answered = true;
  initiator.stop_awaiting(transaction);
  if (unconfirmed) confirm(now, index, channel, transaction);
  if (accept(channel, packet)) settle_acceptance(now, index, channel);
  if (response.opcode == wire::TaOpcode::kTaack) {
    finish<PlainKind::kCarries>(now, *owner, segment, channel);
  } else if (reads) {
    place_answer(segment, transaction, owner->posted_request(transaction.request), packet.payload);
  } else {
    initiator.place_atomic(segment, packet.payload);
    initiator.try_finish(now, segment);
  }
  parts().settle(now);
}

/// The packets of an answered request have been delivered.
[[gnu::noinline]] void Express::confirm(TimePs now, std::uint32_t index, TpChannel& channel,
                                        Transaction& transaction) {
  TpLayer& tp = parts().tp;
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
  parts().payloads.retain(data.buffer);
  parts().accesses.request({.owner = AccessOwner::kResponseWrite,
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
[[gnu::noinline, gnu::flatten]] void Express::answer_placed(TimePs now, AccessPort::Slot& access,
                                                            const engine::AccessResult& result) {
  AccessPort& port = parts().accesses;
  const PendingAccess& owner = access.owner();
  const std::uint32_t segment = owner.object;
  Initiator& initiator = parts().initiator;
  Transaction& transaction = initiator.transactions_[segment];
  if (!transaction.answered || transaction.writes_open != 1 || transaction.packets_unconfirmed > 0 ||
      transaction.steps_deferred > 0 || transaction.state != TransactionState::kAwaiting ||
      transaction.status != verbs::CompletionStatus::kSuccess ||
      transaction.answer_status != wire::UbResponseStatus::kSuccess) {
    return parts().access_done(now, access.id(), result);
  }
  const wire::BufferId buffer = owner.buffer;
  port.end(access);
  transaction.writes_open = 0;
  Jetty& asked_by = initiator.jetty(transaction.jetty);
  TpChannel& channel = parts().tp.channel(transaction.channel);
  if (transaction.opcode == wire::TaOpcode::kRead) {
    finish<PlainKind::kReads>(now, asked_by, segment, channel);
  } else {
    finish<PlainKind::kAtomic>(now, asked_by, segment, channel);
  }
  parts().payloads.release(buffer);
  parts().settle(now);
}

}  // namespace wharf::ub
