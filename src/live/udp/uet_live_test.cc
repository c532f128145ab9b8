// SPDX-License-Identifier: Apache-2.0
// UET packets as UDP payloads: CRC, marks, trimming. [UE 1.0 3.5.10, 4.1]
#include "live/udp/uet_live.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "live/udp/network_headers.h"
#include "wire/captured_frame.h"
#include "wire/ethernet.h"
#include "wire/uet_options.h"

namespace wharf::live {
namespace {

using Uet = LiveProtocol<uet::UetEngine>;
constexpr UdpEndpoint kFrom{0x7f000001, 40000};
constexpr UdpEndpoint kTo{0x7f000001, wire::kUetPort};

std::vector<std::byte> some_payload() {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i);
  return bytes;
}

/// A send of one packet with `payload`.
wire::Packet some_packet(const std::vector<std::byte>& payload) {
  wire::Packet packet = wire::uet_packet();
  wire::UetRequest& request = wire::use_pds_request(packet.uet, wire::UetPdsType::kRudRequest);
  request.psn = 7;
  request.source_pdcid = 9;
  wire::UetSesRequest& ses =
      wire::use_ses_request(packet.uet, wire::UetNextHeader::kRequestStandard, wire::UetOpcode::kSend);
  ses.flags = wire::kUetSom | wire::kUetEom;
  ses.job_id = 3;
  ses.request_length = static_cast<std::uint32_t>(payload.size());
  packet.payload = wire::bytes_payload(payload);
  packet.mark = wire::CongestionMark::kCapable;
  return packet;
}

std::vector<std::byte> encoded(const wire::Packet& packet) {
  std::vector<std::byte> room(UdpSocket::kFrameBytes);
  room.resize(Uet::encode(packet, kFrom, kTo, room));
  return room;
}

TEST(UetLive, ReadsBackWhatItWrites) {
  const std::vector<std::byte> payload = some_payload();
  const std::vector<std::byte> bytes = encoded(some_packet(payload));
  wire::Packet packet;
  ASSERT_EQ(Uet::decode(bytes, {kFrom, kTo, 3}, packet), wire::DropReason::kNone);
  EXPECT_EQ(packet.uet.request.psn, 7U);
  EXPECT_EQ(packet.mark, wire::CongestionMark::kExperienced);
  ASSERT_EQ(packet.payload.length, payload.size());
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), packet.payload.bytes));
}

TEST(UetLive, EveryDamagedByteAndEveryOtherEndpointFailsTheCrc) {
  const std::vector<std::byte> payload = some_payload();
  const std::vector<std::byte> bytes = encoded(some_packet(payload));
  wire::Packet packet;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    EXPECT_EQ(Uet::decode(damaged, {kFrom, kTo, 0}, packet), wire::DropReason::kBadIcrc) << at;
  }
  const UdpEndpoint other{0x7f000001, 40001};
  EXPECT_EQ(Uet::decode(bytes, {other, kTo, 0}, packet), wire::DropReason::kBadIcrc);
  EXPECT_EQ(Uet::decode(bytes, {kFrom, other, 0}, packet), wire::DropReason::kBadIcrc);
  EXPECT_EQ(Uet::decode(std::span(bytes).first(3), {kFrom, kTo, 0}, packet), wire::DropReason::kTruncated);
}

TEST(UetLive, ATrimmedPacketNeedsNoCrc) {
  const std::vector<std::byte> payload = some_payload();
  const std::vector<std::byte> bytes = encoded(some_packet(payload));
  const auto service = static_cast<std::uint8_t>(unsigned{wire::UetDscp{}.trimmed} << 2U);
  wire::Packet packet;
  ASSERT_EQ(Uet::decode(std::span(bytes).first(60), {kFrom, kTo, service}, packet), wire::DropReason::kNone);
  EXPECT_EQ(packet.trim, wire::TrimState::kTrimmed);
  EXPECT_EQ(packet.payload.length, 0U);
  EXPECT_EQ(packet.uet.request.psn, 7U);
}

TEST(UetLive, TheCrcIsThatOfTheWholeFrame) {
  const std::vector<std::byte> payload = some_payload();
  const wire::Packet packet = some_packet(payload);
  const std::vector<std::byte> bytes = encoded(packet);
  std::vector<std::byte> frame(wire::kEthernetBytes);
  frame[12] = std::byte{0x08};
  const NetworkHeaders headers = network_headers(kFrom, kTo, Uet::service(packet), bytes.size());
  frame.insert(frame.end(), headers.begin(), headers.end());
  frame.insert(frame.end(), bytes.begin(), bytes.end());
  wire::CapturedPacket captured;
  ASSERT_EQ(wire::decode_captured(frame, wire::LinkType::kEthernet, captured), wire::DropReason::kNone);
  EXPECT_TRUE(captured.icrc_matches());
  EXPECT_EQ(captured.packet.mark, wire::CongestionMark::kCapable);
}

}  // namespace
}  // namespace wharf::live
