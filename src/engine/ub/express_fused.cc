// SPDX-License-Identifier: Apache-2.0
// The short ways of service mode ROL at the target: a plain Write on a fused channel, and its execution,
// which an acknowledgement of the channel answers. [UB-Base 2.0.1 7.4] At the initiator they are those of
// ROI, and Express::executed().
#include "engine/ub/express.h"
#include "engine/ub/express_numbering.h"

namespace wharf::ub {
/// A packet of the fused channel TpLayer::fused_train_: takes a whole Write without a tag whose context waits
/// for nothing. Its data is placed, and its execution is what will be acknowledged.
[[gnu::noinline, gnu::flatten]] void Express::take_fused(TimePs now, const wire::Packet& packet) {
  TpLayer& tp = parts().tp;
  Responder& responder = parts().responder;
  TpChannel& channel = *tp.fused_train_;
  const std::uint32_t index = tp.train_;
  const wire::Rtph& rtph = packet.ub.rtph;
  const wire::Btah& header = packet.ub.request;
  const wire::Maetah& maetah = packet.ub.extension.maetah;
  const std::uint32_t length = maetah.length;
  const SegmentTable& segments = parts().segments;
  const std::uint64_t number = channel.receive.next();
  if (rtph.opcode != wire::TpOpcode::kReliable || !rtph.last ||
      packet.ub.transaction != wire::UbTransaction::kRequest || header.opcode != wire::TaOpcode::kWrite ||
      (header.order & 3U) != 0 || header.poison || rtph.psn != wire::psn_wrap(number) ||
      channel.receive.has_gap() || channel.messages_open > 0 || !channel.fused->has_room(number) ||
      !responder.can_park() || parts().accesses.unanswered() >= kUnansweredAccessesMax ||
      !responder.message_room_.has(channel.messages_held, channel.messages_early) || length == 0 ||
      length != packet.payload.length || !segments.was_found(maetah.token_id) ||
      !responder.messages_.has_used() || !parts().accesses.has_used()) {
    return parts().receive(now, packet);
  }
  const MrRecord& record = segments.record(segments.found());
  const std::uint32_t value = header.token_value_present ? packet.ub.extension.token_value : 0;
  const std::uint32_t sequence = responder.find_sequence(channel.remote, header.requester_id);
  if (sequence == kNoSlot || !responder.sequences_[sequence]->waiting.empty() ||
      !responder.sequences_[sequence]->order.passes(header.tassn) ||
      SegmentTable::check(record, maetah.token_id, value, Right::kWrite, maetah.address, length) !=
          Grant::kGranted) {
    return parts().receive(now, packet);
  }
  std::uint32_t at = kNoSlot;
  InboundMessage& made = open<true>(index, channel, packet, at);
  made.pending = 1;
  made.received = length;
  made.answered_elsewhere = true;
  made.sequence = sequence;
  made.fused_open = true;
  made.fused_number = static_cast<std::uint32_t>(number);
  channel.fused->open(number);
  channel.fused->deliver(number);
  channel.receive.restore({number + 1, number + 1});  // There is no gap.
  ++parts().counters.packets_received;
  ++channel.messages_delivered;
  const wire::BufferId buffer = packet.payload.buffer;
  parts().accesses.request<true>(
      {.owner = AccessOwner::kFusedWrite, .object = at, .generation = made.generation, .buffer = buffer},
      {.kind = engine::AccessKind::kWrite,
       .order = SegmentTable::write_order(record),
       .at_target = true,
       .length = length,
       .space = segments.space_of(record),
       .stream = Responder::stream_of(index, header.requester_id),
       .address = maetah.address,
       .operation = packet.operation},
      packet.payload);
  // The request is open, so that nothing new can be acknowledged.
  if (buffer != wire::kNoBuffer) return parts().payloads.retain(buffer);
}

/// The data of a Write that take_fused() took is placed: the acknowledgement of its channel answers it.
[[gnu::noinline, gnu::flatten]] void Express::fused_done(TimePs now, AccessPort::Slot& access,
                                                         const engine::AccessResult& result) {
  Responder& responder = parts().responder;
  const PendingAccess& owner = access.owner();
  const std::uint32_t at = owner.object;
  InboundMessage& message = responder.messages_[at];
  TpChannel& channel = parts().tp.channel(message.channel);
  if (message.pending != 1 || message.sequence == kNoSlot ||
      !has_state(message, kWholeAt, kFusedMask, kFusedOpen) || !message.fused_open ||
      message.status != wire::UbResponseStatus::kSuccess ||
      message.request.opcode != wire::TaOpcode::kWrite || channel.receive.has_gap() ||
      channel.ack == AckKind::kNak) {
    return parts().access_done(now, access.id(), result);
  }
  const wire::BufferId buffer = owner.buffer;
  parts().accesses.end(access);
  responder.leave_sequence(at, true);
  message.fused_open = false;
  FusedWindow& fused = *channel.fused;
  fused.requester_id = message.request.requester_id;
  fused.tassn = message.request.tassn;
  fused.any = true;
  bool settles = (parts().attention & kUnsettled) != 0;
  if (fused.close_and_tell(message.fused_number)) {
    channel.ack = AckKind::kAck;
    channel.ack_number = fused.told();
    channel.ack_tpmsn = message.tpmsn;
    settles |= ++channel.unacknowledged < parts().config.acknowledge_every ? !channel.ack_delayed
                                                                           : !channel.ack_listed;
  }
  responder.message_room_.give(channel.messages_held);
  ++message.generation;
  message.pending = 0;
  message.clear_plain();
  responder.messages_.release(at);
  if (settles || buffer != wire::kNoBuffer) return settle_fused(now, message.channel, buffer);
}

/// What has been executed is to be acknowledged, or others have waited for it, or its data lay in a buffer.
[[gnu::noinline]] void Express::settle_fused(TimePs now, std::uint32_t index, wire::BufferId buffer) {
  TpChannel& channel = parts().tp.channel(index);
  // Does nothing where an acknowledgement is on its way.
  if (channel.unacknowledged > 0) settle_acceptance(now, index, channel);
  settle_placed(now, buffer);
}

}  // namespace wharf::ub
