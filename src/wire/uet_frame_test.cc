// SPDX-License-Identifier: Apache-2.0
// Ultra Ethernet frames: worked examples byte for byte, round trips, trimming, trailers, and every rule that
// refuses a frame.
#include "wire/uet_frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "tests/support/packet_generator.h"
#include "wire/frame.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/ipv4.h"
#include "wire/uet_codec.h"
#include "wire/uet_tss.h"

namespace wharf::wire {
namespace {

std::vector<std::byte> frame_of(const Packet& packet, const WireOptions& options = {}) {
  std::vector<std::byte> frame(encoded_bytes(packet, options));
  EXPECT_EQ(encode(packet, frame, options), frame.size());
  return frame;
}

std::vector<std::byte> headers_of(const Packet& packet) {
  std::vector<std::byte> headers(uet_header_bytes(packet.uet));
  EXPECT_EQ(encode_uet_headers(packet.uet, packet.payload.length, headers.data()),
            headers.data() + headers.size());
  return headers;
}

/// The four-fragment write of 16,384 bytes that the worked examples of the headers use: job 101, PID 2, RI
/// 0x00a, generation 1, key 0xacce5, PDC 0x4001, Start_PSN 0x12000, no acknowledgement yet.
Packet write_fragment(std::uint32_t index) {
  Packet packet = uet_packet();
  packet.destination.number = 1;
  packet.uet.prologue.flags = kUetAckRequested | kUetSyn;
  UetRequest& pds = use_pds_request(packet.uet, UetPdsType::kRudRequest);
  pds.psn = 0x12000 + index;
  pds.clear_psn_offset = uet_psn_offset(0x11fff, pds.psn);
  pds.source_pdcid = 0x4001;
  pds.destination_pdcid = uet_syn_word(index);
  UetSesRequest& ses = use_ses_request(packet.uet, UetNextHeader::kRequestStandard, UetOpcode::kWrite);
  ses.flags = kUetRelative;
  if (index == 0) ses.flags |= kUetSom | kUetHeaderData;
  if (index == 3) ses.flags |= kUetEom;
  ses.message_id = 1;
  ses.ri_generation = 1;
  ses.job_id = 101;
  ses.pid_on_fep = 2;
  ses.resource_index = 0x00a;
  ses.memory_key = 0xacce5;
  ses.header_data = index == 0 ? 11 : 0;
  ses.message_offset = index * 4096;
  ses.request_length = 16'384;
  packet.payload = pattern_payload(1, index * 4096, 4096);
  return packet;
}

Packet write_ack(UetPsn cumulative) {
  Packet packet = uet_packet();
  packet.source.number = 1;
  packet.traffic_class = TrafficClass::kAcknowledgement;
  UetAck& ack = use_ack(packet.uet);
  ack.cumulative_psn = cumulative;
  ack.source_pdcid = 0x8001;
  ack.destination_pdcid = 0x4001;
  UetSesResponse& response = use_ses_response(packet.uet, UetNextHeader::kResponse);
  response.message_id = 1;
  response.ri_generation = 1;
  response.job_id = 101;
  response.modified_length = 16'384;
  return packet;
}

TEST(UetFrame, GoldenHeadersOfAFragmentedWrite) {
  EXPECT_EQ(headers_of(write_fragment(0)),
            hex_bytes("118C FFFF 00012000 4001 0000"
                      "01 0D 0001 01 000065 0002 000A 0000000000000000 00000000 00000000000ACCE5"
                      "000000000000000B 00004000"));
  EXPECT_EQ(headers_of(write_fragment(1)),
            hex_bytes("118C FFFE 00012001 4001 0001"
                      "01 08 0001 01 000065 0002 000A 0000000000000000 00000000 00000000000ACCE5"
                      "00001000 00001000 00004000"));
  EXPECT_EQ(headers_of(write_fragment(3)),
            hex_bytes("118C FFFC 00012003 4001 0003"
                      "01 0A 0001 01 000065 0002 000A 0000000000000000 00000000 00000000000ACCE5"
                      "00001000 00003000 00004000"));
}

TEST(UetFrame, GoldenHeadersOfItsAcknowledgements) {
  const auto response = std::string("00 01 0001 01 000065 00004000");
  EXPECT_EQ(headers_of(write_ack(0x12000)), hex_bytes("3A00 0000 00012000 8001 4001" + response));
  EXPECT_EQ(headers_of(write_ack(0x12003)), hex_bytes("3A00 0000 00012003 8001 4001" + response));
}

TEST(UetFrame, SizesOfTheWorkedExample) {
  Packet packet = write_fragment(0);
  packet.header_bytes = wire_header_bytes(packet);
  // After IP: 8 UDP + 12 + 44 + 4096 + 4 CRC.
  EXPECT_EQ(encoded_bytes(packet), 14U + 20 + 4164);
  EXPECT_EQ(packet.header_bytes, 14U + 20 + 8 + 12 + 44 + 4 + 4);
  EXPECT_EQ(frame_bytes(packet), 14U + 20 + 4164 + 4);
  EXPECT_EQ(pad_bytes(packet), 0U);
  EXPECT_EQ(packet_name(packet), "WRITE");
  packet.uet.protection = UetProtection::kNone;
  EXPECT_EQ(encoded_bytes(packet), 14U + 20 + 4160);
  packet.uet.encapsulation = UetEncapsulation::kNativeIp;
  EXPECT_EQ(encoded_bytes(packet), 14U + 20 + 4156);
}

TEST(UetFrame, CrcVectors) {
  const char digits[] = "123456789";
  const auto bytes = std::as_bytes(std::span(digits, 9));
  EXPECT_EQ(uet_crc(bytes), 0xe306'9283U);
  EXPECT_EQ(uet_crc(bytes.subspan(4), uet_crc(bytes.first(4))), 0xe306'9283U);
  // RFC 3720 B.4: 32 bytes of zeros, of ones, ascending.
  std::array<std::byte, 32> block{};
  EXPECT_EQ(uet_crc(block), 0x8a91'36aaU);
  block.fill(std::byte{0xff});
  EXPECT_EQ(uet_crc(block), 0x62a8'ab43U);
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i);
  EXPECT_EQ(uet_crc(block), 0x46dd'794eU);
}

TEST(UetFrame, TheCrcCoversSourceAddressToLastByteLeastSignificantFirst) {
  for (const IpVersion version : {IpVersion::kV4, IpVersion::kV6}) {
    Packet packet = write_fragment(0);
    packet.ip_version = version;
    const std::vector<std::byte> frame = frame_of(packet);
    const std::size_t source_at = version == IpVersion::kV4 ? 14 + 12 : 14 + 8;
    const auto covered = std::span(frame).first(frame.size() - 4).subspan(source_at);
    EXPECT_EQ(load_le32(frame.data() + frame.size() - 4), uet_crc(covered));
    WireOptions big;
    big.uet.crc_order = UetCrcOrder::kMostFirst;
    const std::vector<std::byte> other = frame_of(packet, big);
    EXPECT_EQ(load_be32(other.data() + other.size() - 4), uet_crc(covered));
    Packet decoded;
    EXPECT_EQ(decode(other, LinkType::kEthernet, decoded, big), DropReason::kNone);
    EXPECT_EQ(decode(other, LinkType::kEthernet, decoded), DropReason::kBadIcrc);
    for (std::size_t at = source_at + (version == IpVersion::kV4 ? 8 : 32); at < frame.size(); at += 13) {
      if (at >= source_at && at < frame.size() - 4100 && at % 2 == 0) continue;
      std::vector<std::byte> damaged = frame;
      damaged[at] ^= std::byte{1};
      EXPECT_NE(decode(damaged, LinkType::kEthernet, decoded), DropReason::kNone) << at;
    }
    // Time to live and ECN lie before.
    std::vector<std::byte> hopped = frame;
    if (version == IpVersion::kV6) {
      hopped[14 + 7] = std::byte{3};
      EXPECT_EQ(decode(hopped, LinkType::kEthernet, decoded), DropReason::kNone);
    }
  }
}

/// Decoding the frame of a packet gives a packet with the same frame, payload and envelope.
void expect_round_trip(const Packet& packet, const WireOptions& options = {}) {
  const std::vector<std::byte> frame = frame_of(packet, options);
  Packet decoded;
  const DropReason reason = decode(frame, LinkType::kEthernet, decoded, options);
  RC_ASSERT(drop_reason_text(reason) == drop_reason_text(DropReason::kNone));
  RC_ASSERT(decoded.protocol == Protocol::kUet);
  RC_ASSERT(decoded.uet.encapsulation == packet.uet.encapsulation);
  RC_ASSERT(decoded.uet.protection == packet.uet.protection);
  RC_ASSERT(decoded.traffic_class == packet.traffic_class);
  RC_ASSERT(decoded.trim == packet.trim);
  RC_ASSERT(decoded.mark == packet.mark);
  RC_ASSERT(decoded.entropy == packet.entropy);
  RC_ASSERT(decoded.source == packet.source);
  RC_ASSERT(decoded.destination == packet.destination);
  RC_ASSERT(decoded.header_bytes == wire_header_bytes(packet));
  RC_ASSERT(payload_equal(decoded.payload, packet.payload));
  RC_ASSERT(decoded.uet.psn() == packet.uet.psn());
  RC_ASSERT(frame_of(decoded, options) == frame);
}

RC_GTEST_PROP(UetFrame, EveryPacketSurvivesItsFrame, ()) { expect_round_trip(arbitrary_uet_packet()); }

RC_GTEST_PROP(UetFrame, EveryPacketSurvivesWithoutTrailer, ()) {
  Packet packet = arbitrary_uet_packet();
  packet.uet.protection = UetProtection::kNone;
  WireOptions options;
  options.uet.protection = UetProtection::kNone;
  expect_round_trip(packet, options);
}

RC_GTEST_PROP(UetFrame, EveryPacketSurvivesItsDatagram, ()) {
  Packet packet = arbitrary_uet_packet();
  packet.uet.encapsulation = UetEncapsulation::kUdp;
  std::vector<std::byte> datagram(largest_frame_bytes(packet.payload.length));
  datagram.resize(encode_datagram(packet, datagram));
  const std::vector<std::byte> frame = frame_of(packet);
  RC_ASSERT(std::equal(datagram.begin(), datagram.end(),
                       frame.end() - static_cast<std::ptrdiff_t>(datagram.size())));
  Packet decoded;
  decoded.protocol = Protocol::kUet;
  decoded.ip_version = packet.ip_version;
  decoded.source = packet.source;
  decoded.destination = packet.destination;
  decoded.entropy = packet.entropy;
  decoded.traffic_class = packet.traffic_class;
  decoded.mark = packet.mark;
  RC_ASSERT(decode_datagram(datagram, decoded) == DropReason::kNone);
  RC_ASSERT(decoded.header_bytes == wire_header_bytes(packet));
  RC_ASSERT(frame_of(decoded) == frame);
}

RC_GTEST_PROP(UetFrame, NoPrefixOfAFrameIsAPacket, ()) {
  const Packet packet = arbitrary_uet_packet();
  std::vector<std::byte> frame = frame_of(packet);
  frame.resize(*rc::gen::inRange<std::size_t>(0, frame.size()));
  Packet decoded;
  RC_ASSERT(decode(frame, LinkType::kEthernet, decoded) != DropReason::kNone);
}

RC_GTEST_PROP(UetFrame, AnyBytesAreDecodedOrRefused, (const std::vector<std::uint8_t>& bytes)) {
  UetPacket uet;
  Payload payload;
  std::uint32_t header_bytes = 0;
  const auto transport = std::as_bytes(std::span(bytes));
  if (decode_uet(transport, uet, payload) == DropReason::kNone)
    RC_ASSERT(uet_header_bytes(uet) + payload.length == bytes.size());
  if (decode_uet_trimmed(transport, uet, header_bytes) == DropReason::kNone)
    RC_ASSERT(header_bytes <= bytes.size());
}

RC_GTEST_PROP(UetFrame, TrimmedPacketsKeepTheirHeaders, ()) {
  Packet packet = arbitrary_uet_packet();
  packet.traffic_class = TrafficClass::kData;
  trim_packet(packet, arbitrary_flag() ? TrimState::kTrimmed : TrimState::kTrimmedLastHop);
  RC_ASSERT(packet.payload.length == 0U);
  const std::vector<std::byte> frame = frame_of(packet);
  Packet decoded;
  RC_ASSERT(decode(frame, LinkType::kEthernet, decoded) == DropReason::kNone);
  RC_ASSERT(decoded.trim == packet.trim);
  RC_ASSERT(decoded.payload.length == 0U);
  RC_ASSERT(decoded.header_bytes == wire_header_bytes(packet));
  RC_ASSERT(frame_of(decoded) == frame);
}

/// What a switch does to the bytes of a frame: cuts it, writes the DSCP, mends the checksum, and leaves the
/// lengths or writes them anew.
std::vector<std::byte> trimmed_frame(const Packet& packet, std::size_t bytes, bool lengths_anew) {
  std::vector<std::byte> frame = frame_of(packet);
  frame.resize(bytes);
  Ipv4Header ip = decode_ipv4(frame.data() + 14);
  ip.type_of_service = UetDscp{}.trimmed_last_hop << 2U;
  if (lengths_anew) {
    ip.total_length = static_cast<std::uint16_t>(bytes - 14);
    store_be16(frame.data() + 38, static_cast<std::uint16_t>(bytes - 34));
  }
  encode(ip, frame.data() + 14);
  return frame;
}

TEST(UetFrame, TrimmedFramesMayHaveStaleLengthsAndHalfASesHeader) {
  const Packet packet = write_fragment(2);
  for (const bool lengths_anew : {false, true}) {
    Packet decoded;
    // 24 bytes after IP are the least that a switch keeps with UDP; 98 is all headers; then some data.
    for (const std::size_t bytes : {58U, 64U, 98U, 200U}) {
      ASSERT_EQ(decode(trimmed_frame(packet, bytes, lengths_anew), LinkType::kEthernet, decoded),
                DropReason::kNone)
          << bytes;
      EXPECT_EQ(decoded.trim, TrimState::kTrimmedLastHop);
      EXPECT_EQ(decoded.uet.request.psn, 0x12002U);
      EXPECT_EQ(decoded.uet.request.start_psn(), 0x12000U);
      EXPECT_EQ(decoded.uet.prologue.next, UetNextHeader::kRequestStandard);
      EXPECT_EQ(decoded.uet.ses.message_offset, bytes < 98 ? 0U : 8192U);
      EXPECT_EQ(decoded.uet.ses.payload_length, bytes < 98 ? 0U : 4096U);
      EXPECT_EQ(decoded.payload.length, 0U);
      EXPECT_EQ(decoded.header_bytes, bytes + 4);
    }
    EXPECT_EQ(decode(trimmed_frame(packet, 53, lengths_anew), LinkType::kEthernet, decoded),
              DropReason::kTruncated);
  }
  // The same cut without the code point is damage.
  std::vector<std::byte> cut = frame_of(packet);
  cut.resize(98);
  Packet decoded;
  EXPECT_EQ(decode(cut, LinkType::kEthernet, decoded), DropReason::kTruncated);
}

TEST(UetFrame, CodePointsOfTrafficClassesAreDistinct) {
  const UetDscp dscp;
  for (unsigned i = 0; i < kTrafficClassCount; ++i) {
    Packet packet = write_fragment(0);
    packet.traffic_class = static_cast<TrafficClass>(i);
    EXPECT_EQ(uet_traffic_class_of(uet_dscp_of(packet, dscp), dscp), packet.traffic_class);
    EXPECT_EQ(uet_trim_state_of(uet_dscp_of(packet, dscp), dscp), TrimState::kWhole);
  }
}

TEST(UetFrame, SecuredPacketsAreRefused) {
  std::vector<std::byte> frame = frame_of(write_fragment(0));
  encode(UetTss{7, 0x123456, 0, 1, false, true}, frame.data() + 42);
  Packet decoded;
  EXPECT_EQ(decode(frame, LinkType::kEthernet, decoded), DropReason::kSecured);
}

struct Mutation {
  const char* what;
  std::size_t at;
  std::uint8_t value;
  DropReason expected;
};

/// Ethernet 0, IP 14, UDP 34, PDS 42, SES 54, data 98.
TEST(UetFrame, EachRuleIsEnforced) {
  WireOptions options;
  options.uet.verify_crc = false;
  const std::vector<std::byte> frame = frame_of(write_fragment(1), options);
  const Mutation mutations[] = {
      {"IP protocol", 23, 6, DropReason::kForeign},
      {"UDP port", 37, 0xba, DropReason::kForeign},
      {"UDP length", 39, 8, DropReason::kBadUdpLength},
      {"type 0", 42, 0x01, DropReason::kUnknownTransport},
      {"type 15", 42, 0x79, DropReason::kUnknownTransport},
      {"type 31", 42, 0xf9, DropReason::kUnknownTransport},
      {"TSS", 42, 0x09, DropReason::kSecured},
      {"next header 7", 42, 0x13, DropReason::kUnknownNextHeader},
      {"next header 15", 42, 0x17, DropReason::kUnknownNextHeader},
      {"no header after a request", 43, 0x0c, DropReason::kForbiddenHeader},
      {"request after an ACK", 42, 0x39, DropReason::kForbiddenHeader},
      {"request after a NACK", 42, 0x51, DropReason::kForbiddenHeader},
      {"small form of a middle packet", 43, 0x0c, DropReason::kForbiddenHeader},
      {"SES version", 55, 0x48, DropReason::kBadTransportVersion},
      {"read with data", 54, 0x02, DropReason::kBadPayloadLength},
      {"no-op with data", 54, 0x00, DropReason::kBadPayloadLength},
      {"payload length", 89, 0x01, DropReason::kBadPayloadLength},
      {"offset beyond the message", 90, 0x40, DropReason::kBadSegment},
      {"message shorter than the packet", 96, 0x0f, DropReason::kBadSegment},
  };
  Packet decoded;
  ASSERT_EQ(decode(frame, LinkType::kEthernet, decoded, options), DropReason::kNone);
  for (const Mutation& mutation : mutations) {
    if (mutation.at == 43) {
      // Both bytes of the prologue: next header 0.
      std::vector<std::byte> damaged = frame;
      damaged[42] = std::byte{0x10};
      damaged[43] = std::byte{mutation.value};
      EXPECT_EQ(decode(damaged, LinkType::kEthernet, decoded, options), mutation.expected) << mutation.what;
      continue;
    }
    std::vector<std::byte> damaged = frame;
    damaged[mutation.at] = std::byte{mutation.value};
    EXPECT_EQ(drop_reason_text(decode(damaged, LinkType::kEthernet, decoded, options)),
              drop_reason_text(mutation.expected))
        << mutation.what;
  }
}

DropReason reason_of(const std::string& hex) {
  UetPacket uet;
  Payload payload;
  const std::vector<std::byte> bytes = hex_bytes(hex);
  return decode_uet(bytes, uet, payload);
}

TEST(UetFrame, LengthsAndFormsThatContradictAreRefused) {
  const std::string ack = "3a00 0000 00000001 0001 0002 ";
  const std::string response = "00 01 0001 00 000001 00000000 ";
  EXPECT_EQ(reason_of(ack + response), DropReason::kNone);
  EXPECT_EQ(reason_of(ack + response + "00"), DropReason::kBadPayloadLength);
  EXPECT_EQ(reason_of(ack + "00 41 0001 00 000001 00000000"), DropReason::kBadTransportVersion);
  EXPECT_EQ(reason_of("3800 0000 00000001 0001 0002"), DropReason::kNone);
  EXPECT_EQ(reason_of("3800 0000 00000001 0001 0002 00"), DropReason::kBadPayloadLength);
  EXPECT_EQ(reason_of("3800 0000 00000001 0001 00"), DropReason::kTruncated);
  // Response with data: the length field is bytes 10-11, of the small form 2-3.
  EXPECT_EQ(reason_of("3a80 0000 00000001 0001 0002 02 01 0001 00 000001 0001 0002 00000002 00000000 aabb"),
            DropReason::kNone);
  EXPECT_EQ(reason_of("3a80 0000 00000001 0001 0002 02 01 0001 00 000001 0001 0003 00000002 00000000 aabb"),
            DropReason::kBadPayloadLength);
  EXPECT_EQ(reason_of("3b00 0000 00000001 0001 0002 02 01 0002 00 000001 00000001 aabb"), DropReason::kNone);
  EXPECT_EQ(reason_of("3b00 0000 00000001 0001 0002 02 01 0001 00 000001 00000001 aabb"),
            DropReason::kBadPayloadLength);
  // Control packets: known types, no data but for a negotiation.
  EXPECT_EQ(reason_of("5b00 0000 00000000 0001 0002 00000005"), DropReason::kNone);
  EXPECT_EQ(reason_of("5b00 0000 00000000 0001 0002 00000005 00"), DropReason::kBadPayloadLength);
  EXPECT_EQ(reason_of("5c80 0000 00000000 0001 0002 00000005 00"), DropReason::kNone);
  EXPECT_EQ(reason_of("5d00 0000 00000000 0001 0002 00000005"), DropReason::kUnknownOpcode);
  EXPECT_EQ(reason_of("5f80 0000 00000000 0001 0002 00000005"), DropReason::kUnknownOpcode);
  // Small form: one packet, an operation that needs no more, the length that is there.
  const std::string small = "1080 ffff 00000001 0001 0002 ";
  EXPECT_EQ(reason_of(small + "01 03 0002 00 000001 0000 0000 0000000000000000 aabb"), DropReason::kNone);
  EXPECT_EQ(reason_of(small + "01 03 0003 00 000001 0000 0000 0000000000000000 aabb"),
            DropReason::kBadPayloadLength);
  EXPECT_EQ(reason_of(small + "01 01 0002 00 000001 0000 0000 0000000000000000 aabb"),
            DropReason::kBadSegment);
  EXPECT_EQ(reason_of(small + "05 03 0002 00 000001 0000 0000 0000000000000000 aabb"),
            DropReason::kForbiddenHeader);
  // An initiator's error may come without the data.
  EXPECT_EQ(reason_of(small + "01 13 0002 00 000001 0000 0000 0000000000000000"), DropReason::kNone);
  // Medium form of a rendezvous.
  EXPECT_EQ(reason_of("1100 ffff 00000001 0001 0002 06 03 0000 00 000001 0000 0000 0000000000000000 00000000"
                      "0000000000000000"),
            DropReason::kForbiddenHeader);
  // Atomics: four bytes, or 36 and then no data.
  EXPECT_EQ(reason_of(small + "03 03 0002 00 000001 0000 0000 0000000000000000 0203"),
            DropReason::kTruncated);
  EXPECT_EQ(reason_of(small + "03 03 0002 00 000001 0000 0000 0000000000000000 02030000 aabb"),
            DropReason::kNone);
  EXPECT_EQ(reason_of(small + "04 03 0002 00 000001 0000 0000 0000000000000000 0d030000 aabb"),
            DropReason::kTruncated);
}

TEST(UetFrame, WhatOnlyATargetCanJudgePasses) {
  UetPacket uet;
  Payload payload;
  // Reserved SES opcode 0x2a with data, reserved NACK code 0x0c.
  const auto request = hex_bytes(
      "1180 ffff 00000001 0001 0002 2a 03 0001 00 000001 0000 0000 0000000000000000 00000000 0000000000000000"
      "0000000000000000 00000000 aabb");
  ASSERT_EQ(decode_uet(request, uet, payload), DropReason::kNone);
  EXPECT_EQ(uet.ses.opcode, static_cast<UetOpcode>(0x2a));
  EXPECT_EQ(payload.length, 2U);
  const auto nack = hex_bytes("5000 0c00 00000001 0001 0002 00000000");
  ASSERT_EQ(decode_uet(nack, uet, payload), DropReason::kNone);
  EXPECT_EQ(uet_nack_class(uet.nack.code), UetNackClass::kReserved);
}

TEST(UetFrame, ReservedFlagsAreSentAsZeroAndIgnored) {
  Packet packet = write_fragment(0);
  packet.uet.prologue.flags = 0xff;
  EXPECT_EQ(load_be16(headers_of(packet).data()), 0x119c);
  UetPacket uet;
  Payload payload;
  ASSERT_EQ(decode_uet(hex_bytes("387f 0000 00000001 0001 0002"), uet, payload), DropReason::kNone);
  EXPECT_EQ(uet.prologue.flags, 0x3e);
  ASSERT_EQ(decode_uet(hex_bytes("507f 0100 00000001 0001 0002 00000000"), uet, payload), DropReason::kNone);
  EXPECT_EQ(uet.prologue.flags, 0x38);
}

}  // namespace
}  // namespace wharf::wire
