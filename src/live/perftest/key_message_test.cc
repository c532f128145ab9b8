// SPDX-License-Identifier: Apache-2.0
// The exchange of perftest, byte for byte as two processes of its version 4.5 said it on Soft-RoCE.
#include "live/perftest/key_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

#include "live/perftest/test_kind.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

// The terminating zero belongs to it.
constexpr char kHeard[] =
    "0000:0080:000012:8ff370:00000337:00005558a1b80000:00:00:00:00:00:00:00:00:00:00:ff:ff:0a:4d:00:02:"
    "00000000:";
static_assert(sizeof kHeard == kKeyMessageBytes);

std::span<const std::byte> heard() { return std::as_bytes(std::span(kHeard)); }

TEST(KeyMessage, AsPerftestSaysIt) {
  const auto decoded = decode_key_message(heard());
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->outstanding_reads, 128U);
  EXPECT_EQ(decoded->queue_number, 0x12U);
  EXPECT_EQ(decoded->starting_psn, 0x8ff370U);
  EXPECT_EQ(decoded->key, 0x337U);
  EXPECT_EQ(decoded->address, 0x5558a1b80000U);
  EXPECT_EQ(address_of(decoded->gid).value(), 0x0a4d0002U);
  const KeyBytes again = encode(*decoded);
  EXPECT_EQ(std::memcmp(again.data(), kHeard, sizeof kHeard), 0);
}

RC_GTEST_PROP(KeyMessage, WhatIsAcceptedEncodesToTheSameBytes, ()) {
  KeyBytes bytes;
  std::memcpy(bytes.data(), kHeard, sizeof kHeard);
  const int changes = *rc::gen::inRange(0, 3);
  for (int each = 0; each < changes; ++each)
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] =
        static_cast<std::byte>(*rc::gen::weightedOneOf<char>(
            {{4, rc::gen::elementOf(std::string("0123456789abcdef:"))}, {1, rc::gen::arbitrary<char>()}}));
  const auto decoded = decode_key_message(bytes);
  if (decoded.ok()) RC_ASSERT(encode(*decoded) == bytes);
}

TEST(KeyMessage, EveryPlaceIsChecked) {
  for (std::size_t at = 0; at < kKeyMessageBytes; ++at) {
    KeyBytes bytes;
    std::memcpy(bytes.data(), kHeard, sizeof kHeard);
    bytes[at] = std::byte{'G'};
    const auto decoded = decode_key_message(bytes);
    ASSERT_FALSE(decoded.ok()) << at;
    EXPECT_THAT(decoded.error().message, HasSubstr("between colons"));
  }
  EXPECT_FALSE(decode_key_message(heard().first(59)).ok());
  EXPECT_FALSE(decode_key_message({}).ok());
}

TEST(KeyMessage, RefusesTheManagementQueuePairs) {
  std::string text(kHeard, sizeof kHeard);
  text.replace(10, 6, "000001");
  const auto decoded = decode_key_message(std::as_bytes(std::span(text)));
  ASSERT_FALSE(decoded.ok());
  EXPECT_THAT(decoded.error().message, HasSubstr("queue pair number 1, expected 2 to 16777215"));
}

TEST(KeyMessage, AGidIsAnAddress) {
  EXPECT_EQ(address_of(gid_of(0xc0000201)).value(), 0xc0000201U);
  Gid other = gid_of(0xc0000201);
  other[0] = 0xfe;
  const auto refused = address_of(other);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("fe000000000000000000ffffc0000201"));
}

// 3 is 1024, as for an interface of 1500 bytes.
TEST(KeyMessage, PathMtuIsADigit) {
  const std::array<std::uint32_t, 5> sizes{256, 512, 1024, 2048, 4096};
  for (std::size_t each = 0; each < sizes.size(); ++each) {
    const auto bytes = encode_path_mtu(sizes[each]);
    EXPECT_EQ(bytes[0], static_cast<std::byte>('1' + each));
    EXPECT_EQ(decode_path_mtu(bytes).value(), sizes[each]);
  }
  for (const char wrong : {'0', '6', 'x', '\0'})
    EXPECT_FALSE(decode_path_mtu(std::array{static_cast<std::byte>(wrong), std::byte{0}}).ok());
  EXPECT_FALSE(decode_path_mtu(std::array{std::byte{'3'}, std::byte{'3'}}).ok());
}

std::array<std::byte, kVersionBytes> version(std::string_view text) {
  std::array<std::byte, kVersionBytes> bytes{};
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(KeyMessage, VersionsFromFiveSeventyOn) {
  EXPECT_TRUE(check_version(encode_version()).ok());
  for (const char* good : {"5.70", "5.71", "6.0", "6.22", "10.1"})
    EXPECT_TRUE(check_version(version(good)).ok()) << good;
  for (const char* bad : {"", "5", "5.", "5.69", "4.99", "x.y", "6.06x", "-6.1"})
    EXPECT_FALSE(check_version(version(bad)).ok()) << bad;
}

TEST(TestKind, NamesWithAndWithoutPrefix) {
  for (const TestKind& kind : kTestKinds) {
    EXPECT_EQ(parse_test_kind(std::string(kind.name)).value().name, kind.name);
    EXPECT_EQ(parse_test_kind("ib_" + std::string(kind.name)).value().name, kind.name);
  }
  EXPECT_THAT(parse_test_kind("write_latt").error().message, HasSubstr("did you mean write_lat?"));
}

}  // namespace
}  // namespace wharf::live
