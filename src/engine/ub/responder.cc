// SPDX-License-Identifier: Apache-2.0
// The target, from a request's packets to its execution. [UB-Base 2.0.1 7; URMA API, access rules of
// segments]
#include "engine/ub/responder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "engine/ub/byte_enables.h"
#include "engine/ub/engine_parts.h"

namespace wharf::ub {
namespace {

Right right_for(wire::TaOpcode opcode) {
  if (wire::is_atomic(opcode)) return Right::kAtomic;
  return opcode == wire::TaOpcode::kRead ? Right::kRead : Right::kWrite;
}

bool executable(wire::TaOpcode opcode) {
  return opcode <= wire::TaOpcode::kAtomicFetchXor || opcode == wire::TaOpcode::kWriteback ||
         has_byte_enables(opcode);
}

constexpr std::uint64_t tpmsn_key(std::uint32_t channel, wire::Psn tpmsn) {
  return std::uint64_t{channel} << 24U | tpmsn;
}

}  // namespace

// --- Parking
// -------------------------------------------------------------------------------------------------------

Responder::Responder(EngineParts& parts)
    : parts_(parts),
      message_room_(parts.config.inbound_messages, kMessageShare, kMessagesCommon),
      ahead_room_(SharedRoom::with_shares_inside(parts.config.parked_packets, kParkedShare, kParkedCommon)),
      parked_packets_(parts.config.parked_packets) {
  make_room(0);
}

void Responder::make_room(std::uint32_t channels) {
  grow_gently(messages_, message_room_.fit(channels));
  grow_gently(parked_, parked_packets_ + ahead_room_.fit(channels));
  by_tpmsn_.reserve(messages_.capacity());
}

bool Responder::is_short(std::uint32_t channel_index, bool ahead) const {
  const TpChannel& channel = parts_.tp.channel(channel_index);
  const std::uint32_t held = channel.messages_held;
  const std::uint32_t early = channel.messages_early;
  const bool message = ahead ? message_room_.has_common(held, early) : message_room_.has(held, early);
  return (!message && held + early < message_room_.most()) ||
         (ahead && ahead_room_.is_short(channel.parked_ahead));
}

std::uint32_t Responder::keep_packet(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  const std::uint32_t index = parked_.acquire();
  if (index == kNoSlot) return kNoSlot;
  ParkedPacket& kept = parked_[index];
  copy_whole(kept.packet, packet);
  kept.since = now;
  kept.channel = channel;
  kept.message = kNoSlot;
  kept.offset = 0;
  parts_.payloads.retain(packet.payload.buffer);
  return index;
}

std::uint32_t Responder::park(TimePs now, const wire::Packet& packet) {
  if (!can_park()) return kNoSlot;
  const std::uint32_t index = keep_packet(now, kNoSlot, packet);
  if (index != kNoSlot) ++parked_common_;
  return index;
}

std::uint32_t Responder::park_ahead(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  std::uint32_t& held = parts_.tp.channel(channel).parked_ahead;
  if (!ahead_room_.has(held)) return kNoSlot;
  const std::uint32_t index = keep_packet(now, channel, packet);
  WHARF_CHECK(index != kNoSlot);
  ahead_room_.take(held);
  return index;
}

void Responder::unpark(std::uint32_t index) {
  const wire::BufferId buffer = parked_[index].packet.payload.buffer;
  leave_place(index);
  parts_.payloads.release(buffer);
}

wire::Packet Responder::take_parked(std::uint32_t index) {
  const wire::Packet packet = parked_[index].packet;
  leave_place(index);
  return packet;
}

void Responder::leave_place(std::uint32_t index) {
  const std::uint32_t channel = parked_[index].channel;
  if (channel == kNoSlot) {
    --parked_common_;
  } else {
    ahead_room_.give(parts_.tp.channel(channel).parked_ahead);
  }
  parked_.release(index);
}

// --- Messages
// ------------------------------------------------------------------------------------------------------

bool Responder::has_room(std::uint32_t channel_index, const wire::Packet& packet, bool ahead) const {
  if (parts_.accesses.unanswered() >= kUnansweredAccessesMax) return false;
  const TpChannel& channel = parts_.tp.channel(channel_index);
  // What comes early never takes the place that the next packet in order needs.
  if (ahead ? message_room_.has_common(channel.messages_held, channel.messages_early)
            : message_room_.has(channel.messages_held, channel.messages_early)) {
    return true;
  }
  return channel.messages_open > 0 &&
         by_tpmsn_.find(tpmsn_key(channel_index, packet.ub.rtph.tpmsn)) != nullptr;
}

std::uint32_t Responder::open_message(std::uint32_t channel_index, const wire::Packet& packet, bool listed,
                                      bool early) {
  TpChannel& channel = parts_.tp.channel(channel_index);
  const wire::Psn tpmsn = packet.ub.rtph.tpmsn;
  if (channel.messages_open > 0) {
    const std::uint32_t* known = by_tpmsn_.find(tpmsn_key(channel_index, tpmsn));
    if (known != nullptr) return *known;
  }
  const std::uint32_t index = messages_.acquire();
  WHARF_CHECK(index != kNoSlot);  // The TP layer took the packet because there was room.
  if (early) {
    message_room_.take_common(channel.messages_held, channel.messages_early);
  } else {
    message_room_.take(channel.messages_held);
  }
  InboundMessage& made = messages_[index];
  ++made.generation;
  made.early = early;
  made.channel = channel_index;
  made.tpmsn = tpmsn;
  made.request.take(packet.ub.request);
  made.extension = packet.ub.extension;
  made.operation = packet.operation;
  if (channel.general) [[unlikely]]
    enter_sequence(index, channel, packet.ub.request);
  if (listed) {
    made.listed = true;
    by_tpmsn_.insert(tpmsn_key(channel_index, tpmsn), index);
    ++channel.messages_open;
  }
  return index;
}

void Responder::unlist(std::uint32_t index) {
  InboundMessage& message = messages_[index];
  if (!message.listed) return;
  message.listed = false;
  by_tpmsn_.erase(tpmsn_key(message.channel, message.tpmsn));
  --parts_.tp.channel(message.channel).messages_open;
}

void Responder::claim(std::uint32_t channel, std::uint32_t parked) {
  const std::uint32_t index = open_message(channel, parked_[parked].packet, true, true);
  ++messages_[index].pending;  // The message outlives whatever other packets say of it.
  parked_[parked].message = index;
}

void Responder::unclaim(TimePs now, std::uint32_t parked) {
  const std::uint32_t index = parked_[parked].message;
  unpark(parked);
  if (index != kNoSlot) cancel_ahead(now, index);
}

void Responder::receive(TimePs now, std::uint32_t channel, const wire::Packet& packet, std::uint32_t parked,
                        std::uint64_t number) {
  const bool last = packet.ub.rtph.last;
  const bool claimed = parked != kNoSlot && parked_[parked].message != kNoSlot;
  const std::uint32_t index = claimed ? parked_[parked].message : open_message(channel, packet, !last, false);
  InboundMessage& message = messages_[index];
  if (!claimed) ++message.pending;
  if (last) end_message(index, number);
  const std::uint32_t offset = message.received;
  message.received += packet.payload.length;
  step(now, index, packet, offset, parked);
}

void Responder::put_off(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  const std::uint32_t index = open_message(channel, packet, false, false);
  ++messages_[index].pending;
  end_message(index, 0);
  ++parts_.counters.receiver_not_ready_sent;
  refuse(index, wire::UbResponseStatus::kReceiverNotReady, parts_.config.min_rnr_timer);
  settle_pending(now, index);
}

std::uint32_t Responder::receive_ahead(TimePs now, std::uint32_t channel, const wire::Packet& packet) {
  const std::uint32_t index = open_message(channel, packet, true, true);
  // Once for the step, once until its turn comes: the message outlives whatever the reorder window says of
  // it.
  messages_[index].pending += 2;
  messages_[index].received += packet.payload.length;
  step(now, index, packet, 0, kNoSlot);
  return index;
}

void Responder::deliver_ahead(TimePs now, std::uint32_t index, bool last, std::uint64_t number) {
  if (last) end_message(index, number);
  settle_pending(now, index);
}

void Responder::end_message(std::uint32_t index, std::uint64_t number) {
  InboundMessage& message = messages_[index];
  if (message.last_delivered) [[unlikely]] {  // It had ended: two packets say that they are the last.
    ++parts_.counters.dropped_malformed;
    refuse(index, wire::UbResponseInfo::kLength);
    return;
  }
  message.last_delivered = true;
  unlist(index);
  fuse(index, number);
}

void Responder::cancel_ahead(TimePs now, std::uint32_t index) {
  messages_[index].abandoned = true;
  if (messages_[index].waits_turn) drop_waiting(index);  // A strong one that came behind the gap.
  settle_pending(now, index);
}

void Responder::step(TimePs now, std::uint32_t index, const wire::Packet& packet, std::uint32_t offset,
                     std::uint32_t parked) {
  InboundMessage& message = messages_[index];
  const wire::Btah& header = packet.ub.request;
  Step result = Step::kDone;
  if (header.opcode != message.request.opcode || header.tassn != message.request.tassn ||
      header.requester_id != message.request.requester_id) {
    ++parts_.counters.dropped_malformed;
    refuse(index, wire::UbResponseInfo::kUnsupportedOpcode);
  }
  if (message.status == wire::UbResponseStatus::kSuccess && !message.abandoned) {
    if (message.waits_turn) {
      wait_for_turn(now, index, packet, offset, parked);
      return;
    }
    if (header.poison) {
      refuse(index, wire::UbResponseInfo::kPoison);
    } else if (header.opcode == wire::TaOpcode::kPrefetch) {
      // A hint that never fails. Choice: nothing is warmed up.
    } else if (header.opcode == wire::TaOpcode::kDisconnectScid && message.sequence != kNoSlot) {
      // Choice: it fills a number in a context's order (Initiator::disconnect_sequence), and means nothing
      // else.
    } else if (!executable(header.opcode)) {
      ++parts_.counters.refused_opcode;
      refuse(index, wire::UbResponseInfo::kUnsupportedOpcode);
    } else if (!packet.ub.rtph.last && (wire::ta_layout(header.opcode) & wire::kTaPayload) == 0) {
      // What carries no data is one packet: another could be checked against one segment and executed in the
      // address space of the other, or be executed twice.
      ++parts_.counters.refused_length;
      refuse(index, wire::UbResponseInfo::kLength);
    } else if (is_two_sided(header.opcode)) {
      result = step_two_sided(now, index, packet, offset, parked);
    } else {
      result = step_one_sided(now, index, packet, parked);
    }
  }
  if (result == Step::kWaits) return;
  if (parked != kNoSlot) unpark(parked);
  settle_pending(now, index);
}

Responder::Step Responder::wait_for(TimePs now, ContextKey key, std::uint32_t index,
                                    const wire::Packet& packet, std::uint32_t offset, std::uint32_t parked) {
  if (parked == kNoSlot) parked = park(now, packet);
  WHARF_CHECK(parked != kNoSlot);  // The TP layer took the packet because there was room.
  parked_[parked].offset = offset;
  parts_.contexts.defer(key,
                        {.step = DeferredStep::kInboundPacket,
                         .object = index,
                         .generation = messages_[index].generation,
                         .packet = parked},
                        packet.operation, true);
  return Step::kWaits;
}

void Responder::resume_packet(TimePs now, std::uint32_t index, std::uint32_t generation,
                              std::uint32_t parked) {
  WHARF_CHECK(messages_[index].in_use() && messages_[index].generation == generation);
  const wire::Packet packet = parked_[parked].packet;
  step(now, index, packet, parked_[parked].offset, parked);
}

// --- One-sided requests
// --------------------------------------------------------------------------------------------

Responder::Step Responder::step_one_sided(TimePs now, std::uint32_t index, const wire::Packet& packet,
                                          std::uint32_t parked) {
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const wire::TaOpcode opcode = packet.ub.request.opcode;
  const std::uint32_t number = parts_.segments.find(maetah.token_id);
  if (number == kNoSlot) {
    ++parts_.counters.refused_access;
    refuse(index, wire::UbResponseInfo::kAccess);
    return Step::kDone;
  }
  const ContextKey key{ContextKind::kMr, number};
  if (!parts_.contexts.acquire(key)) return wait_for(now, key, index, packet, 0, parked);
  const MrRecord& record = parts_.segments.record(number);
  const std::uint32_t value = packet.ub.request.token_value_present ? packet.ub.extension.token_value : 0;
  const Grant grant =
      SegmentTable::check(record, maetah.token_id, value, right_for(opcode), maetah.address, maetah.length);
  const bool misaligned =
      wire::is_atomic(opcode) && maetah.length != 0 && maetah.address % maetah.length != 0;
  if (grant != Grant::kGranted || misaligned) {
    ++parts_.counters.refused_access;
    refuse(index, wire::UbResponseInfo::kAccess);
    return Step::kDone;
  }
  act_one_sided(index, packet, record);
  return Step::kDone;
}

void Responder::act_one_sided(std::uint32_t index, const wire::Packet& packet, const MrRecord& record) {
  InboundMessage& message = messages_[index];
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const wire::TaOpcode opcode = packet.ub.request.opcode;
  if (wire::is_atomic(opcode)) {
    const bool wide = maetah.length == 16 && opcode == wire::TaOpcode::kAtomicCompareSwap;
    if (maetah.length != 4 && maetah.length != 8 && !wide) {
      ++parts_.counters.refused_length;
      refuse(index, wire::UbResponseInfo::kLength);
      return;
    }
    engine::Access& access =
        request(index, engine::AccessKind::kAtomic, AccessOwner::kInboundAtomic, wire::kNoBuffer);
    access.atomic = verb_of(opcode);
    access.width = static_cast<std::uint8_t>(maetah.length);
    access.length = maetah.length;
    access.address = maetah.address;
    access.order = SegmentTable::write_order(record);
    access.space = parts_.segments.space_of(record);
    access.operand = {packet.ub.extension.operands.operand, packet.ub.extension.operands.operand_high};
    access.compare = {packet.ub.extension.operands.compare, packet.ub.extension.operands.compare_high};
    return;
  }
  if (opcode == wire::TaOpcode::kRead) {
    if (maetah.length > kSegmentBytesMax || packet.payload.length != 0) {
      ++parts_.counters.refused_length;
      refuse(index, wire::UbResponseInfo::kLength);
      return;
    }
    message.read_order = SegmentTable::read_order(record);
    message.entry.space = parts_.segments.space_of(record);
    return;
  }
  const bool masked = has_byte_enables(opcode);
  if (maetah.length > packet.payload.length ||
      packet.payload.length != maetah.length + (masked ? wire::byte_enable_bytes(maetah.length) : 0) ||
      (masked && enabled_runs(packet.payload, maetah.length) > kEnabledRunsMax)) {
    ++parts_.counters.refused_length;
    refuse(index, wire::UbResponseInfo::kLength);
    return;
  }
  if (masked) {
    each_enabled_run(packet.payload, maetah.length, [&](std::uint32_t offset, const wire::Payload& run) {
      write(index, maetah.address + offset, run, SegmentTable::write_order(record),
            parts_.segments.space_of(record));
    });
    return;
  }
  write(index, maetah.address, packet.payload, SegmentTable::write_order(record),
        parts_.segments.space_of(record));
}

verbs::Verb Responder::verb_of(wire::TaOpcode opcode) {
  // Both number the atomics alike, from compare-and-swap on.
  const int step = static_cast<int>(opcode) - static_cast<int>(wire::TaOpcode::kAtomicCompareSwap);
  return static_cast<verbs::Verb>(static_cast<int>(verbs::Verb::kCompareSwap) + step);
}
static_assert(static_cast<int>(verbs::Verb::kFetchXor) - static_cast<int>(verbs::Verb::kCompareSwap) ==
              static_cast<int>(wire::TaOpcode::kAtomicFetchXor) -
                  static_cast<int>(wire::TaOpcode::kAtomicCompareSwap));

engine::Access& Responder::request(std::uint32_t index, engine::AccessKind kind, AccessOwner owner,
                                   wire::BufferId buffer) {
  InboundMessage& message = messages_[index];
  parts_.payloads.retain(buffer);
  ++message.pending;
  engine::Access& access = parts_.accesses.request(
      kind, {.owner = owner, .object = index, .generation = message.generation, .buffer = buffer});
  access.at_target = true;
  access.stream = stream_of(message);
  access.operation = message.operation;
  return access;
}

void Responder::write(std::uint32_t index, std::uint64_t address, const wire::Payload& data,
                      verbs::AccessOrder order, verbs::AddressSpaceId space) {
  if (data.length == 0) return;  // A zero-length access touches nothing.
  engine::Access& access =
      request(index, engine::AccessKind::kWrite, AccessOwner::kInboundWrite, data.buffer);
  access.order = order;
  access.space = space;
  access.address = address;
  access.length = data.length;
  access.data = data;
}

void Responder::write_done(TimePs now, const PendingAccess& owner, engine::AccessStatus status) {
  if (status != engine::AccessStatus::kDone) {
    if (is_two_sided(messages_[owner.object].request.opcode)) {
      refuse_entry(owner.object);
    } else {
      refuse_access(owner.object, status);
    }
  }
  settle_pending(now, owner.object);
}

void Responder::atomic_done(TimePs now, const PendingAccess& owner, const engine::AccessResult& result) {
  if (result.status != engine::AccessStatus::kDone) refuse_access(owner.object, result.status);
  messages_[owner.object].set_atomic_result(result.old_value);
  settle_pending(now, owner.object);
}

void Responder::refuse_access(std::uint32_t index, engine::AccessStatus status) {
  if (status == engine::AccessStatus::kPoison) {
    refuse(index, wire::UbResponseInfo::kPoison);
  } else {
    refuse(index, wire::UbResponseStatus::kPageFault, 0);
  }
}

// A receive entry that is bad, or whose buffers are, is this host's own affair and would be so again: the
// sender is told not to repeat, for each repetition would take another entry.
void Responder::refuse_entry(std::uint32_t index) { refuse(index, wire::UbResponseInfo::kNone); }

// --- Outcome
// -------------------------------------------------------------------------------------------------------

void Responder::refuse(std::uint32_t index, wire::UbResponseStatus status, std::uint8_t info) {
  InboundMessage& message = messages_[index];
  if (message.status != wire::UbResponseStatus::kSuccess) return;  // The first reason counts.
  message.status = status;
  message.info = info;
}

void Responder::refuse(std::uint32_t index, wire::UbResponseInfo info) {
  refuse(index, wire::UbResponseStatus::kError, static_cast<std::uint8_t>(info));
}

void Responder::settle_pending(TimePs now, std::uint32_t index) {
  InboundMessage& message = messages_[index];
  if (--message.pending > 0) return;
  if (message.abandoned) {
    release(index);
  } else if (message.last_delivered) {
    if (message.tail_started) {
      finish_tail(now, index);
    } else {
      tail(now, index);
    }
  }
}

void Responder::channel_failed(std::uint32_t channel) {
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (!messages_[index].in_use() || messages_[index].channel != channel) continue;
    InboundMessage& message = messages_[index];
    unlist(index);
    message.abandoned = true;
    if (message.waits_turn) drop_waiting(index);
    if (message.pending == 0) release(index);
  }
}

