// SPDX-License-Identifier: Apache-2.0
// The field by which senders and switches that run C-AQM speak: where packets have it.
// [UB-Base 2.0.1 5.2, 5.3.5]
#pragma once

#include "wire/packet.h"

namespace wharf::wire {

/// Whether `packet` is a data packet of a TP channel that C-AQM controls.
inline bool has_caqm_field(const Packet& packet) {
  return packet.protocol == Protocol::kUb && packet.ub.transport == UbTransport::kRtp &&
         packet.ub.rtph.opcode == TpOpcode::kReliable && packet.ub.cc.mode == CongestionMode::kCaqm &&
         packet.ub.cc.enabled;
}

/// Of a packet that has_caqm_field().
inline CongestionField& caqm_field(Packet& packet) { return packet.ub.cc; }
inline const CongestionField& caqm_field(const Packet& packet) { return packet.ub.cc; }

}  // namespace wharf::wire
