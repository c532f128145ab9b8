// SPDX-License-Identifier: Apache-2.0
// Feeds bytes to the Unified Bus decoders: the first byte chooses the link type, the rest is a frame.
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

/// Decoding what was encoded from a decoded packet changes nothing any more.
void check_frame(std::span<const std::byte> frame, LinkType link) {
  Packet packet;
  if (wharf::wire::decode(frame, link, packet, {false, false}) != DropReason::kNone) return;
  std::vector<std::byte> first(wharf::wire::encoded_bytes(packet));
  WHARF_CHECK(wharf::wire::encode(packet, first) == first.size());
  WHARF_CHECK(first.size() <= frame.size());
  Packet again;
  WHARF_CHECK(wharf::wire::decode(first, link, again) == DropReason::kNone);
  WHARF_CHECK(wharf::wire::payload_equal(again.payload, packet.payload));
  WHARF_CHECK(wharf::wire::sack_bitmap(again).size() == wharf::wire::sack_bitmap(packet).size());
  std::vector<std::byte> second(wharf::wire::encoded_bytes(again));
  wharf::wire::encode(again, second);
  WHARF_CHECK(first == second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const LinkType link = (data[0] & 1U) != 0 ? LinkType::kUbLink : LinkType::kEthernet;
  const auto frame = std::as_bytes(std::span(data + 1, size - 1));
  check_frame(frame, link);
  Packet packet = wharf::wire::ub_packet();
  packet.destination.number = 1;
  (void)wharf::wire::decode_datagram(frame, packet, {false, false});
  const wharf::wire::Dissection dissection = wharf::wire::dissect(frame, link);
  for (const wharf::wire::DissectLine& line : dissection.lines)
    WHARF_CHECK(line.offset + line.length <= frame.size());
  wharf::wire::CapturedPacket captured;
  if (wharf::wire::decode_captured(frame, link, captured) == DropReason::kNone)
    WHARF_CHECK(wharf::wire::encode_captured(captured).size() == frame.size());
  return 0;
}
