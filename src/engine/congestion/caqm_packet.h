// SPDX-License-Identifier: Apache-2.0
// What a switch that runs C-AQM reads from a packet and writes into it. Header only: the fabric calls it
// per packet. [UB-Base 2.0.1 5.2, 5.3.5]
#pragma once

#include <cstdint>

#include "engine/congestion/caqm.h"
#include "engine/congestion/caqm_switch.h"
#include "wire/caqm_field.h"

namespace wharf::congestion {

/// Whether a switch decides about `packet`: a data packet of a TP channel that C-AQM controls. All others
/// pass untouched. Choice, after ns-3-UB, which handles data packets alone: they do not count as bytes sent
/// either; what they take of the port shows in its queue.
inline bool carries_caqm(const wire::Packet& packet) { return wire::has_caqm_field(packet); }

/// C, I and Hint of a packet that carries_caqm(). Hint has a meaning only with the MTU of the channel.
inline CaqmFields read_caqm(const wire::Packet& packet, std::uint32_t mtu_bytes) {
  const wire::CongestionField& cc = wire::caqm_field(packet);
  return {cc.congested, cc.increase, caqm_hint_bytes(cc.hint, mtu_bytes)};
}

/// Writes back what a switch may change: C and I. Hint stays as the sender asked.
inline void write_caqm(wire::Packet& packet, const CaqmFields& fields) {
  wire::CongestionField& cc = wire::caqm_field(packet);
  cc.congested = fields.congestion;
  cc.increase = fields.increase;
}

}  // namespace wharf::congestion
