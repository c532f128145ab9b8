// SPDX-License-Identifier: Apache-2.0
// What a PDC would send next: asked several times for every packet, so inlined where it is asked.
#pragma once

#include <algorithm>

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

[[gnu::always_inline]] inline std::uint32_t Pds::entry_window_bytes(const SendEntry& entry) const {
  return parts_.outbound[entry.message].overhead + entry.length;
}

[[gnu::always_inline]] inline bool Pds::sendable(const Pdc& record) const {
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty()) return true;
  if (tx.message_head == kNoSlot || !tx.window_open()) return false;
  // [UE 1.0 3.5.8] psn_offset has 12 bits.
  return record.peer_known || tx.next - tx.start < wire::kUetSynPsnMax;
}

[[gnu::always_inline]] inline std::uint32_t Pds::next_window_bytes(const Pdc& record) const {
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty()) [[unlikely]]
    return entry_window_bytes(tx.at(tx.resend.head));
  if (tx.message_head == kNoSlot) return 0;
  const OutboundMessage& message = parts_.outbound[tx.message_head];
  return message.overhead + std::min(parts_.config.payload_mtu, message.send_length - message.sent);
}

[[gnu::always_inline]] inline bool Pds::next_is_begun(const Pdc& record) const {
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty()) [[unlikely]]
    return repetition_is_begun(record);
  return !record.fetched.empty() || tx.message_head == kNoSlot ||
         !parts_.initiator.needs_fetch(parts_.outbound[tx.message_head]);
}

[[gnu::always_inline]] inline void Pds::want_fetch(const Pdc& record, CongestionContext& context) {
  if (context.fetch_wanted) return;
  // A context with one PDC, whose room is taken, would fetch nothing.
  if (context.fetched >= parts_.config.fetch_ahead_packets && context.pdcs.head == context.pdcs.tail &&
      record.tx.resend.empty() && !record.fetched.empty() &&
      (context.pdcs.empty() || pdcs_[context.pdcs.head].get() == &record)) {
    return;
  }
  context.fetch_wanted = true;
  fetch_wanted_.push(parts_.cms, record.ccc, &CongestionContext::next_fetch);
}

}  // namespace wharf::uet
