// SPDX-License-Identifier: Apache-2.0
// What the short ways have in common: numbering a message of one packet, taking one, and the states that they
// ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/ub/engine_parts.h"
#include "engine/ub/words.h"

namespace wharf::ub {

// The state of a message whose packets have come and whose answer has not begun: state, early, listed,
// last_delivered, abandoned, tail_started, answered_elsewhere.
inline constexpr std::size_t kWholeAt = offsetof(InboundMessage, state);
inline constexpr Bytes kWholeMask{0, 0, 0, 255, 255, 255, 255, 0};
inline constexpr Bytes kWholeOpen{0, 0, 0, 1, 0, 0, 0, 0};
// The same of one that came in order on a fused channel.
inline constexpr Bytes kFusedMask{255, 255, 255, 255, 255, 255, 255, 0};
inline constexpr Bytes kFusedOpen{0, 0, 0, 1, 0, 0, 1, 0};
static_assert(offsetof(InboundMessage, last_delivered) == kWholeAt + 3 &&
              offsetof(InboundMessage, abandoned) == kWholeAt + 4 &&
              offsetof(InboundMessage, tail_started) == kWholeAt + 5);

/// Whether a message of one packet, enqueued now, would be numbered at once.
[[gnu::always_inline]] inline bool Express::may_number(TpChannel& channel) const {
  return (channel.credit > 0 || parts().tp.find_credit(channel)) && parts().tp.packet_room_.has_common_left();
}

/// What the only packet of a message is.
struct Express::Numbered {
  std::uint32_t object = kNoSlot;
  std::uint32_t length = 0;
  PacketOrigin origin = PacketOrigin::kRequest;
  PacketState state = PacketState::kReady;
  bool fetches_open = false;
};

/// Gives the next number to it; it has no data yet, as no packet in the pool has. `kUsed`: the pool has a
/// place that was used before.
template <bool kUsed>
[[gnu::always_inline]] inline TxPacket& Express::number(TpChannel& channel, std::uint32_t index,
                                                        const Numbered& what, std::uint32_t& place) {
  TpLayer& tp = parts().tp;
  const std::uint32_t at = kUsed ? tp.packets_.acquire_used() : tp.packets_.acquire();
  if (!kUsed) WHARF_CHECK(at != kNoSlot);
  place = at;
  --channel.credit;
  tp.packet_room_.take(channel.tx_held);
  TxPacket& packet = tp.packets_[at];
  packet.resend_mark = 0;
  packet.object = what.object;
  packet.offset = 0;
  packet.length = what.length;
  packet.tpmsn = wire::psn_wrap(channel.tpmsn_next++);
  packet.next = kNoSlot;
  packet.channel = index;
  packet.origin = what.origin;
  packet.state = what.state;
  packet.fetches_open = what.fetches_open ? 1 : 0;
  packet.last = true;
  packet.confirmed = false;
  packet.resend = false;
  packet.prepared = false;
  packet.fetch_failed = false;
  packet.lost = false;
  channel.send.append(tp.packets_, at);
  ++channel.unsent;
  return packet;
}

/// What TpLayer::update_ready() does.
[[gnu::always_inline]] inline void Express::announce(TpChannel& channel, std::uint32_t index) {
  if (channel.data_listed || parts().tp.packets_[channel.send.cursor()].state != PacketState::kReady) return;
  return parts().tp.list_sender(index);
}

/// The packet is taken, and to be acknowledged. True: settle_acceptance() has to see to that.
[[gnu::always_inline]] inline bool Express::accept(TpChannel& channel, const wire::Packet& packet) {
  const std::uint64_t next = channel.receive.next() + 1;
  channel.receive.restore({next, next});  // There is no gap.
  ++parts().counters.packets_received;
  ++channel.messages_delivered;
  channel.ack = AckKind::kAck;
  channel.ack_number = next;
  channel.ack_tpmsn = packet.ub.rtph.tpmsn;
  return ++channel.unacknowledged < parts().config.acknowledge_every ? !channel.ack_delayed
                                                                     : !channel.ack_listed;
}

/// A message of one packet, which has come; the place of the message holds a clear one.
template <bool kUsed>
[[gnu::always_inline]] inline InboundMessage& Express::open(std::uint32_t index, TpChannel& channel,
                                                            const wire::Packet& packet, std::uint32_t& at) {
  Responder& responder = parts().responder;
  at = kUsed ? responder.messages_.acquire_used() : responder.messages_.acquire();
  if (!kUsed) WHARF_CHECK(at != kNoSlot);
  responder.message_room_.take(channel.messages_held);
  InboundMessage& made = responder.messages_[at];
  ++made.generation;
  made.channel = index;
  made.tpmsn = packet.ub.rtph.tpmsn;
  made.request.take(packet.ub.request);
  made.extension.maetah = packet.ub.extension.maetah;
  made.last_delivered = true;
  made.operation = packet.operation;
  return made;
}

}  // namespace wharf::ub
