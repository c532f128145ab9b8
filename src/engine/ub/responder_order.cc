// SPDX-License-Identifier: Apache-2.0
// The target's part in the order of requests: which of them wait here, for how long, and when the
// acknowledgement of a fused channel may say that one has been executed. [UB-Base 2.0.1 7.4, service modes
// ROT and ROL]
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/vector_room.h"
#include "engine/ub/engine_parts.h"
#include "engine/ub/responder.h"

namespace wharf::ub {
namespace {

constexpr std::uint64_t sequence_key(wire::HostAddress host, std::uint32_t jetty) {
  return std::uint64_t{host.number} << 20U | jetty;
}

/// Bits 0 and 1 of ODR; 3 is reserved. Choice: it is taken for no tag.
verbs::OrderTag tag_of(const wire::Btah& request) {
  const unsigned tag = request.order & 3U;
  return tag == 3 ? verbs::OrderTag::kNone : static_cast<verbs::OrderTag>(tag);
}

}  // namespace

// --- Contexts

Result<void> Responder::bind_sequence(wire::HostAddress host, std::uint32_t jetty, SequenceLife life) {
  std::uint32_t at = find_sequence(host, jetty);
  // Another queue of this host connects to it, or the same one once more: its initiator counts on.
  if (at != kNoSlot && sequences_[at]->life == life) return {};
  if (at == kNoSlot) {
    at = free_sequence_;
    sequence_of_host_.reserve(sequence_of_host_.size() + 1);
    if (at == kNoSlot) {
      at = static_cast<std::uint32_t>(sequences_.size());
      auto made = std::make_unique<SequenceContext>();
      make_room_for_one(sequences_);
      turns_.reserve(at + 1);
      sequence_of_.reserve(at + 1);
      sequences_.push_back(std::move(made));
    } else {
      free_sequence_ = sequences_[at]->next;
    }
    sequence_of_.insert(sequence_key(host, jetty), at);
    sequences_[at]->next = kNoSlot;
    if (std::uint32_t* const first = sequence_of_host_.find(host.number)) {
      sequences_[at]->next = std::exchange(*first, at);
    } else {
      sequence_of_host_.insert(host.number, at);
    }
  }
  SequenceContext& bound = *sequences_[at];
  bound.requester = jetty;
  if (!bound.waiting.empty()) {
    return input_error(
        fmt::format("jetty {} of host {}: its requests wait here for earlier ones, expected none "
                    "when it connects anew",
                    jetty, host.number));
  }
  // What is left of its earlier life, being answered, takes no part in the order any more.
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (messages_[index].in_use() && messages_[index].sequence == at) messages_[index].sequence = kNoSlot;
  }
  bound.order = OrderTracker{};
  bound.broken = false;
  bound.life = life;
  return {};
}

void Responder::forget_sequences(wire::HostAddress host) {
  found_sequence_key_ = kNoSequence;
  const std::uint32_t* const first = sequence_of_host_.find(host.number);
  if (first == nullptr) return;
  for (std::uint32_t at = *first; at != kNoSlot;) {
    SequenceContext& context = *sequences_[at];
    for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
      if (messages_[index].in_use() && messages_[index].sequence == at) messages_[index].sequence = kNoSlot;
    }
    sequence_of_.erase(sequence_key(host, context.requester));
    const std::uint32_t next = std::exchange(context.next, free_sequence_);
    free_sequence_ = std::exchange(at, next);
  }
  sequence_of_host_.erase(host.number);
}

Result<void> Responder::forget_sequence(wire::HostAddress host, std::uint32_t jetty) {
  const std::uint32_t at = find_sequence(host, jetty);
  if (at == kNoSlot) return {};
  SequenceContext& context = *sequences_[at];
  if (!context.waiting.empty()) {
    return input_error(fmt::format(
        "jetty {} of host {}: its requests wait here for earlier ones, expected none", jetty, host.number));
  }
  found_sequence_key_ = kNoSequence;
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (messages_[index].in_use() && messages_[index].sequence == at) messages_[index].sequence = kNoSlot;
  }
  sequence_of_.erase(sequence_key(host, jetty));
  std::uint32_t* const first = sequence_of_host_.find(host.number);
  WHARF_CHECK(first != nullptr);
  if (*first == at && context.next == kNoSlot) {
    sequence_of_host_.erase(host.number);
  } else {
    std::uint32_t* link = first;
    while (*link != at) link = &sequences_[*link]->next;
    *link = context.next;
  }
  context.next = std::exchange(free_sequence_, at);
  return {};
}

