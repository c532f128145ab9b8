// SPDX-License-Identifier: Apache-2.0
// Feeds UDP payloads to the decoder of live datagrams: the first byte chooses the protocol. Inputs of
// RoCE reach what stands behind the ICRC only with a right one, as those of the corpus have.
// LINK: wharf_live_udp
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "live/udp/datagram.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wharf;
  if (size == 0 || size > live::UdpSocket::kFrameBytes) return 0;
  constexpr live::UdpEndpoint kFrom{0x7f000001, 1000};
  constexpr live::UdpEndpoint kTo{0x7f000001, 2000};
  const auto protocol = (data[0] & 1U) != 0 ? wire::Protocol::kRoce : wire::Protocol::kUb;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(first + 1, first + size);
  wire::Packet packet;
  if (live::decode_datagram(protocol, bytes, kFrom, kTo, packet) != wire::DropReason::kNone) return 0;
  // What was accepted must fit inside what arrived and can be written again.
  WHARF_CHECK(packet.payload.length <= bytes.size());
  if (packet.payload.kind == wire::PayloadKind::kBytes) {
    WHARF_CHECK(packet.payload.bytes >= bytes.data() &&
                packet.payload.bytes + packet.payload.length <= bytes.data() + bytes.size());
  }
  std::array<std::byte, live::UdpSocket::kFrameBytes> room{};
  const std::size_t length = live::encode_datagram(packet, kFrom, kTo, room);
  WHARF_CHECK(length <= room.size());
  return 0;
}
