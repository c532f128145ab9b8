// SPDX-License-Identifier: Apache-2.0
// RoCE datagrams carry an invariant checksum: one that is damaged is no packet. [IBTA vol 1 A17.3.3]
#include "live/udp/roce_live.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "live/udp/live_protocol.h"

namespace wharf::live {
namespace {

using Roce = LiveProtocol<roce::RoceEngine>;

constexpr UdpEndpoint kFrom{0x7f000001, 50000};
constexpr UdpEndpoint kTo{0x7f000002, 4791};

std::vector<std::byte> datagram_of(std::uint32_t payload) {
  wire::Packet packet = wire::roce_packet();
  packet.roce.bth.opcode = wire::RoceOpcode::kRcWriteOnly;
  packet.roce.bth.destination_queue_pair = 17;
  packet.roce.bth.psn = 99;
  packet.roce.reth = {0x1000, 5, payload};
  packet.payload = wire::pattern_payload(1, 0, payload);
  std::array<std::byte, 2048> room{};
  const std::size_t length = Roce::encode(packet, kFrom, kTo, room);
  return {room.begin(), room.begin() + static_cast<std::ptrdiff_t>(length)};
}

wire::DropReason decoded(const std::vector<std::byte>& bytes, const UdpEndpoint& from = kFrom,
                         const UdpEndpoint& to = kTo) {
  wire::Packet packet;
  return Roce::decode(bytes, {.from = from, .to = to}, packet);
}

TEST(RoceLive, ADamagedDatagramIsNoPacket) {
  for (const std::uint32_t payload : {0U, 1U, 64U, 255U}) {
    const std::vector<std::byte> good = datagram_of(payload);
    EXPECT_EQ(decoded(good), wire::DropReason::kNone) << payload;
    for (std::size_t at = 0; at < good.size(); ++at) {
      if (at == 4) continue;  // Resv8a may change on the way.
      std::vector<std::byte> bad = good;
      bad[at] ^= std::byte{0x10};
      EXPECT_EQ(decoded(bad), wire::DropReason::kBadIcrc) << payload << " " << at;
    }
    std::vector<std::byte> cut = good;
    cut.pop_back();
    EXPECT_NE(decoded(cut), wire::DropReason::kNone) << payload;
  }
}

// The checksum covers the addresses: what was meant for others, or comes from others, is no packet.
TEST(RoceLive, ADatagramOfOtherEndpointsIsNoPacket) {
  const std::vector<std::byte> good = datagram_of(64);
  EXPECT_EQ(decoded(good, {kFrom.address + 1, kFrom.port}), wire::DropReason::kBadIcrc);
  EXPECT_EQ(decoded(good, kFrom, {kTo.address + 1, kTo.port}), wire::DropReason::kBadIcrc);
  EXPECT_EQ(decoded(good, {kFrom.address, 50001}), wire::DropReason::kBadIcrc);
}

TEST(RoceLive, WhatIsShorterThanItsHeadersIsTruncated) {
  const std::vector<std::byte> good = datagram_of(0);
  for (std::size_t length = 0; length < wire::kBthBytes + 4; ++length) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(decoded(cut), wire::DropReason::kTruncated) << length;
  }
}

}  // namespace
}  // namespace wharf::live