std::uint32_t Responder::find_sequence(wire::HostAddress host, std::uint32_t jetty) const {
  const std::uint64_t key = sequence_key(host, jetty);
  if (key == found_sequence_key_) return found_sequence_;
  const std::uint32_t* found = sequence_of_.find(key);
  if (found == nullptr) return kNoSlot;
  found_sequence_key_ = key;
  found_sequence_ = *found;
  return found_sequence_;
}

bool Responder::waits_for_turn(const TpChannel& channel, const wire::Btah& request) {
  return tag_of(request) == verbs::OrderTag::kStrong &&
         (channel.kind == ChannelKind::kFused ||
          request.requester_type == wire::RequesterContextType::kSequence);
}

// --- A request and its turn

/// The first packet of a message of a general channel has come.
void Responder::enter_sequence(std::uint32_t index, const TpChannel& channel, const wire::Btah& request) {
  if (channel.kind == ChannelKind::kCompact) return enter_compact(index, request);
  if (channel.kind == ChannelKind::kUnreliable ||
      (channel.kind != ChannelKind::kFused &&
       request.requester_type != wire::RequesterContextType::kSequence)) {
    return;
  }
  InboundMessage& message = messages_[index];
  message.answered_elsewhere = channel.kind == ChannelKind::kFused;
  const std::uint32_t at = find_sequence(channel.remote, request.requester_id);
  if (at == kNoSlot) {
    ++parts_.counters.refused_jetty;
    refuse(index, wire::UbResponseInfo::kJettyState);
    return;
  }
  SequenceContext& context = *sequences_[at];
  const bool fills = request.opcode == wire::TaOpcode::kDisconnectScid;
  switch (context.order.arrive(request.tassn, fills ? verbs::OrderTag::kRelaxed : tag_of(request))) {
    case OrderTracker::Arrival::kExecute:
      message.sequence = at;
      want_turn(at);  // One without a tag may have been all that another waited for.
      return;
    case OrderTracker::Arrival::kWait:
      message.sequence = at;
      // What waits takes at most half of the host's places, so that what it waits for finds one. Choice: on a
      // fused channel nothing waits for what has yet to be sent again: it would hold back the
      // acknowledgements, and then the numbers, that the other one needs.
      if (2 * (channel.messages_held + channel.messages_early) > message_room_.most() ||
          (channel.kind == ChannelKind::kFused && !message.early &&
           !context.order.arrived_before(request.tassn))) {
        context.order.give_up_turn(request.tassn);
        ++parts_.counters.receiver_not_ready_sent;
        refuse(index, wire::UbResponseStatus::kReceiverNotReady, parts_.config.min_rnr_timer);
        return;
      }
      message.waits_turn = true;
      ++parts_.counters.turns_waited;
      context.waiting.push(messages_, index, &InboundMessage::next);
      return;
    case OrderTracker::Arrival::kSeen:
    case OrderTracker::Arrival::kTooFar:
      ++parts_.counters.refused_sequence;
      refuse(index, wire::UbResponseInfo::kJettyState);
      return;
  }
}

// [UB-Base 2.0.1 6.1, 7.2] TASSNs of CTP count the requests of a pair of entities, so none of them can be the
// number of a sequence context.
void Responder::enter_compact(std::uint32_t index, const wire::Btah& request) {
  messages_[index].silent = request.no_acknowledge;
  if (request.requester_type != wire::RequesterContextType::kSequence) return;
  ++parts_.counters.refused_sequence;
  refuse(index, wire::UbResponseInfo::kJettyState);
}

/// A packet of a message whose turn has not come. It waits for others of its host, who may never send them:
/// so it takes one of the places of that host, and beyond those the initiator is told to come again.
void Responder::wait_for_turn(TimePs now, std::uint32_t index, const wire::Packet& packet,
                              std::uint32_t offset, std::uint32_t parked) {
  InboundMessage& message = messages_[index];
  // Now that its own turn on the channel has come, everything before it has been there.
  const bool hopeless = parts_.tp.channel(message.channel).kind == ChannelKind::kFused &&
                        !sequences_[message.sequence]->order.arrived_before(message.request.tassn);
  if (!hopeless && parked == kNoSlot) parked = park_ahead(now, message.channel, packet);
  if (hopeless || parked == kNoSlot) {
    ++parts_.counters.receiver_not_ready_sent;
    refuse(index, wire::UbResponseStatus::kReceiverNotReady, parts_.config.min_rnr_timer);
    drop_waiting(index);
    if (parked != kNoSlot) unpark(parked);
    settle_pending(now, index);
    return;
  }
  parked_[parked].offset = offset;
  messages_[index].waiting_packets.push(parked_, parked, &ParkedPacket::next);
}

