// SPDX-License-Identifier: Apache-2.0
// The end of a packet that needs no response of its own: inlined where packets end, as most do so.
// [UE 1.0 3.5.11, 3.5.12]
#pragma once

#include "engine/uet/engine_parts.h"

namespace wharf::uet {

/// CACK passes the next PSN.
[[gnu::always_inline]] inline void Pds::pass(PdcReceive& rx, UetPsn psn) {
  --rx.ahead;
  rx.cumulative = psn;
}

[[gnu::always_inline]] inline void Pds::finish_psn(PdcReceive& rx, UetPsn psn) {
  if (psn == rx.cumulative + 1) {
    pass(rx, psn);
  } else {
    rx.finish(psn);
  }
  if (rx.finished_count > 0 && rx.is_finished(rx.cumulative + 1)) advance_cumulative(rx);
}

/// Whether more than the bytes that have come can be a reason to acknowledge a packet without a response.
[[gnu::always_inline]] inline bool Pds::needs_reason(const PdcReceive& rx, const InboundPacket& inbound) {
  constexpr std::uint8_t kAsks = wire::kUetAckRequested | wire::kUetSyn | wire::kUetRetransmit;
  return (inbound.pds_flags & kAsks) != 0 || rx.owes || inbound.marked;
}

/// Whether this host asks its sources for smaller windows. Such a window may be less than what is under way
/// and asks for no answer, and the source would wait for its RTO: each packet is answered then.
/// [UE 1.0 3.6.15]
inline bool asks_for_less(const EngineParts& parts) {
  if (!parts.config.target_flow_control) return false;
  wire::UetAckCongestion told;
  parts.cms.tell_backlog(told);
  return told.receiver_penalty > 0;
}

[[gnu::always_inline]] inline bool Pds::acknowledges_at_once(PdcReceive& rx, const InboundPacket& inbound,
                                                             bool guaranteed) const {
  // [UE 1.0 3.5.12] ACK generation.
  if (!guaranteed && !needs_reason(rx, inbound))
    return rx.ack_bytes >= parts_.config.ack_trigger_bytes || asks_for_less(parts_);
  return has_reason_to_acknowledge(rx, inbound, guaranteed);
}

[[gnu::always_inline]] inline void Pds::respond_default_here(TimePs now, std::uint32_t slot) {
  const InboundPacket& inbound = parts_.inbound[slot];
  const std::uint32_t index = inbound.pdc;
  Pdc& record = *pdcs_[index];
  if (record.generation == inbound.pdc_generation) {
    PdcReceive& rx = record.rx;
    --rx.in_execution;
    finish_psn(rx, inbound.psn);
    if (acknowledges_at_once(rx, inbound, false)) acknowledge_default(index, inbound);
    if (record.state == PdcState::kQuiesce) drain_step(now, index);
  }
  parts_.inbound.release(slot);
}

}  // namespace wharf::uet
