// SPDX-License-Identifier: Apache-2.0
// Each header alone: bytes worked out by hand from its layout, and a round trip that finds exactly the
// reserved bits gone.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "wire/address_plan.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/ipv6.h"
#include "wire/roce_bth.h"
#include "wire/roce_extension.h"
#include "wire/ub_lph.h"
#include "wire/ub_nth.h"
#include "wire/ub_ta_extension.h"
#include "wire/ub_tah.h"
#include "wire/ub_tp_extension.h"
#include "wire/ub_tph.h"
#include "wire/udp.h"

namespace wharf::wire {
namespace {

constexpr auto kEncode = [](const auto& header, std::byte* at) { encode(header, at); };

template <typename Header, typename Encode>
std::string encoded(const Header& header, std::uint32_t length, Encode encode_header) {
  std::vector<std::byte> bytes(length);
  encode_header(header, bytes.data());
  return hex_text(bytes);
}
template <typename Header>
std::string encoded(const Header& header, std::uint32_t length) {
  return encoded(header, length, kEncode);
}

/// Decoding and encoding arbitrary bytes keeps every bit that has a meaning and clears the reserved ones,
/// whose complement `used` is.
template <typename Decode, typename Encode>
void expect_round_trip(std::string_view used, Decode decode_header, Encode encode_header) {
  const std::vector<std::byte> mask = hex_bytes(used);
  std::vector<std::byte> bytes(mask.size());
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  std::vector<std::byte> again(mask.size());
  encode_header(decode_header(bytes.data()), again.data());
  for (std::size_t i = 0; i < mask.size(); ++i) bytes[i] &= mask[i];
  RC_ASSERT(hex_text(again) == hex_text(bytes));
}

RC_GTEST_PROP(HeaderRoundTrip, Bth, ()) {
  expect_round_trip("ffffffff c0ffffff 80ffffff", decode_bth,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Reth, ()) {
  expect_round_trip("ffffffffffffffff ffffffff ffffffff", decode_reth,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Aeth, ()) {
  expect_round_trip("ffffffff", decode_aeth, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, AtomicEth, ()) {
  expect_round_trip("ffffffffffffffff ffffffff ffffffffffffffff ffffffffffffffff", decode_atomic_eth,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Deth, ()) {
  expect_round_trip("ffffffff 00ffffff", decode_deth,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Feth, ()) {
  expect_round_trip("0000003f", decode_feth, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Rtph, ()) {
  expect_round_trip("ffff ffffff ffffff c0 ffffff ff ffffff", decode_rtph,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Utph, ()) {
  expect_round_trip("80 ff 0000 00000000 00000000 00000000", decode_utph,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Ctph, ()) {
  expect_round_trip("ff", decode_ctph, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, CompactEidh, ()) {
  expect_round_trip("ffffffffff", decode_compact_eidh,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, FullEidh, ()) {
  expect_round_trip("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", decode_full_eidh,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Cetph, ()) {
  expect_round_trip("ffffffff 03ffffff", decode_cetph,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Saetph, ()) {
  expect_round_trip("07ffffff", decode_saetph, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Cnpetph, ()) {
  expect_round_trip("e0000000000000000000000000000000", decode_cnpetph,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Btah, ()) {
  expect_round_trip("ffffffff ff7fffff", decode_btah,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, BtahOpenUrma, ()) {
  expect_round_trip("ffffffff 7fe30000 0fffff00 00000000", decode_openurma_btah,
                    [](const auto& header, std::byte* at) { encode_openurma(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, BtahCompact, ()) {
  expect_round_trip("ffffffff", decode_compact_btah,
                    [](const auto& header, std::byte* at) { encode_compact(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Atah, ()) {
  expect_round_trip("ffccffff ff3fffff", decode_atah,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, AtahOpenUrma, ()) {
  expect_round_trip("ffccffff ff630000 0fffff00 00000000", decode_openurma_atah,
                    [](const auto& header, std::byte* at) { encode_openurma(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, AtahCompact, ()) {
  expect_round_trip("fff4ffff", decode_compact_atah,
                    [](const auto& header, std::byte* at) { encode_compact(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Maetah, ()) {
  expect_round_trip("ffffffffffffffff 0fffff00 ffffffff", decode_maetah,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, MaetahOpenUrma, ()) {
  expect_round_trip("ffffffffffffffff 000fffff ffffffff", decode_openurma_maetah,
                    [](const auto& header, std::byte* at) { encode_openurma(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, CompactMaetah, ()) {
  expect_round_trip("ffffffffffffffff 0fffff00", decode_compact_maetah,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Mtetah, ()) {
  expect_round_trip("ffcfffff", decode_mtetah, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Notify, ()) {
  expect_round_trip("ffffffffffffffff 0fffff00 ffffffff ffffffffffffffff", decode_notify,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Invalidate, ()) {
  expect_round_trip("0fffff00 ffffffff", decode_invalidate,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, MessageExtension, ()) {
  expect_round_trip("ffff0fff", decode_message_extension,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Lph, ()) {
  expect_round_trip("fdefffff", decode_lph, [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Udp, ()) {
  expect_round_trip("ffffffffffffffff", decode_udp,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}
RC_GTEST_PROP(HeaderRoundTrip, Ethernet, ()) {
  expect_round_trip("ffffffffffffffffffffffffffff", decode_ethernet,
                    [](const auto& header, std::byte* at) { encode(header, at); });
}

/// CC has layouts of its own, by mode; the network headers are checked with each of them.
std::vector<std::byte> with_known_mode(std::vector<std::byte> bytes, std::size_t cc_at) {
  const CongestionField cc = congestion_field(static_cast<std::uint16_t>(
      (*rc::gen::element(0U, 2U, 4U) << 13U) | (load_be16(&bytes[cc_at]) & 0x1fffU)));
  store_be16(&bytes[cc_at], congestion_bits(cc));
  return bytes;
}

template <typename Decode, typename Encode>
void expect_network_round_trip(std::string_view used, std::size_t cc_at, Decode decode_header,
                               Encode encode_header) {
  const std::vector<std::byte> mask = hex_bytes(used);
  std::vector<std::byte> bytes(mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i)
    bytes[i] = static_cast<std::byte>(*rc::gen::inRange(0, 256)) & mask[i];
  bytes = with_known_mode(std::move(bytes), cc_at);
  std::vector<std::byte> again(mask.size());
  encode_header(decode_header(bytes.data()), again.data());
  RC_ASSERT(hex_text(again) == hex_text(bytes));
}

RC_GTEST_PROP(HeaderRoundTrip, NthIp, ()) {
  expect_network_round_trip("ffff 01ffffff", 0, decode_nth_ip, encode_nth_ip);
}
RC_GTEST_PROP(HeaderRoundTrip, NthCna16, ()) {
  expect_network_round_trip("ffff ffff ffff ff ff", 4, decode_nth_cna16, encode_nth_cna16);
}
RC_GTEST_PROP(HeaderRoundTrip, NthCna24, ()) {
  expect_network_round_trip("ffffff ffffff ffff ff ff", 6, decode_nth_cna24, encode_nth_cna24);
}
RC_GTEST_PROP(HeaderRoundTrip, NthOpenUrma, ()) {
  expect_network_round_trip("c0 ffffff ffffff ffff ff ff 00", 7, decode_nth_openurma, encode_nth_openurma);
}

/// The checksum is computed, so it is left out; the flags, offset and everything else stay.
RC_GTEST_PROP(HeaderRoundTrip, Ipv4, ()) {
  std::vector<std::byte> bytes(kIpv4Bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  bytes[0] = std::byte{0x45};
  store_be16(&bytes[10], 0);
  store_be16(&bytes[10], ipv4_checksum(bytes.data()));
  std::vector<std::byte> again(kIpv4Bytes);
  encode(decode_ipv4(bytes.data()), again.data());
  RC_ASSERT(hex_text(again) == hex_text(bytes));
  RC_ASSERT(ipv4_checksum(again.data()) == 0);
}
RC_GTEST_PROP(HeaderRoundTrip, Ipv6, ()) {
  std::vector<std::byte> bytes(kIpv6Bytes);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(*rc::gen::inRange(0, 256));
  bytes[0] = (bytes[0] & std::byte{0x0f}) | std::byte{0x60};
  std::vector<std::byte> again(kIpv6Bytes);
  encode(decode_ipv6(bytes.data()), again.data());
  RC_ASSERT(hex_text(again) == hex_text(bytes));
}

// Values whose fields are told apart by their digits, and the bytes that the layout tables give for them.
TEST(HeaderBytes, Rtph) {
  Rtph rtph;
  rtph.last = true;
  rtph.opcode = TpOpcode::kAckCetph;
  rtph.pad = 2;
  rtph.next = TphNext::kFullEntities;
  rtph.source_tpn = 0x112233;
  rtph.destination_tpn = 0x445566;
  rtph.acknowledge_request = true;
  rtph.psn = 0x778899;
  rtph.status = UbResponseStatus::kError;
  rtph.info = 9;
  rtph.tpmsn = 0xaabbcc;
  EXPECT_EQ(encoded(rtph, kRtphBytes),
            "832111223344556680778899"
            "69aabbcc");
}

TEST(HeaderBytes, CtphAndEntities) {
  EXPECT_EQ(encoded(Ctph{CtpOpcode::kCnp, TphNext::kCompactEntities, 3}, kCtphBytes), "72");
  EXPECT_EQ(encoded(CompactEidh{0x12345, 0x6789a}, kCompactEidhBytes), "123456789a");
}

TEST(HeaderBytes, AcknowledgementExtensions) {
  EXPECT_EQ(encoded(Cetph{0x01020304, 0x1122, 0x55, true, true}, kCetphBytes), "0102030403551122");
  EXPECT_EQ(encoded(Saetph{0x123456, 4}, kSaetphBytes), "04123456");
  EXPECT_EQ(encoded(Cnpetph{3, true}, kCnpetphBytes), "e0000000000000000000000000000000");
  EXPECT_EQ(sack_bitmap_bytes(0), 8U);
  EXPECT_EQ(sack_bitmap_bytes(4), 128U);
  EXPECT_EQ(sack_size_code(1), 0);
  EXPECT_EQ(sack_size_code(65), 1);
  EXPECT_EQ(sack_size_code(1024), 4);
}

Btah sample_btah() {
  Btah btah;
  btah.opcode = TaOpcode::kWrite;
  btah.environment = 1;
  btah.token_value_present = true;
  btah.tassn = 0xabcd;
  btah.no_acknowledge = true;
  btah.order = 5;
  btah.solicited = true;
  btah.exclusive = true;
  btah.requester_type = RequesterContextType::kSequence;
  btah.requester_id = 0x12345;
  btah.service_mode = 3;
  return btah;
}

TEST(HeaderBytes, Btah) {
  const Btah btah = sample_btah();
  EXPECT_EQ(encoded(btah, kTahBytes),
            "0318abcd"
            "d4612345");
  EXPECT_EQ(encoded(btah, kTahOpenUrmaBytes,
                    [](const Btah& header, std::byte* at) { encode_openurma(header, at); }),
            "0318abcd"
            "54c30000"
            "0123450000000000");
  EXPECT_EQ(
      encoded(btah, kTahCompactBytes, [](const Btah& header, std::byte* at) { encode_compact(header, at); }),
      "0318abcd");
}

TEST(HeaderBytes, Atah) {
  Atah atah;
  atah.opcode = TaOpcode::kReadResponse;
  atah.poison = true;
  atah.tassn = 0x1234;
  atah.status = UbResponseStatus::kPageFault;
  atah.info = 2;
  atah.requester_id = 0xabcde;
  EXPECT_EQ(encoded(atah, kTahBytes),
            "12041234"
            "421abcde");
  EXPECT_EQ(encoded(atah, kTahOpenUrmaBytes,
                    [](const Atah& header, std::byte* at) { encode_openurma(header, at); }),
            "12041234"
            "42200000"
            "0abcde0000000000");
  EXPECT_EQ(
      encoded(atah, kTahCompactBytes, [](const Atah& header, std::byte* at) { encode_compact(header, at); }),
      "12241234");
}

TEST(HeaderBytes, TransactionExtensions) {
  const Maetah maetah{0x0102030405060708, 0xabcde, 0x1000};
  EXPECT_EQ(encoded(maetah, kMaetahBytes), "01020304050607080abcde0000001000");
  EXPECT_EQ(
      encoded(maetah, kMaetahBytes, [](const Maetah& header, std::byte* at) { encode_openurma(header, at); }),
      "0102030405060708000abcde00001000");
  EXPECT_EQ(encoded(CompactMaetah{0x1240, 0xabcde, 7, 2, true}, kCompactMaetahBytes),
            "000000000000126f0abcde00");
  EXPECT_EQ(encoded(Mtetah{0x12345, TargetContextType::kJettyGroup, 0x77}, kMtetahBytes), "77812345");
  EXPECT_EQ(encoded(Notify{0x1122, 0x3344, 0xabcde, 0x55667788}, kNotifyBytes),
            "00000000000011220abcde00556677880000000000003344");
  EXPECT_EQ(encoded(Invalidate{0xabcde, 0x11223344}, kInvalidateBytes), "0abcde0011223344");
  EXPECT_EQ(encoded(MessageExtension{0x123, 4, 5, 0x67, true}, kMessageExtensionBytes), "4b670123");
}

TEST(HeaderBytes, CompactAccesses) {
  EXPECT_TRUE(compact_access(64, 64));
  EXPECT_TRUE(compact_access(0, 8192));
  EXPECT_FALSE(compact_access(8, 64));
  EXPECT_FALSE(compact_access(64, 32));
  EXPECT_FALSE(compact_access(64, 16384));
  EXPECT_FALSE(compact_access(64, 96));
  EXPECT_EQ(compact_length_code(64), 0);
  EXPECT_EQ(compact_length_code(8192), 7);
}

/// 4-, 8- and 16-byte operands are big-endian numbers.
TEST(HeaderBytes, AtomicOperands) {
  std::byte at[16];
  encode_operand(0x11223344, 0, 4, at);
  EXPECT_EQ(hex_text(std::span(at, 4)), "11223344");
  encode_operand(0x1122334455667788, 0x99aabbccddeeff00, 16, at);
  EXPECT_EQ(hex_text(at), "99aabbccddeeff001122334455667788");
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  decode_operand(at, 16, low, high);
  EXPECT_EQ(low, 0x1122334455667788U);
  EXPECT_EQ(high, 0x99aabbccddeeff00U);
}

TEST(HeaderBytes, NetworkHeaders) {
  Nth nth;
  nth.source = 0x1230;
  nth.destination = 0x4560;
  nth.cc = CongestionField{CongestionMode::kCaqm, false, true, true, true, 0x7f, 0, 0};
  nth.entropy = 0x99;
  nth.service_level = 8;
  nth.management = true;
  nth.next = NthNext::kRtph;
  nth.partition = 0x1abcdef;
  nth.routing_type = 2;
  EXPECT_EQ(encoded(nth, 8, encode_nth_cna16), "12304560077f998a");
  EXPECT_EQ(encoded(nth, 10, encode_nth_cna24), "001230004560077f998a");
  EXPECT_EQ(encoded(nth, 12, encode_nth_openurma), "80001230004560077f998a00");
  EXPECT_EQ(encoded(nth, 6, encode_nth_ip), "077f01abcdef");
  EXPECT_EQ(encoded(OpTag{nth.cc, 0x2abcdef, 5, 1}, kOpTagBytes), "88b6077f56abcdef");
}

TEST(HeaderBytes, CongestionModes) {
  EXPECT_EQ(congestion_bits(CongestionField{CongestionMode::kFecn, true, false, false, false, 0, 1, 0}),
            0x9001);
  EXPECT_EQ(
      congestion_bits(CongestionField{CongestionMode::kFecnRtt, false, false, false, false, 0, 2, 0x3ff}),
      0x4ffe);
}

TEST(HeaderBytes, Lph) {
  Lph lph;
  lph.acknowledge = true;
  lph.credit_target_lane = 5;
  lph.packet_lane = 0xb;
  lph.config = LinkConfig::kMemory;
  lph.per_packet_balance = true;
  lph.length_blocks = 3;
  lph.last_block_length = 0x11;
  lph.tail_length = 0x12;
  EXPECT_EQ(encoded(lph, kLphBytes), "55698e32");
}

TEST(HeaderBytes, RoceExtensions) {
  EXPECT_EQ(encoded(Reth{0x0102030405060708, 0x11223344, 5}, kRethBytes), "01020304050607081122334400000005");
  EXPECT_EQ(encoded(Aeth{rnr_syndrome(12), 7}, kAethBytes), "2c000007");
  EXPECT_EQ(encoded(Aeth{nak_syndrome(NakCode::kRemoteAccess), 7}, kAethBytes), "62000007");
  EXPECT_EQ(encoded(AtomicEth{0x10, 0x20, 0x30, 0x40}, kAtomicEthBytes),
            "0000000000000010"
            "00000040"
            "0000000000000020"
            "0000000000000030");
  EXPECT_EQ(encoded(Deth{0x11111111, 0x223344}, kDethBytes), "1111111100223344");
  EXPECT_EQ(encoded(Feth{2, 1}, kFethBytes), "00000012");
}

TEST(HeaderBytes, BthOfTheWorkedExample) {
  Bth bth;
  bth.opcode = RoceOpcode::kRcWriteOnly;
  bth.pad = 3;
  bth.destination_queue_pair = 0x12;
  bth.acknowledge_request = true;
  bth.psn = 0xabc;
  EXPECT_EQ(encoded(bth, kBthBytes), "0a30ffff0000001280000abc");
}

TEST(HeaderBytes, Ipv4OfTheWorkedExample) {
  Ipv4Header ip;
  ip.source = 0xc0000201;
  ip.destination = 0xc0000202;
  ip.type_of_service = 2;
  ip.total_length = 68;
  ip.identification = 0x1234;
  EXPECT_EQ(encoded(ip, kIpv4Bytes), "45020044123440004011a46fc0000201c0000202");
}

/// Sizes of the tables: RC, UC and UD opcodes and what follows each BTH.
TEST(RoceOpcodes, HeaderSets) {
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcSendMiddle), 0U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcSendOnlyImmediate), 4U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcWriteFirst), 16U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcWriteMiddle), 0U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcWriteOnlyImmediate), 20U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcReadResponseMiddle), 0U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcReadResponseLast), 4U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcAtomicAcknowledge), 12U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcCompareSwap), 28U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcSendOnlyInvalidate), 4U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcFlush), 20U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kRcAtomicWrite), 16U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kUcWriteOnlyImmediate), 20U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kUdSendOnlyImmediate), 12U);
  EXPECT_EQ(roce_extension_bytes(RoceOpcode::kCnp), 16U);
  int known = 0;
  for (unsigned op = 0; op < 256; ++op) {
    const auto opcode = static_cast<RoceOpcode>(op);
    EXPECT_EQ(roce_headers(opcode) != 0, roce_opcode_name(opcode) != "unknown") << op;
    if (roce_headers(opcode) != 0) ++known;
  }
  EXPECT_EQ(known, 40);
}

TEST(UbOpcodes, EveryKnownOneHasANameAndALayout) {
  int known = 0;
  for (unsigned op = 0; op < 256; ++op) {
    const auto opcode = static_cast<TaOpcode>(op);
    if (ta_opcode_name(opcode) == "unknown") {
      EXPECT_EQ(ta_layout(opcode), 0) << op;
    }
    if (ta_layout(opcode) != 0) ++known;
  }
  EXPECT_EQ(known, 29);  // 0x00..0x18 and the four of OpenURMA; the vendor opcode 0x19 has a name only
}

TEST(AddressPlan, BackAndForth) {
  for (const std::uint32_t number : {0U, 1U, 255U, 256U, 4095U}) {
    const HostAddress host{number};
    EXPECT_EQ(host_of_ipv4(ipv4_of(host)), host);
    EXPECT_EQ(host_of_ipv6(ipv6_of(host)), host);
    EXPECT_EQ(host_of_cna16(cna16_of(host)), host);
    EXPECT_EQ(host_of_cna24(cna24_of(host)), host);
  }
  EXPECT_EQ(ipv4_of(HostAddress{0}), 0x0a000001U);
  EXPECT_EQ(host_of_ipv4(0x0a000000), kNoHost);
  EXPECT_EQ(host_of_ipv4(0x0affffff), kNoHost);
  EXPECT_EQ(host_of_ipv4(ipv4_of(HostAddress{kIpHosts - 1})), HostAddress{kIpHosts - 1});
  EXPECT_EQ(host_of_ipv4(0x0b000001), kNoHost);
  EXPECT_EQ(host_of_cna16(0x11), kNoHost);
  EXPECT_EQ(mac_of(HostAddress{0}), (MacAddress{2, 0, 10, 0, 0, 1}));
}

}  // namespace
}  // namespace wharf::wire
