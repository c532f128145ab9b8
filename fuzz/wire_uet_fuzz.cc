// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the Ultra Ethernet decoders: the first byte chooses trailer and byte order, the rest is a
// frame, a datagram, and a header stack.
// LINK: wharf_wire
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/captured_frame.h"
#include "wire/dissect.h"
#include "wire/frame.h"
#include "wire/uet_codec.h"

namespace {

using wharf::wire::DropReason;
using wharf::wire::LinkType;
using wharf::wire::Packet;
using wharf::wire::TrimState;
using wharf::wire::WireOptions;

/// Decoding what was encoded from a decoded packet changes nothing any more.
void check_frame(std::span<const std::byte> frame, const WireOptions& options) {
  Packet packet;
  if (wharf::wire::decode(frame, LinkType::kEthernet, packet, options) != DropReason::kNone) return;
  if (packet.protocol != wharf::wire::Protocol::kUet) return;
  std::vector<std::byte> first(wharf::wire::encoded_bytes(packet, options));
  WHARF_CHECK(wharf::wire::encode(packet, first, options) == first.size());
  // A trimmed packet may have lost half a header, which is written whole again.
  WHARF_CHECK(packet.trim != TrimState::kWhole || first.size() <= frame.size());
  Packet again;
  WHARF_CHECK(wharf::wire::decode(first, LinkType::kEthernet, again, options) == DropReason::kNone);
  WHARF_CHECK(wharf::wire::payload_equal(again.payload, packet.payload));
  WHARF_CHECK(again.trim == packet.trim);
  std::vector<std::byte> second(wharf::wire::encoded_bytes(again, options));
  wharf::wire::encode(again, second, options);
  WHARF_CHECK(first == second);
}

/// The headers alone: what decodes has the length that its fields announce.
void check_headers(std::span<const std::byte> transport) {
  wharf::wire::UetPacket uet;
  wharf::wire::Payload payload;
  if (wharf::wire::decode_uet(transport, uet, payload) == DropReason::kNone)
    WHARF_CHECK(wharf::wire::uet_header_bytes(uet) + payload.length == transport.size());
  std::uint32_t header_bytes = 0;
  if (wharf::wire::decode_uet_trimmed(transport, uet, header_bytes) == DropReason::kNone)
    WHARF_CHECK(header_bytes <= transport.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  WireOptions options;
  // Frames are rarely right by chance: the CRC is not asked for.
  options.uet.verify_crc = false;
  if ((data[0] & 1U) != 0) options.uet.protection = wharf::wire::UetProtection::kNone;
  if ((data[0] & 2U) != 0) options.uet.crc_order = wharf::wire::UetCrcOrder::kMostFirst;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  check_frame(bytes, options);
  check_headers(bytes);
  Packet packet = wharf::wire::uet_packet();
  packet.destination.number = 1;
  (void)wharf::wire::decode_datagram(bytes, packet, options);
  const wharf::wire::Dissection dissection = wharf::wire::dissect(bytes, LinkType::kEthernet);
  for (const wharf::wire::DissectLine& line : dissection.lines)
    WHARF_CHECK(line.offset + line.length <= bytes.size());
  wharf::wire::CapturedPacket captured;
  if (wharf::wire::decode_captured(bytes, LinkType::kEthernet, captured) == DropReason::kNone)
    WHARF_CHECK(wharf::wire::encode_captured(captured).size() == bytes.size());
  return 0;
}
