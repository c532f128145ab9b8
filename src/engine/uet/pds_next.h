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

[[gnu::always_inline]] inline std::uint64_t Pds::room_for_next(const Pdc& record) const {
  // What is lost beside it still counts as under way, and would hold it back until all have timed out.
  if (record.inferring && !record.tx.resend.empty()) [[unlikely]]
    return Cms::kNoRoomNeeded;
  return next_window_bytes(record);
}

[[gnu::always_inline]] inline bool Pds::next_is_begun(const Pdc& record) const {
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty()) [[unlikely]]
    return repetition_is_begun(record);
  return !record.fetched.empty() || tx.message_head == kNoSlot ||
         !parts_.outbound[tx.message_head].from_memory;
}

[[gnu::always_inline]] inline bool Pds::take_fetched(Leaving& leaving) {
  Pdc& record = *leaving.record;
  const PdcSend& tx = record.tx;
  if (!tx.resend.empty() || record.fetched.empty()) return false;
  const std::uint32_t at = record.fetched.head;
  const StagedPacket& staged = staged_[at];
  if (staged.pieces > 0 || staged.message != tx.message_head ||
      staged.offset != parts_.outbound[tx.message_head].sent) {
    return false;
  }
  leaving.payload = staged.payload;
  leaving.failed = staged.failed;
  leaving.ready_at = staged.ready_at;
  record.fetched.pop(staged_, &StagedPacket::next);
  staged_.release(at);
  --leaving.context->fetched;
  return true;
}

[[gnu::always_inline]] inline void Pds::want_fetch(const Pdc& record, CongestionContext& context) {
  if (context.fetch_wanted) return;
  // A context with one PDC, whose room is taken, would fetch nothing.
  if (context.fetched >= parts_.config.fetch_ahead_packets && context.pdcs.head == context.pdcs.tail &&
      record.tx.resend.empty() && !record.fetched.empty() &&
      (context.pdcs.empty() || pdcs_[context.pdcs.head].get() == &record)) {
    return;
  }
  context.fetch_wanted = parts_.plain.unsettled = true;
  fetch_wanted_.push(parts_.cms, record.ccc, &CongestionContext::next_fetch);
}

[[gnu::always_inline]] inline void Pds::finish(wire::Packet& out, wire::TrafficClass traffic_class,
                                               wire::HostAddress peer, std::uint16_t entropy,
                                               std::uint32_t header_bytes) {
  out.traffic_class = traffic_class;
  out.source = parts_.host;
  out.destination = peer;
  out.entropy = entropy;
  out.mark = wire::CongestionMark::kCapable;
  out.uet.encapsulation = parts_.config.encapsulation;
  out.uet.protection = parts_.config.protection;
  out.header_bytes = parts_.config.nominal_header_bytes != 0 ? parts_.config.nominal_header_bytes
                                                             : frame_overhead_ + header_bytes;
  ++parts_.counters.packets_sent;
}

}  // namespace wharf::uet
