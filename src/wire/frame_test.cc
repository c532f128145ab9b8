// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstring>

#include "tests/support/packet_generator.h"
#include "wire/icrc.h"

namespace wharf::wire {
namespace {

std::vector<std::byte> frame_of(const Packet& packet, const WireOptions& options = {}) {
  std::vector<std::byte> frame(encoded_bytes(packet, options));
  EXPECT_EQ(encode(packet, frame, options), frame.size());
  return frame;
}

/// Decoding the frame of a packet gives a packet with the same frame, payload and envelope.
void expect_round_trip(const Packet& packet, const WireOptions& options = {}) {
  const std::vector<std::byte> frame = frame_of(packet, options);
  Packet decoded;
  const DropReason reason = decode(frame, link_type(packet), decoded, options);
  RC_ASSERT(reason == DropReason::kNone);
  RC_ASSERT(decoded.protocol == packet.protocol);
  RC_ASSERT(decoded.traffic_class == packet.traffic_class);
  RC_ASSERT(decoded.mark == packet.mark);
  RC_ASSERT(decoded.entropy == packet.entropy);
  RC_ASSERT(decoded.source == packet.source);
  RC_ASSERT(decoded.destination == packet.destination);
  RC_ASSERT(decoded.header_bytes == wire_header_bytes(packet));
  RC_ASSERT(payload_equal(decoded.payload, packet.payload));
  RC_ASSERT(frame_of(decoded, options) == frame);
  // Every decoded header value, padding bytes of the structs apart: a packet whose values differ encodes
  // differently, and the values that have no bytes were left at their defaults on both sides.
  if (packet.protocol == Protocol::kRoce) {
    RC_ASSERT(decoded.roce.bth.psn == packet.roce.bth.psn);
    RC_ASSERT(decoded.roce.bth.opcode == packet.roce.bth.opcode);
    RC_ASSERT(decoded.roce.immediate == packet.roce.immediate);
    RC_ASSERT(decoded.roce.invalidate_key == packet.roce.invalidate_key);
  } else {
    RC_ASSERT(decoded.ub.transport == packet.ub.transport);
    RC_ASSERT(decoded.ub.transaction == packet.ub.transaction);
    RC_ASSERT(decoded.ub.entities == packet.ub.entities);
    if (packet.ub.transaction == UbTransaction::kRequest) {
      RC_ASSERT(decoded.ub.request.requester_id == packet.ub.request.requester_id);
      RC_ASSERT(decoded.ub.extension.maetah.length == packet.ub.extension.maetah.length);
      RC_ASSERT(decoded.ub.extension.maetah.address == packet.ub.extension.maetah.address);
      RC_ASSERT(decoded.ub.extension.mtetah.target_id == packet.ub.extension.mtetah.target_id);
    }
  }
}

RC_GTEST_PROP(Frame, RoceRoundTrip, ()) { expect_round_trip(arbitrary_roce_packet()); }
RC_GTEST_PROP(Frame, UbRoundTrip, ()) { expect_round_trip(arbitrary_ub_packet()); }
RC_GTEST_PROP(Frame, UbRoundTripWithIcrc, ()) {
  expect_round_trip(arbitrary_ub_packet(), WireOptions{true, true});
}

RC_GTEST_PROP(Frame, DatagramRoundTrip, ()) {
  Packet packet = arbitrary_flag() ? arbitrary_roce_packet() : arbitrary_ub_packet();
  if (packet.protocol == Protocol::kUb && packet.ub.encapsulation != UbEncapsulation::kUdp)
    RC_DISCARD("needs UDP");
  if (packet.protocol == Protocol::kUb && packet.ub.operator_tag) RC_DISCARD("no Ethernet");
  std::vector<std::byte> datagram(encoded_bytes(packet));
  const std::size_t length = encode_datagram(packet, datagram);
  datagram.resize(length);
  const std::vector<std::byte> frame = frame_of(packet);
  RC_ASSERT(std::equal(datagram.begin(), datagram.end(), frame.end() - static_cast<std::ptrdiff_t>(length)));
  Packet decoded;
  decoded.protocol = packet.protocol;
  decoded.source = packet.source;
  decoded.destination = packet.destination;
  decoded.entropy = packet.entropy;
  decoded.ip_version = packet.ip_version;
  RC_ASSERT(decode_datagram(datagram, decoded) == DropReason::kNone);
  RC_ASSERT(decoded.header_bytes == wire_header_bytes(packet));
  RC_ASSERT(payload_equal(decoded.payload, packet.payload));
}

/// A frame cut anywhere is refused, never read beyond its end.
RC_GTEST_PROP(Frame, EveryTruncationIsRefusedOrShortensData, ()) {
  const Packet packet = arbitrary_flag() ? arbitrary_roce_packet() : arbitrary_ub_packet();
  const std::vector<std::byte> frame = frame_of(packet);
  const auto length = *rc::gen::inRange<std::size_t>(0, frame.size());
  const std::vector<std::byte> cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(length));
  Packet decoded;
  const DropReason reason = decode(cut, link_type(packet), decoded);
  const bool delimited = packet.protocol == Protocol::kRoce ||
                         packet.ub.encapsulation == UbEncapsulation::kUdp ||
                         packet.ub.encapsulation == UbEncapsulation::kIpOnLink;
  if (delimited) RC_ASSERT(reason != DropReason::kNone);
}

Packet rtp_write(UbEncapsulation encapsulation) {
  Packet packet = ub_packet();
  packet.ub.encapsulation = encapsulation;
  use_request(packet.ub).opcode = TaOpcode::kWrite;
  return packet;
}

std::uint32_t headers_without_fcs(const Packet& packet) { return encoded_bytes(packet); }

// Worked byte counts of public stacks. [ns-3-UB; OpenURMA 5.2]
TEST(Frame, WorkedByteCounts) {
  EXPECT_EQ(headers_without_fcs(rtp_write(UbEncapsulation::kIpOnLink)), 78U);
  EXPECT_EQ(headers_without_fcs(rtp_write(UbEncapsulation::kRawEthernet)), 74U);
  Packet token = rtp_write(UbEncapsulation::kRawEthernet);
  token.ub.request.token_value_present = true;
  EXPECT_EQ(headers_without_fcs(token), 78U);
  Packet send = rtp_write(UbEncapsulation::kRawEthernet);
  send.ub.request.opcode = TaOpcode::kSend;
  EXPECT_EQ(headers_without_fcs(send), 62U);

  Packet ack = ub_packet();
  ack.ub.encapsulation = UbEncapsulation::kIpOnLink;
  ack.ub.rtph.opcode = TpOpcode::kAckCetph;
  use_ack(ack.ub);
  use_response(ack.ub);
  EXPECT_EQ(headers_without_fcs(ack), 70U);
  ack.ub.rtph.opcode = TpOpcode::kAck;
  EXPECT_EQ(headers_without_fcs(ack), 62U);
  ack.ub.rtph.opcode = TpOpcode::kSackCetph;
  EXPECT_EQ(headers_without_fcs(ack), 82U);

  Packet compact = rtp_write(UbEncapsulation::kMemoryOnLink);
  use_ctp(compact.ub);
  compact.ub.entities = UbEntities::kCompact;
  compact.ub.extension.maetah.length = 64;
  EXPECT_EQ(headers_without_fcs(compact), 36U);
  Packet response = compact;
  use_response(response.ub);
  EXPECT_EQ(headers_without_fcs(response), 24U);
}

TEST(Frame, RoceHeaderBytesCountEthernetAndTrailers) {
  Packet ack = roce_packet();
  ack.roce.bth.opcode = RoceOpcode::kRcAcknowledge;
  ack.roce.ack = RocePacket::AckExtension{};
  ack.header_bytes = wire_header_bytes(ack);
  EXPECT_EQ(encoded_bytes(ack), 62U);
  EXPECT_EQ(ack.header_bytes, 66U);
  EXPECT_EQ(frame_bytes(ack), 66U);
  EXPECT_EQ(link_bytes(ack), 86U);
}

TEST(Frame, LinkBytesFillShortFrames) {
  Packet ack = ub_packet();
  ack.ub.rtph.opcode = TpOpcode::kAck;
  ack.header_bytes = wire_header_bytes(ack);
  EXPECT_EQ(ack.header_bytes, 62U);
  EXPECT_EQ(link_bytes(ack), 84U);
}

TEST(Frame, DamageIsFoundByTheIcrc) {
  Packet packet = roce_packet();
  packet.roce.bth.opcode = RoceOpcode::kRcWriteOnly;
  packet.roce.reth = Reth{0x1000, 7, 100};
  packet.payload = pattern_payload(3, 0, 100);
  packet.destination.number = 1;
  const std::vector<std::byte> frame = frame_of(packet);
  Packet decoded;
  for (std::size_t at = 42; at < frame.size(); ++at) {
    if (at == 46) continue;  // BTH byte 4 is masked
    std::vector<std::byte> damaged = frame;
    damaged[at] ^= std::byte{0x10};
    EXPECT_EQ(decode(damaged, LinkType::kEthernet, decoded), DropReason::kBadIcrc) << at;
  }
  std::vector<std::byte> damaged = frame;
  damaged[100] ^= std::byte{1};
  EXPECT_EQ(decode(damaged, LinkType::kEthernet, decoded, WireOptions{false, false}), DropReason::kNone);
}

TEST(Frame, EthernetPaddingAfterTheDatagramIsIgnored) {
  Packet packet = ub_packet();
  packet.ub.rtph.opcode = TpOpcode::kAck;
  packet.destination.number = 1;
  std::vector<std::byte> frame = frame_of(packet);
  EXPECT_EQ(frame.size(), 58U);
  frame.resize(60);
  Packet decoded;
  EXPECT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
  EXPECT_EQ(decoded.ub.transaction, UbTransaction::kNone);
  // A P2 acknowledgement has no length anywhere: zeros up to the shortest frame are padding, anything else is
  // not.
  packet.ub.encapsulation = UbEncapsulation::kRawEthernet;
  frame = frame_of(packet);
  EXPECT_EQ(frame.size(), 42U);
  frame.resize(60);
  EXPECT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
  frame.resize(61);
  EXPECT_NE(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
}

struct Mutation {
  const char* what;
  std::size_t at;
  std::uint8_t value;
  DropReason expected;
};

/// A P1 Write over UDP with three data bytes: Ethernet 0, IP 14, UDP 34, RTPH 42, BTAH 58, MAETAH 66, data
/// 82, pad 85.
TEST(Frame, EachRuleOfAUbFrameIsEnforced) {
  Packet packet = rtp_write(UbEncapsulation::kUdp);
  packet.destination.number = 1;
  packet.payload = pattern_payload(1, 0, 3);
  const std::vector<std::byte> frame = frame_of(packet);
  ASSERT_EQ(frame.size(), 86U);
  const Mutation mutations[] = {
      {"EtherType", 12, 0x07, DropReason::kForeign},
      {"IP version", 14, 0x55, DropReason::kBadIpHeader},
      {"IP options", 14, 0x46, DropReason::kBadIpHeader},
      {"IP length", 17, 0xff, DropReason::kTruncated},
      {"fragment", 20, 0x20, DropReason::kIpFragment},
      {"protocol", 23, 6, DropReason::kForeign},
      {"IP checksum", 24, 0xee, DropReason::kBadIpChecksum},
      {"UDP port", 37, 0xba, DropReason::kForeign},
      {"UDP length", 39, 8, DropReason::kBadUdpLength},
      {"reserved TPOpcode", 42, 0x07, DropReason::kUnknownTransport},
      {"TPOpcode 9", 42, 0x09, DropReason::kUnknownTransport},
      {"TPVer", 43, 0x50, DropReason::kBadTransportVersion},
      {"CIPH", 43, 0x13, DropReason::kUnknownNextHeader},
      {"compact entities after RTPH", 43, 0x12, DropReason::kUnknownNextHeader},
      {"pad", 43, 0x20, DropReason::kBadPadding},
      {"TAVer", 59, 0x40, DropReason::kBadTransportVersion},
      {"UD_FLG", 59, 0x01, DropReason::kUnsupportedHeader},
      {"INI_RC_Type", 63, 0x30, DropReason::kBadRequesterType},
      {"pad byte", 85, 1, DropReason::kBadPadding},
      {"data after Read", 58, 0x06, DropReason::kBadPadding},
      {"operand width", 58, 0x0b, DropReason::kBadPayloadLength},
  };
  Packet decoded;
  ASSERT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
  for (const Mutation& mutation : mutations) {
    std::vector<std::byte> damaged = frame;
    damaged[mutation.at] = std::byte{mutation.value};
    EXPECT_EQ(drop_reason_text(decode(damaged, LinkType::kEthernet, decoded)),
              drop_reason_text(mutation.expected))
        << mutation.what;
  }
}

/// A native link gives no length: what is left must be whole words with the pad that the header announces.
TEST(Frame, PadMustCompleteTheLastWord) {
  Packet packet = rtp_write(UbEncapsulation::kCna24OnLink);
  packet.payload = pattern_payload(1, 0, 4);
  std::vector<std::byte> frame = frame_of(packet);
  Packet decoded;
  EXPECT_EQ(decode(frame, LinkType::kUbLink, decoded), DropReason::kNone);
  frame.pop_back();
  EXPECT_EQ(decode(frame, LinkType::kUbLink, decoded), DropReason::kBadPadding);
}

TEST(Frame, ForeignAddressesAreNotHosts) {
  Packet packet = rtp_write(UbEncapsulation::kUdp);
  packet.destination.number = 1;
  std::vector<std::byte> frame = frame_of(packet);
  // 10 becomes 11, and the checksum is mended by the same amount.
  frame[26] = std::byte{11};
  const auto checksum = static_cast<std::uint16_t>(load_be16(&frame[24]) - 0x100);
  store_be16(&frame[24], checksum);
  Packet decoded;
  EXPECT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kAddressNotInPlan);
}

TEST(Frame, UnknownTransactionOpcodeReachesTheTarget) {
  Packet packet = rtp_write(UbEncapsulation::kUdp);
  packet.ub.request.opcode = static_cast<TaOpcode>(0x7f);
  packet.payload = pattern_payload(1, 0, 40);
  const std::vector<std::byte> frame = frame_of(packet);
  Packet decoded;
  ASSERT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
  EXPECT_EQ(decoded.ub.request.opcode, static_cast<TaOpcode>(0x7f));
  EXPECT_EQ(decoded.payload.length, 40U);
}

TEST(Frame, SackSizeCodesAboveFourAreDropped) {
  Packet packet = ub_packet();
  packet.ub.rtph.opcode = TpOpcode::kSack;
  use_ack(packet.ub);
  std::vector<std::byte> frame = frame_of(packet);
  Packet decoded;
  ASSERT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kNone);
  for (const unsigned byte : {5U, 6U, 7U, 8U, 0x80U}) {
    frame[58] = static_cast<std::byte>(byte);
    EXPECT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kBadSackSize) << byte;
  }
}

}  // namespace
}  // namespace wharf::wire
