// SPDX-License-Identifier: Apache-2.0
#include "wire/packet.h"

#include <algorithm>

#include "wire/ethernet.h"
#include "wire/frame.h"
#include "wire/ipv6.h"
#include "wire/roce_codec.h"
#include "wire/ub_codec.h"
#include "wire/ub_lph.h"
#include "wire/udp.h"
#include "wire/uet_frame.h"
#include "wire/uet_names.h"

namespace wharf::wire {
namespace {

std::uint32_t ip_bytes(const Packet& packet) {
  return packet.ip_version == IpVersion::kV4 ? kIpv4Bytes : kIpv6Bytes;
}

}  // namespace

std::uint32_t network_header_bytes(const Packet& packet) {
  if (packet.protocol == Protocol::kUet)
    return kEthernetBytes + ip_bytes(packet) +
           (packet.uet.encapsulation == UetEncapsulation::kUdp ? kUdpBytes : kUetEntropyBytes);
  if (packet.protocol == Protocol::kRoce) return kEthernetBytes + ip_bytes(packet) + kUdpBytes;
  switch (packet.ub.encapsulation) {
    case UbEncapsulation::kUdp:
      return kEthernetBytes + (packet.ub.operator_tag ? kOpTagBytes : 0) + ip_bytes(packet) + kUdpBytes;
    case UbEncapsulation::kIpOnLink:
      return kLphBytes + kNthIpBytes + ip_bytes(packet) + kUdpBytes;
    case UbEncapsulation::kCna24OnLink:
      return kLphBytes + kNthCna24Bytes;
    case UbEncapsulation::kCna16OnLink:
    case UbEncapsulation::kMemoryOnLink:
      return kLphBytes + kNthCna16Bytes;
    case UbEncapsulation::kRawEthernet:
      return kEthernetBytes + kNthOpenUrmaBytes;
  }
  WHARF_UNREACHABLE();
}

std::uint32_t wire_header_bytes(const Packet& packet) {
  const std::uint32_t network = network_header_bytes(packet);
  if (packet.protocol == Protocol::kRoce)
    return network + roce_header_bytes(packet.roce) + kIcrcBytes + kFcsBytes;
  if (packet.protocol == Protocol::kUet)
    return network + uet_header_bytes(packet.uet) + uet_trailer_bytes(packet) + kFcsBytes;
  return network + ub_header_bytes(packet.ub) + (link_type(packet) == LinkType::kEthernet ? kFcsBytes : 0);
}

std::uint32_t pad_bytes(const Packet& packet) {
  if (packet.protocol == Protocol::kUet) return 0;
  return packet.protocol == Protocol::kRoce ? roce_pad(packet.payload.length)
                                            : ub_pad(packet.ub, packet.payload.length);
}

std::uint32_t frame_bytes(const Packet& packet) {
  const bool bitmap = packet.protocol == Protocol::kUb && payload_is_sack_bitmap(packet.ub);
  return packet.header_bytes + (bitmap ? 0 : packet.payload.length + pad_bytes(packet));
}

std::uint32_t link_bytes(const Packet& packet) {
  if (link_type(packet) == LinkType::kUbLink) return frame_bytes(packet);
  return std::max(frame_bytes(packet), kEthernetFrameBytesMin) + kPreambleBytes + kInterpacketGapBytes;
}

void mark_congestion(Packet& packet) {
  if (packet.mark == CongestionMark::kCapable) packet.mark = CongestionMark::kExperienced;
  if (packet.protocol != Protocol::kUb) return;
  CongestionField& cc = packet.ub.cc;
  switch (cc.mode) {
    case CongestionMode::kCaqm:
      if (cc.enabled) cc.congested = true;
      return;
    case CongestionMode::kFecn:
    case CongestionMode::kFecnRtt:
      cc.fecn = 1;
      return;
  }
}

void trim_packet(Packet& packet, TrimState state) {
  if (packet.protocol == Protocol::kUet && packet.trim == TrimState::kWhole) {
    UetPacket& uet = packet.uet;
    const auto length = static_cast<std::uint16_t>(packet.payload.length);
    if (is_uet_request_form(uet.prologue.next)) uet.ses.payload_length = length;
    if (is_uet_response_form(uet.prologue.next)) uet.response.payload_length = length;
  }
  packet.trim = state;
  packet.payload = Payload{};
}

std::span<const std::byte> sack_bitmap(const Packet& packet) {
  if (packet.protocol != Protocol::kUb || !has_saetph(packet.ub)) return {};
  const std::uint32_t bytes = sack_bitmap_bytes(packet.ub.ack.saetph.size_code);
  if (payload_is_sack_bitmap(packet.ub)) {
    WHARF_CHECK(packet.payload.kind == PayloadKind::kBytes && packet.payload.length == bytes);
    return {packet.payload.bytes, bytes};
  }
  return {reinterpret_cast<const std::byte*>(packet.ub.ack.sack_bitmap.data()), bytes};
}

std::string_view packet_name(const Packet& packet) {
  if (packet.protocol == Protocol::kUet) return uet_packet_name(packet.uet);
  if (packet.protocol == Protocol::kRoce) return roce_opcode_name(packet.roce.bth.opcode);
  const UbPacket& ub = packet.ub;
  if (ub.transport == UbTransport::kRtp && ub.rtph.opcode != TpOpcode::kReliable)
    return tp_opcode_name(ub.rtph.opcode);
  switch (ub.transaction) {
    case UbTransaction::kNone:
      return "UB CNP";
    case UbTransaction::kRequest:
      return ta_opcode_name(ub.request.opcode);
    case UbTransaction::kResponse:
      return ta_opcode_name(ub.response.opcode);
  }
  WHARF_UNREACHABLE();
}

}  // namespace wharf::wire
