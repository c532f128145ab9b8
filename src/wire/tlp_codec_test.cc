// SPDX-License-Identifier: Apache-2.0
// Transaction layer packets against bytes worked out by hand from PCIe Base 5.0 2.2, the reasons to refuse
// them, and any packet there and back.
#include "wire/tlp_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/bytes.h"
#include "wire/hex_bytes_test_support.h"
#include "wire/tlp_generator_test_support.h"
#include "wire/tlp_names.h"

namespace wharf::wire {
namespace {

std::vector<std::byte> encoded(const Tlp& tlp) {
  std::vector<std::byte> bytes(tlp_bytes(tlp));
  EXPECT_EQ(encode_tlp(tlp, bytes), bytes.size());
  return bytes;
}

/// Encodes to these bytes, which decode and encode again to themselves.
void expect_bytes(const Tlp& tlp, std::string_view hex) {
  SCOPED_TRACE(hex);
  const std::vector<std::byte> bytes = hex_bytes(hex);
  EXPECT_EQ(hex_text(encoded(tlp)), hex_text(bytes));
  Tlp read;
  ASSERT_EQ(decode_tlp(bytes, read), TlpDropReason::kNone);
  EXPECT_EQ(hex_text(encoded(read)), hex_text(bytes));
}

constexpr PcieId kNic = pcie_id(1, 0, 0);

TEST(TlpBytes, MemoryReads) {
  // Fmt 0, Type 0; 16 double words; requester 01:00.0, tag 0xab, all bytes; address.
  expect_bytes(memory_read_tlp(0x1000, 64, kNic, 0xab), "00000010 0100abff 00001000");
  // Fmt 1 from 4 GiB on.
  expect_bytes(memory_read_tlp(0x1'0000'0000, 64, kNic, 0xab), "20000010 0100abff 00000001 00000000");
  expect_bytes(memory_read_tlp(0xffff'ffc0, 64, kNic, 0xab), "00000010 0100abff ffffffc0");
  // Bytes 3 to 8: the last of the first, all of the second, the first of the third double word.
  expect_bytes(memory_read_tlp(0x1003, 6, kNic, 1), "00000003 01000118 00001000");
  // Two bytes inside one double word, and none.
  expect_bytes(memory_read_tlp(0x1001, 2, kNic, 1), "00000001 01000106 00001000");
  expect_bytes(memory_read_tlp(0x1001, 0, kNic, 1), "00000001 01000100 00001000");
  // 1024 double words are Length 0.
  expect_bytes(memory_read_tlp(0x1000, 4096, kNic, 1), "00000000 010001ff 00001000");
}

TEST(TlpBytes, CommonFields) {
  Tlp tlp = memory_read_tlp(0x1000, 64, kNic, 0x3ab);
  // T9 0x80, class 5 0x50, T8 0x08, IDO 0x04; RO 0x20, NS 0x10, AT 2 0x08.
  tlp.traffic_class = 5;
  tlp.id_based_ordering = tlp.relaxed_ordering = tlp.no_snoop = true;
  tlp.address_type = TlpAddressType::kTranslated;
  expect_bytes(tlp, "00dc3810 0100abff 00001000");
  const auto data = hex_bytes("01020304");
  Tlp poisoned = memory_write_tlp(0x1000, bytes_payload(data), kNic);
  poisoned.poisoned = true;
  expect_bytes(poisoned, "40004001 0100000f 00001000 01020304");
}

TEST(TlpBytes, MemoryWrites) {
  const auto data = hex_bytes("d0d1d2d3d4d5");
  // Six bytes from 0x1'0000'2005 on: three of each of two double words, zeros around them.
  expect_bytes(memory_write_tlp(0x1'0000'2005, bytes_payload(data), kNic),
               "60000002 0100007e 00000001 00002004 00d0d1d2 d3d4d500");
  // Whole double words with holes in the byte enables: one, or an aligned pair.
  const auto eight = hex_bytes("0011223344556677");
  Tlp holes = memory_write_tlp(0x2000, bytes_payload(eight), kNic);
  holes.first_enables = 0b0101;
  holes.last_enables = 0b1001;
  expect_bytes(holes, "40000002 01000095 00002000 00112233 44556677");
}

TEST(TlpBytes, SteeringTags) {
  Tlp read = memory_read_tlp(0x1000, 64, kNic, 0xab);
  read.hints = true;
  read.processing_hint = 2;
  read.steering_tag = 0x5a;
  // TH 0x01; the tag takes the place of the byte enables, PH that of the last address bits.
  expect_bytes(read, "00010010 0100ab5a 00001002");
  const auto data = hex_bytes("01020304");
  Tlp write = memory_write_tlp(0x1000, bytes_payload(data), kNic);
  write.hints = true;
  write.processing_hint = 1;
  write.steering_tag = 0x5a;
  expect_bytes(write, "40010001 01005a0f 00001001 01020304");
}

TEST(TlpBytes, Completions) {
  const Tlp request = memory_read_tlp(0x1004, 100, kNic, 0x1ab);
  const auto data = hex_bytes(std::string(120, 'e'));
  // Up to 0x1040: 60 bytes, 15 double words; byte count 100, lower address 4; T8.
  expect_bytes(completion_data_tlp(request, 0, 0x1004, 100, bytes_payload(data)),
               "4a08000f 00000064 0100ab04" + std::string(120, 'e'));
  // The whole of a page: byte count 0 stands for 4096.
  const auto line = hex_bytes(std::string(128, '1'));
  expect_bytes(
      completion_data_tlp(memory_read_tlp(0x1000, 4096, kNic, 1), 8, 0x1000, 4096, bytes_payload(line)),
      "4a000010 00080000 01000100" + std::string(128, '1'));
  expect_bytes(completion_tlp(request, 0, TlpStatus::kUnsupportedRequest, 100), "0a080000 00002064 0100ab04");
  expect_bytes(completion_tlp(request, 0, TlpStatus::kCompleterAbort, 100), "0a080000 00008064 0100ab04");
  // Of a write to I/O space: nothing but the status; byte count 4.
  Tlp write;
  write.type = TlpType::kIoWrite;
  write.requester = kNic;
  expect_bytes(completion_tlp(write, 8, TlpStatus::kSuccess), "0a000000 00080004 01000000");
}

TEST(TlpBytes, Atomics) {
  const auto operands = hex_bytes("000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f");
  const auto part = [&](std::uint32_t bytes) { return bytes_payload(operands.data(), bytes); };
  // Type 0x0c, 0x0d, 0x0e with data; byte enables are reserved.
  expect_bytes(atomic_tlp(TlpType::kFetchAdd, 0x1008, part(8), kNic, 0xab),
               "4c000002 0100ab00 00001008 0001020304050607");
  expect_bytes(atomic_tlp(TlpType::kFetchAdd, 0x1004, part(4), kNic, 0xab),
               "4c000001 0100ab00 00001004 00010203");
  expect_bytes(atomic_tlp(TlpType::kSwap, 0x2'0000'1008, part(8), kNic, 0xab),
               "6d000002 0100ab00 00000002 00001008 0001020304050607");
  expect_bytes(atomic_tlp(TlpType::kCompareSwap, 0x1004, part(8), kNic, 0xab),
               "4e000002 0100ab00 00001004 0001020304050607");
  expect_bytes(atomic_tlp(TlpType::kCompareSwap, 0x1010, part(32), kNic, 0xab),
               "4e000008 0100ab00 00001010 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
}

TEST(TlpBytes, Messages) {
  Tlp interrupt;
  interrupt.type = TlpType::kMessage;
  interrupt.requester = kNic;
  interrupt.routing = TlpRouting::kLocal;
  interrupt.message_code = 0x20;
  // Fmt 1, Type 0x10 + 4.
  expect_bytes(interrupt, "34000000 01000020 00000000 00000000");
  Tlp vendor = interrupt;
  const auto data = hex_bytes("cafecafe");
  vendor.type = TlpType::kMessageData;
  vendor.routing = TlpRouting::kById;
  vendor.message_code = 0x7f;
  vendor.message = 0x0200'1d0f'0000'0007;
  vendor.dwords = 1;
  vendor.payload = bytes_payload(data);
  expect_bytes(vendor, "72000001 0100007f 02001d0f 00000007 cafecafe");
}

/// Decoded, so that a capture can be read; nothing here sends them.
TEST(TlpBytes, InputOutputAndConfiguration) {
  Tlp tlp;
  ASSERT_EQ(decode_tlp(hex_bytes("02000001 01000501 000003f8"), tlp), TlpDropReason::kNone);
  EXPECT_EQ(tlp.type, TlpType::kIoRead);
  EXPECT_EQ(tlp.address, 0x3f8U);
  EXPECT_EQ(tlp_access_bytes(tlp), 1U);
  // Register 0x104 of 02:1f.3: extended number 1, number 1.
  ASSERT_EQ(decode_tlp(hex_bytes("45000001 0000070f 02fb0104 00000010"), tlp), TlpDropReason::kNone);
  EXPECT_EQ(tlp.type, TlpType::kConfigWrite1);
  EXPECT_EQ(tlp.destination, pcie_id(2, 31, 3));
  EXPECT_EQ(tlp.register_offset, 0x104);
}

TEST(TlpBytes, Prefixes) {
  Tlp tlp = memory_read_tlp(0x1000, 64, kNic, 0xab);
  tlp.prefixes.add(TlpPrefixType::kVendorLocal0, 0x123456);
  tlp.prefixes.add(TlpPrefixType::kPasid, pasid_value({0xa'bcde, false, true}));
  expect_bytes(tlp, "8e123456 912abcde 00000010 0100abff 00001000");
  Tlp read;
  ASSERT_EQ(decode_tlp(encoded(tlp), read), TlpDropReason::kNone);
  EXPECT_EQ(pasid_of(*read.prefixes.find(TlpPrefixType::kPasid)), (Pasid{0xa'bcde, false, true}));
  read.prefixes.remove(TlpPrefixType::kVendorLocal0);
  EXPECT_EQ(hex_text(encoded(read)), hex_text(hex_bytes("912abcde 00000010 0100abff 00001000")));
}

/// The ECRC as 2.7.1 words it, bit by bit: polynomial 0x04c11db7, all ones to begin with, bit 0 of each byte
/// first, complemented, and result bit b of byte n in digest bit 7-b of byte n, the first byte of the digest
/// the highest.
std::uint32_t ecrc_bit_by_bit(std::vector<std::byte> bytes, std::size_t header) {
  bytes[header] |= std::byte{0x01};
  bytes[header + 2] |= std::byte{0x40};
  std::uint32_t crc = 0xffff'ffff;
  for (const std::byte byte : bytes)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const std::uint32_t in = std::to_integer<std::uint32_t>(byte) >> bit & 1U;
      crc = (crc << 1U) ^ (((crc >> 31U) ^ in) != 0 ? 0x04c1'1db7U : 0U);
    }
  crc = ~crc;
  std::uint32_t digest = 0;
  for (unsigned bit = 0; bit < 32; ++bit) digest |= (crc >> bit & 1U) << (bit / 8 * 8 + 7 - bit % 8);
  return digest;
}

TEST(TlpEcrc, MatchesTheWordsOfTheSpecification) {
  for (const char* hex : {"00000010 0100abff 00001000", "60000001 0100000f 00000001 00002000 cafebabe",
                          "9112abcd 00000010 0100abff 00001000"}) {
    std::vector<std::byte> bytes = hex_bytes(hex);
    const std::size_t header = bytes[0] == std::byte{0x91} ? 4 : 0;
    bytes[header + 2] |= std::byte{0x80};
    std::vector<std::byte> digest(4);
    store_be32(digest.data(), ecrc_bit_by_bit(bytes, header));
    std::vector<std::byte> whole = bytes;
    whole.insert(whole.end(), digest.begin(), digest.end());
    Tlp tlp;
    ASSERT_EQ(decode_tlp(whole, tlp), TlpDropReason::kNone) << hex;
    EXPECT_TRUE(tlp.digest);
    EXPECT_EQ(encoded(tlp), whole);
    // What may change under way does not matter: the poison bit, and a local prefix.
    std::vector<std::byte> changed = whole;
    changed[header + 2] ^= std::byte{0x40};
    EXPECT_EQ(decode_tlp(changed, tlp), TlpDropReason::kNone);
    changed.insert(changed.begin(), 4, std::byte{0x8e});
    EXPECT_EQ(decode_tlp(changed, tlp), TlpDropReason::kNone);
    whole[header + 4] ^= std::byte{1};
    EXPECT_EQ(decode_tlp(whole, tlp), TlpDropReason::kBadEcrc);
    EXPECT_EQ(decode_tlp(whole, tlp, {.verify_ecrc = false}), TlpDropReason::kNone);
  }
}

TEST(TlpAccess, CountsOfTheTable) {
  // [2.3.1.1, table 2-39] first and last enables, and the bytes that a completion counts.
  EXPECT_EQ(tlp_access_bytes(1, 0b0000, 0), 1U);
  EXPECT_EQ(tlp_access_bytes(1, 0b1001, 0), 4U);
  EXPECT_EQ(tlp_access_bytes(1, 0b0101, 0), 3U);
  EXPECT_EQ(tlp_access_bytes(1, 0b1010, 0), 3U);
  EXPECT_EQ(tlp_access_bytes(1, 0b0110, 0), 2U);
  EXPECT_EQ(tlp_access_bytes(1, 0b1000, 0), 1U);
  EXPECT_EQ(tlp_access_bytes(2, 0b1000, 0b0001), 2U);
  EXPECT_EQ(tlp_access_bytes(16, 0b1111, 0b1111), 64U);
  EXPECT_EQ(tlp_access_bytes(16, 0b1110, 0b0111), 62U);
}

struct Refusal {
  TlpDropReason reason;
  const char* hex;
};
constexpr Refusal kRefusals[] = {
    {TlpDropReason::kTruncated, ""},
    {TlpDropReason::kTruncated, "00000010 0100abff 000010"},
    {TlpDropReason::kTruncated, "91000001"},
    {TlpDropReason::kReservedFormat, "a0000010 0100abff 00001000"},
    {TlpDropReason::kReservedType, "03000001 0100abff 00001000"},
    {TlpDropReason::kReservedType, "1b000001 0000070f 02fb0104"},
    {TlpDropReason::kReservedType, "22000001 0100050f 00000000 000003f8"},
    {TlpDropReason::kReservedType, "36000000 01000020 00000000 00000000"},
    {TlpDropReason::kLocked, "01000010 0100abff 00001000"},
    {TlpDropReason::kLocked, "21000010 0100abff 00000001 00001000"},
    {TlpDropReason::kLocked, "4b000001 00000004 01000000 00000000"},
    {TlpDropReason::kUnknownPrefix, "92000001 00000010 0100abff 00001000"},
    {TlpDropReason::kUnknownPrefix, "80000001 00000010 0100abff 00001000"},
    {TlpDropReason::kPrefixOrder, "91000001 8e000001 00000010 0100abff 00001000"},
    {TlpDropReason::kTooManyPrefixes, "8e000001 8e000001 8e000001 00000010 0100abff 00001000"},
    {TlpDropReason::kTooManyPrefixes,
     "9e000001 9e000001 9e000001 9e000001 9e000001 00000010 0100abff 00001000"},
    {TlpDropReason::kForbiddenPrefix, "91000001 91000001 00000010 0100abff 00001000"},
    {TlpDropReason::kForbiddenPrefix, "91000001 0a000000 00080004 01000000"},
    {TlpDropReason::kLengthMismatch, "00000010 0100abff 00001000 00000000"},
    {TlpDropReason::kLengthMismatch, "40000002 010000ff 00001000 00000000"},
    {TlpDropReason::kLengthMismatch, "00008010 0100abff 00001000"},
    {TlpDropReason::kLowWideAddress, "20000010 0100abff 00000000 00001000"},
    {TlpDropReason::kCrossesPage, "00000010 0100abff 00001fc4"},
    {TlpDropReason::kBadByteEnables, "00000001 0100ab1f 00001000"},  // A last one of one double word.
    {TlpDropReason::kBadByteEnables, "00000002 0100ab0f 00001000"},  // None of the last.
    {TlpDropReason::kBadByteEnables, "00000002 0100abf0 00001000"},  // None of the first.
    {TlpDropReason::kBadByteEnables, "00000002 0100abf7 00001004"},  // A hole, and no aligned pair.
    {TlpDropReason::kBadByteEnables, "00000003 0100abfa 00001000"},  // A hole, and three.
    {TlpDropReason::kBadByteEnables, "00000003 0100ab5f 00001000"},
    {TlpDropReason::kBadAddressType, "00000c10 0100abff 00001000"},
    {TlpDropReason::kBadAddressType, "40000401 0100000f 00001000 00000000"},
    {TlpDropReason::kBadAddressType, "4c000401 0100ab00 00001000 00000000"},
    {TlpDropReason::kBadFixedField, "02100001 0100050f 000003f8"},
    {TlpDropReason::kBadFixedField, "02002001 0100050f 000003f8"},
    {TlpDropReason::kBadFixedField, "04000002 0000070f 02fb0104"},
    {TlpDropReason::kBadFixedField, "04000801 0000070f 02fb0104"},
    {TlpDropReason::kBadOperandSize, "4c000003 0100ab00 00001000 00000000 00000000 00000000"},
    {TlpDropReason::kBadOperandSize, "4e000001 0100ab00 00001000 00000000"},
    {TlpDropReason::kMisalignedAtomic, "4c000002 0100ab00 00001004 00000000 00000000"},
    {TlpDropReason::kMisalignedAtomic, "4e000004 0100ab00 00001004 00000000 00000000 00000000 00000000"},
    {TlpDropReason::kBadMessage, "30000000 01000020 00000000 00000000"},  // INTx to the root complex.
    {TlpDropReason::kBadMessage, "74000001 01000020 00000000 00000000 00000000"},  // INTx with data.
    {TlpDropReason::kBadMessage, "34000000 01000050 00000000 00000000"},           // A power limit without.
    {TlpDropReason::kBadMessage, "34100000 01000020 00000000 00000000"},           // INTx in class 1.
    {TlpDropReason::kBadCompletionStatus, "4a000001 00002004 01000000 00000000"},
    {TlpDropReason::kBadByteCount, "4a000002 00000004 01000000 00000000 00000000"},
    {TlpDropReason::kBadCompletionSplit, "4a000001 00000040 01000000 00000000"},
    {TlpDropReason::kBadEcrc, "00008010 0100abff 00001000 00000000"},
};

TEST(TlpRefusals, HaveTheirNames) {
  std::set<TlpDropReason> seen = {TlpDropReason::kNone, TlpDropReason::kPayloadTooLong};
  for (const Refusal& refusal : kRefusals) {
    Tlp tlp;
    EXPECT_EQ(tlp_drop_reason_text(decode_tlp(hex_bytes(refusal.hex), tlp)),
              tlp_drop_reason_text(refusal.reason))
        << refusal.hex;
    seen.insert(refusal.reason);
  }
  // Every reason has a case here, and a text of its own.
  std::set<std::string_view> texts;
  for (std::uint32_t i = 0; i < kTlpDropReasonCount; ++i) {
    EXPECT_TRUE(seen.contains(static_cast<TlpDropReason>(i))) << i;
    texts.insert(tlp_drop_reason_text(static_cast<TlpDropReason>(i)));
  }
  EXPECT_EQ(texts.size(), kTlpDropReasonCount);
}

TEST(TlpRefusals, FollowTheRulesOfTheLink) {
  Tlp tlp;
  const auto write = encoded(memory_write_tlp(0x1000, pattern_payload(1, 0, 132), kNic));
  EXPECT_EQ(decode_tlp(write, tlp, {.max_payload = 132}), TlpDropReason::kNone);
  EXPECT_EQ(decode_tlp(write, tlp, {.max_payload = 128}), TlpDropReason::kPayloadTooLong);
  // Ends at 0x40, which is a boundary of 64 and none of 128.
  const auto part = encoded(
      completion_data_tlp(memory_read_tlp(0x1000, 256, kNic, 1), 0, 0x1000, 256, pattern_payload(1, 0, 64)));
  EXPECT_EQ(decode_tlp(part, tlp, {.read_completion_boundary = 64}), TlpDropReason::kNone);
  EXPECT_EQ(decode_tlp(part, tlp, {.read_completion_boundary = 128}), TlpDropReason::kBadCompletionSplit);
}

/// Receivers ignore reserved bits [2.2.1]: a tag of ten bits in a posted request, byte enables of an atomic,
/// hints of a completion.
TEST(TlpRefusals, AreNotForReservedBits) {
  for (const char* hex : {"40880001 0100000f 00001000 00000000", "4c000001 0100abff 00001000 00000000",
                          "0a010000 00080004 01000080", "00000001 0100ab0f 00001003"}) {
    const std::vector<std::byte> bytes = hex_bytes(hex);  // The payload lies in it.
    Tlp tlp;
    EXPECT_EQ(decode_tlp(bytes, tlp), TlpDropReason::kNone) << hex;
    EXPECT_NE(encoded(tlp), bytes) << hex;
  }
}

RC_GTEST_PROP(TlpRoundTrip, AnyPacket, (std::uint64_t seed)) {
  const Tlp tlp = arbitrary_tlp(seed);
  const std::vector<std::byte> bytes = encoded(tlp);
  Tlp read;
  RC_ASSERT(decode_tlp(bytes, read) == TlpDropReason::kNone);
  RC_ASSERT(encoded(read) == bytes);
  RC_ASSERT(read.type == tlp.type);
  RC_ASSERT(read.address == tlp.address);
  RC_ASSERT(read.dwords == tlp.dwords);
  RC_ASSERT(read.requester == tlp.requester);
  RC_ASSERT(read.tag == tlp.tag);
  RC_ASSERT(read.first_enables == tlp.first_enables);
  RC_ASSERT(read.last_enables == tlp.last_enables);
  RC_ASSERT(read.byte_count == tlp.byte_count);
  RC_ASSERT(read.prefixes == tlp.prefixes);
  RC_ASSERT(read.traffic_class == tlp.traffic_class);
  // Any flipped bit that the ECRC covers is seen.
  if (!tlp.digest) return;
  std::vector<std::byte> broken = bytes;
  broken[broken.size() - 1 - seed % 4] ^= std::byte{0x10};
  RC_ASSERT(decode_tlp(broken, read) == TlpDropReason::kBadEcrc);
}

}  // namespace
}  // namespace wharf::wire
