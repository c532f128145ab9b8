// SPDX-License-Identifier: Apache-2.0
// The target of messages: which jetty takes one, its receive entry, and where its data goes.
// [UB-Base 2.0.1 7.3; URMA API]
#include "engine/ub/engine_parts.h"
#include "engine/ub/responder.h"

namespace wharf::ub {

Jetty* Responder::target_jetty(std::uint32_t index, ContextKey& key) {
  InboundMessage& message = messages_[index];
  const wire::Mtetah& target = message.extension.mtetah;
  Initiator& initiator = parts_.initiator;
  std::uint32_t id = target.target_id;
  if (message.has_entry || message.dispatched) {
    id = message.entry_jetty;
  } else if (target.target_type == wire::TargetContextType::kJettyGroup) {
    // [URMA API] The target chooses, once for all packets of the message.
    const std::uint32_t* const member = parts_.groups.choose(
        id, target.hint, [&](std::uint32_t jetty) { return initiator.jetty(jetty).messages_in_work; });
    if (member == nullptr) return nullptr;
    id = message.entry_jetty = *member;
    message.dispatched = true;
    message.entry_generation = initiator.jetty(id).generation;
    ++initiator.jetty(id).messages_in_work;
  } else if (id < kFirstJettyId) {
    id = initiator.public_jetty(id);
    if (id == kNoSlot) return nullptr;
  }
  key = {ContextKind::kJetty, id - kFirstJettyId};
  return initiator.find(id);
}

/// The member of a group has dealt with the message.
void Responder::end_dispatch(std::uint32_t index) {
  InboundMessage& message = messages_[index];
  if (!message.dispatched) return;
  message.dispatched = false;
  Jetty* const member = parts_.initiator.find(message.entry_jetty);
  if (member != nullptr && member->generation == message.entry_generation) --member->messages_in_work;
}

/// Whether a message is one that such senders send.
bool Responder::comes_from(const InboundMessage& message, const Senders& senders) const {
  const TpChannel& channel = parts_.tp.channel(message.channel);
  const bool sequence = message.request.requester_type == wire::RequesterContextType::kSequence;
  const engine::ServiceMode mode = channel.kind == ChannelKind::kUnreliable ? engine::ServiceMode::kUnordered
                                   : channel.kind == ChannelKind::kFused
                                       ? engine::ServiceMode::kOrderedByTransport
                                   : sequence ? engine::ServiceMode::kOrderedByTarget
                                              : engine::ServiceMode::kOrderedByInitiator;
  if ((senders.modes & mask_of(mode)) == 0) return false;
  return !senders.alone || (senders.alone->host == channel.remote &&
                            senders.alone->jetty == (message.request.requester_id & 0xf'ffffU));
}

bool Responder::accept_jetty(std::uint32_t index, const Jetty* jetty) {
  const InboundMessage& message = messages_[index];
  if (jetty == nullptr || jetty->record.valid == 0 ||
      jetty->record.state != static_cast<std::uint8_t>(JettyState::kReady)) {
    ++parts_.counters.refused_jetty;
    refuse(index, wire::UbResponseInfo::kJettyState);
    return false;
  }
  if (jetty->senders != nullptr && !comes_from(message, *jetty->senders)) {
    ++parts_.counters.refused_jetty;
    refuse(index, wire::UbResponseInfo::kJettyState);
    return false;
  }
  const std::uint32_t value = message.request.token_value_present ? message.extension.token_value : 0;
  const bool compares =
      jetty->record.token != 0 || (jetty->senders != nullptr && jetty->senders->checks_token);
  // The value of a Write_imm belongs to its segment; a jetty's own is compared for Sends.
  if (is_two_sided(message.request.opcode) && compares && jetty->record.token != value) {
    ++parts_.counters.refused_access;
    refuse(index, wire::UbResponseInfo::kAccess);
    return false;
  }
  return true;
}

Responder::Step Responder::step_two_sided(TimePs now, std::uint32_t index, const wire::Packet& packet,
                                          std::uint32_t offset, std::uint32_t parked) {
  InboundMessage& message = messages_[index];
  ContextKey key;
  Jetty* jetty = target_jetty(index, key);
  if (jetty != nullptr && !parts_.contexts.acquire(key))
    return wait_for(now, key, index, packet, offset, parked);
  if (message.has_entry && entry_owner(message) == nullptr) {
    ++parts_.counters.refused_jetty;
    refuse(index, wire::UbResponseInfo::kJettyState);
    return Step::kDone;
  }
  if (!message.has_entry &&
      (!accept_jetty(index, jetty) || !take_entry(index, *jetty, key.index + kFirstJettyId))) {
    return Step::kDone;
  }
  if (!message.entry_fetched) {
    if (parked == kNoSlot) parked = park(now, packet);
    WHARF_CHECK(parked != kNoSlot);  // The TP layer took the packet because there was room.
    parked_[parked].offset = offset;
    message.waiting_packets.push(parked_, parked, &ParkedPacket::next);
    return Step::kWaits;
  }
  scatter(index, packet.payload, offset);
  return Step::kDone;
}

// Null: the queue was destroyed, and the memory of the entry is its owner's again.
const Jetty* Responder::entry_owner(const InboundMessage& message) const {
  const Jetty* owner = parts_.initiator.find(message.entry_jetty);
  return owner == nullptr || owner->generation != message.entry_generation ? nullptr : owner;
}

bool Responder::take_entry(std::uint32_t index, Jetty& jetty, std::uint32_t jetty_id) {
  InboundMessage& message = messages_[index];
  ReceiveEntry taken;
  if (!parts_.initiator.take_receive(jetty, jetty_id, taken)) {
    // [UB-Base 2.0.1 7.3] RNR. Choice: RSPINFO carries the code of the minimum RNR timer.
    // A datagram is lost, and nobody is told.
    if (parts_.tp.channel(message.channel).kind != ChannelKind::kUnreliable)
      ++parts_.counters.receiver_not_ready_sent;
    refuse(index, wire::UbResponseStatus::kReceiverNotReady, jetty.patience.min_rnr_timer);
    return false;
  }
  message.has_entry = true;
  message.entry = taken;
  message.entry_jetty = jetty_id;
  message.entry_generation = jetty.generation;
  if (jetty.config.receive_queue != engine::kOwn) {
    message.entry_fetched = true;  // Entries of a shared receive queue are fetched when they are announced.
    return true;
  }
  const std::uint64_t number = jetty.receive_head++;
  engine::Access& access =
      request(index, engine::AccessKind::kFetchReceiveEntry, AccessOwner::kInboundEntry, wire::kNoBuffer);
  access.queue = message.entry_jetty;
  access.length = kReceiveEntryBytes;
  access.space = jetty.config.space;
  access.address =
      jetty.config.receive_ring + (number & (jetty.config.receive_depth - 1)) * kReceiveEntryBytes;
  return true;
}

void Responder::entry_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  const std::uint32_t index = owner.object;
  messages_[index].entry_fetched = true;
  if (status != engine::AccessStatus::kDone) refuse_entry(index);
  if (entry_owner(messages_[index]) == nullptr) refuse(index, wire::UbResponseInfo::kJettyState);
  while (!messages_[index].waiting_packets.empty()) {
    const std::uint32_t parked = messages_[index].waiting_packets.pop(parked_, &ParkedPacket::next);
    if (messages_[index].status == wire::UbResponseStatus::kSuccess && !messages_[index].abandoned) {
      scatter(index, parked_[parked].packet.payload, parked_[parked].offset);
    }
    unpark(parked);
    settle_pending(now, index);
  }
  settle_pending(now, index);
}

/// Whether data of the message is still to be placed in `segment`, which its receive entry names.
bool Responder::goes_into(const InboundMessage& message, const SegmentRange& segment) {
  const bool placed = message.last_delivered && message.waiting_packets.empty();
  if (!message.has_entry || placed || message.entry.key == 0) return false;
  if (message.entry.key != ReceiveEntry::kManyKeys) return message.entry.key == segment.token_id;
  // Which of them each piece names is not kept: the segment is that of the pieces that lie in it.
  if (message.entry.space != segment.space) return false;
  for (std::uint8_t i = 0; i < message.entry.local_count; ++i) {
    if (segment.holds(message.entry.local.address[i])) return true;
  }
  return false;
}

void Responder::scatter(std::uint32_t index, const wire::Payload& data, std::uint32_t offset) {
  const InboundMessage& message = messages_[index];
  const std::uint32_t capacity = message.entry.capacity();
  if (offset > capacity || data.length > capacity - offset) {
    ++parts_.counters.refused_length;
    refuse(index, wire::UbResponseInfo::kLength);
    return;
  }
  for_each_part(message.entry.local, message.entry.local_count, offset, data.length,
                [&](std::uint64_t address, std::uint32_t length, std::uint32_t done) {
                  write(index, address, wire::slice(data, done, length), verbs::AccessOrder::kRelaxed,
                        message.entry.space);
                });
}

}  // namespace wharf::ub