/// The message will not be executed: it waits no more, and its packets are let go. Its own part of `pending`
/// stays with the caller.
void Responder::drop_waiting(std::uint32_t index) {
  InboundMessage& message = messages_[index];
  SequenceContext& context = *sequences_[message.sequence];
  message.waits_turn = false;
  context.order.give_up_turn(message.request.tassn);
  context.waiting.remove(messages_, index, &InboundMessage::next);
  while (!message.waiting_packets.empty()) {
    unpark(message.waiting_packets.pop(parked_, &ParkedPacket::next));
    --message.pending;
  }
}

/// It has been executed or refused; not `executed`: it will come again, or its context has ended.
void Responder::leave_sequence(std::uint32_t index, bool executed) {
  InboundMessage& message = messages_[index];
  const std::uint32_t at = message.sequence;
  message.sequence = kNoSlot;
  if (executed) {
    sequences_[at]->order.executed(message.request.tassn);
    want_turn(at);
    return;
  }
  sequences_[at]->order.retracted(message.request.tassn);
  // Those that wait for it come again with it; one that arrives later finds out for itself.
  if (parts_.tp.channel(message.channel).kind != ChannelKind::kFused || sequences_[at]->waiting.empty())
    return;
  sequences_[at]->broken = true;
  want_turn(at);
}

void Responder::want_turn(std::uint32_t sequence) {
  SequenceContext& context = *sequences_[sequence];
  if (context.listed || context.waiting.empty()) return;
  context.listed = true;
  turns_.push_back(sequence);
  parts_.attention |= kUnsettled;
}

void Responder::settle_turns(TimePs now) {
  while (!turns_.empty()) {
    const std::uint32_t at = turns_.front();
    turns_.pop_front();
    SequenceContext& context = *sequences_[at];
    context.listed = false;
    if (std::exchange(context.broken, false)) {
      while (!context.waiting.empty()) {
        const std::uint32_t index = context.waiting.head;
        ++parts_.counters.receiver_not_ready_sent;
        refuse(index, wire::UbResponseStatus::kReceiverNotReady, parts_.config.min_rnr_timer);
        ++messages_[index].pending;
        drop_waiting(index);
        settle_pending(now, index);
      }
    }
    while (const std::optional<std::uint16_t> turn = context.order.next_turn()) {
      std::uint32_t index = context.waiting.head;
      while (index != kNoSlot && messages_[index].request.tassn != *turn) index = messages_[index].next;
      WHARF_CHECK(index != kNoSlot);
      context.waiting.remove(messages_, index, &InboundMessage::next);
      InboundMessage& message = messages_[index];
      message.waits_turn = false;
      IndexList packets = std::exchange(message.waiting_packets, IndexList{});
      while (!packets.empty()) {
        const std::uint32_t parked = packets.pop(parked_, &ParkedPacket::next);
        const wire::Packet packet = parked_[parked].packet;
        parts_.span(packet.operation, trace::Stage::kOrderWait, parked_[parked].since, now);
        step(now, index, packet, parked_[parked].offset, parked);
      }
    }
  }
}

// --- Fused acknowledgements

/// The last packet of the message was delivered, under that number.
void Responder::fuse(std::uint32_t index, std::uint64_t number) {
  InboundMessage& message = messages_[index];
  TpChannel& channel = parts_.tp.channel(message.channel);
  if (channel.fused == nullptr) return;
  message.fused_open = false;
  if (response_of(message.request.opcode) != wire::TaOpcode::kTaack) return;
  message.fused_open = true;
  message.fused_number = static_cast<std::uint32_t>(number);
  channel.fused->open(number);
}

/// Every packet of its answer is confirmed.
void Responder::release_confirmed(std::uint32_t index) {
  const InboundMessage& message = messages_[index];
  TpChannel& channel = parts_.tp.channel(message.channel);
  if (channel.fused != nullptr && message.fused_open && !message.abandoned) {
    channel.fused->close(message.fused_number);
    parts_.tp.refusal_confirmed(message);
  }
  release(index);
}

}  // namespace wharf::ub
