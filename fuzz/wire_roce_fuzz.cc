// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the RoCEv2 decoders: they refuse or decode, and what they decode encodes again.
// LINK: wharf_wire
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "wire/captured_frame.h"
#include "wire/dissect.h"
#include "wire/frame.h"

namespace {

using wharf::wire::DropReason;
using wharf::wire::LinkType;
using wharf::wire::Packet;

/// Frames are rarely right by chance: checksums are not asked for, and the second encoding must equal the
/// first, which is the normalised form (reserved bits, IP identification and TTL are not kept by a Packet).
void check_frame(std::span<const std::byte> frame) {
  Packet packet;
  if (wharf::wire::decode(frame, LinkType::kEthernet, packet, {false, false}) != DropReason::kNone) return;
  std::vector<std::byte> first(wharf::wire::encoded_bytes(packet));
  WHARF_CHECK(wharf::wire::encode(packet, first) == first.size());
  WHARF_CHECK(first.size() <= frame.size());
  Packet again;
  WHARF_CHECK(wharf::wire::decode(first, LinkType::kEthernet, again) == DropReason::kNone);
  WHARF_CHECK(wharf::wire::payload_equal(again.payload, packet.payload));
  std::vector<std::byte> second(wharf::wire::encoded_bytes(again));
  wharf::wire::encode(again, second);
  WHARF_CHECK(first == second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_frame(bytes);
  Packet packet = wharf::wire::roce_packet();
  packet.destination.number = 1;
  (void)wharf::wire::decode_datagram(bytes, packet, {false, false});
  const wharf::wire::Dissection dissection = wharf::wire::dissect(bytes, LinkType::kEthernet);
  std::uint32_t end = 0;
  for (const wharf::wire::DissectLine& line : dissection.lines)
    end = std::max(end, line.offset + line.length);
  WHARF_CHECK(end <= size);
  wharf::wire::CapturedPacket captured;
  if (wharf::wire::decode_captured(bytes, LinkType::kEthernet, captured) == DropReason::kNone)
    WHARF_CHECK(wharf::wire::encode_captured(captured).size() == size);
  return 0;
}
