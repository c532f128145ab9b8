// SPDX-License-Identifier: Apache-2.0
// What the short ways have in common: looking at several fields as one word, and numbering a message of one
// packet.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "engine/ub/engine_parts.h"

namespace wharf::ub {

using Bytes = std::array<std::uint8_t, 8>;

constexpr std::uint64_t word_of(const Bytes& bytes) { return std::bit_cast<std::uint64_t>(bytes); }

/// The eight bytes of `object` from `offset` on, as one word.
template <typename T>
std::uint64_t word_at(const T& object, std::size_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const std::byte*>(&object) + offset, sizeof value);
  return value;
}

// --- Numbering
// -----------------------------------------------------------------------------------------------------

/// Whether a message of one packet, enqueued now, would be numbered at once.
[[gnu::always_inline]] inline bool Express::may_number(const TpChannel& channel) const {
  return channel.state == ChannelState::kReady && !channel.numbering && channel.requests.empty() &&
         channel.responses.empty() && channel.send.retransmissions_queued() == 0 &&
         channel.unsent < parts_.config.fetch_ahead_packets && !channel.send.full() &&
         parts_.tp.packet_room_.has(channel.tx_held);
}

/// Gives the next number to the only packet of a message; it has no data yet and is ready. Its object, origin
/// and length are the caller's to set.
[[gnu::always_inline]] inline TxPacket& Express::number(TpChannel& channel, std::uint32_t index,
                                                        std::uint32_t object, std::uint32_t& place) {
  TpLayer& tp = parts_.tp;
  place = tp.packets_.acquire();
  WHARF_CHECK(place != kNoSlot);
  tp.packet_room_.take(channel.tx_held);
  TxPacket& packet = tp.packets_[place];
  copy_whole(packet, kFreshPacket);
  channel.send.append(tp.packets_, place);
  packet.channel = index;
  packet.object = object;
  packet.tpmsn = wire::psn_wrap(channel.tpmsn_next++);
  packet.last = true;
  packet.state = PacketState::kReady;
  ++channel.unsent;
  return packet;
}

/// What TpLayer::update_ready() does.
[[gnu::always_inline]] inline void Express::announce(TpChannel& channel, std::uint32_t index) {
  if (channel.data_listed || parts_.tp.packets_[channel.send.cursor()].state != PacketState::kReady) return;
  channel.data_listed = true;
  parts_.tp.data_list_.push_back(index);
}

}  // namespace wharf::ub