void Responder::release(std::uint32_t index) {
  // The entry of a message that will never be complete goes back to the program.
  InboundMessage& message = messages_[index];
  WHARF_CHECK(message.in_use() && !message.waits_turn);
  if (message.abandoned && message.has_entry && message.state != InboundState::kResponding) {
    report_receive(index);
  }
  unlist(index);
  end_dispatch(index);
  messages_[index].answered_elsewhere = false;
  if (message.sequence != kNoSlot) leave_sequence(index, !message.abandoned);
  TpChannel& channel = parts_.tp.channel(message.channel);
  if (message.early) {
    message_room_.give_common(channel.messages_held, channel.messages_early);
  } else {
    message_room_.give(channel.messages_held);
  }
  ++message.generation;
  message.clear();
  messages_.release(index);
}

void Responder::describe_waiting(std::vector<std::string>& out) const {
  for (std::uint32_t index = 0; index < messages_.extent(); ++index) {
    if (!messages_[index].in_use()) continue;
    const InboundMessage& message = messages_[index];
    const char* what = "further packets";
    if (message.waits_turn) {
      what = "earlier requests of its jetty";
    } else if (message.state == InboundState::kResponding) {
      what = "its response to be confirmed";
    } else if (message.pending > 0) {
      what = "memory";
    }
    out.push_back(fmt::format("inbound request of host {} (jetty {}, TASSN {}): waits for {}",
                              parts_.tp.channel(message.channel).remote.number, message.request.requester_id,
                              message.request.tassn, what));
  }
}

void Responder::release_buffers() {
  for (std::uint32_t index = 0; index < parked_.extent(); ++index) {
    if (parked_.is_used(index)) parts_.payloads.release(parked_[index].packet.payload.buffer);
  }
}

}  // namespace wharf::ub
