// SPDX-License-Identifier: Apache-2.0
// What links and NICs of every protocol want to know about a packet without knowing its headers: which way it
// serves, which pipeline it takes, and what the payload-only accounting charges for it.
#pragma once

#include <cstdint>

#include "wire/packet.h"

namespace wharf::wire {

/// What a link or a NIC pipeline is charged for a packet: keys link.charged_bytes and nic.charged_bytes.
enum class ChargeRule : std::uint8_t {
  kPacket,   ///< Every byte of the frame.
  kPayload,  ///< Payload bytes alone, with nominal sizes for packets that have none (accounting of
             ///< OpenURMA 5.2).
};

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

/// Bytes that an accounting charges which counts payload alone: the payload, or the nominal size of a request
/// or response that has none.
inline std::uint32_t payload_charge(const Packet& packet, std::uint32_t nominal_request,
                                    std::uint32_t nominal_response) {
  if (packet.payload.length > 0) {
    const bool masked = packet.protocol == Protocol::kUb &&
                        packet.ub.transaction == UbTransaction::kRequest &&
                        (ta_layout(packet.ub.request.opcode) & kTaByteEnable) != 0;
    // A byte-enable mask of one bit per byte goes before the data.
    return masked ? packet.payload.length - packet.payload.length / 9 : packet.payload.length;
  }
  return is_response(packet) ? nominal_response : nominal_request;
}

}  // namespace wharf::wire
