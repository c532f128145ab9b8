// SPDX-License-Identifier: Apache-2.0
// What links and NICs of every protocol want to know about a packet without knowing its headers: which way it
// serves, which path it takes, and how much data it carries.
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace wharf::wire {

/// Whether the packet answers or acknowledges something, rather than asking for it.
inline bool is_response(const Packet& packet) {
  if (packet.protocol == Protocol::kUet)
    return is_uet_ack(packet.uet.prologue.type) || is_uet_nack(packet.uet.prologue.type) ||
           is_uet_response_form(packet.uet.prologue.next);
  if (packet.protocol == Protocol::kUb) return packet.ub.transaction != UbTransaction::kRequest;
  const RoceOpcode opcode = packet.roce.bth.opcode;
  return (opcode >= RoceOpcode::kRcReadResponseFirst && opcode <= RoceOpcode::kRcAtomicAcknowledge) ||
         opcode == RoceOpcode::kCnp;
}

/// Whether it belongs to the load/store path, which bypasses the transport.
inline bool is_load_store(const Packet& packet) {
  return packet.protocol == Protocol::kUb && packet.ub.transport == UbTransport::kBypass;
}

/// The address that a load or store, a request that is_load_store(), is about.
inline std::uint64_t load_store_address(const Packet& packet) { return packet.ub.extension.maetah.address; }

/// Bytes of program data in the payload. A byte-enable mask of one bit per byte goes before the data of a
/// masked store.
inline std::uint32_t data_bytes(const Packet& packet) {
  const bool masked = packet.protocol == Protocol::kUb && packet.ub.transaction == UbTransaction::kRequest &&
                      (ta_layout(packet.ub.request.opcode) & kTaByteEnable) != 0;
  return masked ? packet.payload.length - packet.payload.length / 9 : packet.payload.length;
}

}  // namespace wharf::wire
