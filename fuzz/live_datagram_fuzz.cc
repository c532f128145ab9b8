// SPDX-License-Identifier: Apache-2.0
// Feeds UDP payloads to the decoders of live datagrams: the first byte chooses the protocol, the second is
// the TOS byte. Inputs of RoCE and UET reach what stands behind ICRC or CRC only with a right one, as those
// of the corpus have, or (UET) with the DSCP of a trimmed packet.
// LINK: wharf_live_udp
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "live/udp/live_protocol.h"

namespace {

using namespace wharf;

template <typename E>
void read_and_write_again(std::uint8_t service, const std::vector<std::byte>& bytes) {
  constexpr live::UdpEndpoint kFrom{0x7f000001, 1000};
  constexpr live::UdpEndpoint kTo{0x7f000001, 2000};
  wire::Packet packet;
  if (live::LiveProtocol<E>::decode(bytes, {kFrom, kTo, service}, packet) != wire::DropReason::kNone) return;
  // What was accepted must fit inside what arrived and can be written again.
  WHARF_CHECK(packet.payload.length <= bytes.size());
  if (packet.payload.kind == wire::PayloadKind::kBytes) {
    WHARF_CHECK(packet.payload.bytes >= bytes.data() &&
                packet.payload.bytes + packet.payload.length <= bytes.data() + bytes.size());
  }
  if (packet.trim != wire::TrimState::kWhole) return;  // Only switches make those.
  std::array<std::byte, live::UdpSocket::kFrameBytes> room{};
  const std::size_t length = live::LiveProtocol<E>::encode(packet, kFrom, kTo, room);
  WHARF_CHECK(length <= room.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > live::UdpSocket::kFrameBytes) return 0;
  const wire::Protocol protocol = live::live_protocols()[data[0] % live::LiveEngines::kCount].protocol;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(first + 2, first + size);
  live::with_engine_type(protocol,
                         [&]<typename E>(std::type_identity<E>) { read_and_write_again<E>(data[1], bytes); });
  return 0;
}
