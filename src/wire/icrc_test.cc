// SPDX-License-Identifier: Apache-2.0
// ICRC vectors: two worked by hand and checked with zlib, one IPv6, one captured from a ConnectX-4 Lx
// (published with Scapy).
#include "wire/icrc.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wire/hex_bytes_test_support.h"

namespace wharf::wire {
namespace {

void expect_icrc(IpVersion version, std::string_view packet, std::string_view trailer) {
  const std::vector<std::byte> bytes = hex_bytes(packet);
  const std::size_t network = version == IpVersion::kV4 ? 28 : 48;
  std::byte written[4];
  store_le32(written, icrc(version, bytes.data(), std::span(bytes).subspan(network)));
  EXPECT_EQ(std::vector<std::byte>(written, written + 4), hex_bytes(trailer));
}

TEST(Icrc, WriteOnlyWithPad) {
  expect_icrc(
      IpVersion::kV4,
      "45020044 12344000 4011A46F C0000201 C0000202 C00012B7 00300000 0A30FFFF 00000012 80000ABC 00007F00 "
      "00001000 00001234 00000005 68656C6C 6F000000",
      "B47277B2");
}

TEST(Icrc, Acknowledge) {
  expect_icrc(
      IpVersion::kV4,
      "45020030 43214000 40117396 C0000202 C0000201 C00112B7 001C0000 1100FFFF 00000034 00000ABC 1F000001",
      "547F9571");
}

TEST(Icrc, AcknowledgeOverIpv6) {
  expect_icrc(IpVersion::kV6,
              "60212345 001C1140 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 "
              "C00012B7 001C0000 1100FFFF 00000034 00000ABC 1F000001",
              "3CA112F1");
}

TEST(Icrc, HardwareCnp) {
  expect_icrc(IpVersion::kV4,
              "45C2003C 718C4000 40119161 0A001101 0A001201 000012B7 00280000 8100FFFF 40000118 00000000 "
              "00000000 00000000 00000000 00000000",
              "82FD002A");
}

TEST(Icrc, SeedIsEightBytesOfOnes) {
  const unsigned char ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
  EXPECT_EQ(::crc32(0, ones, 8), kIcrcSeed);
}

/// Lengths around the point where a packet stops being copied whole.
TEST(Icrc, AgreesWithZlibAtEveryLength) {
  for (std::size_t length = 12; length < 300; ++length) {
    std::vector<std::byte> bytes(28 + length);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
    std::vector<std::byte> masked = bytes;
    for (const std::size_t at : {1, 8, 10, 11, 26, 27, 32}) masked[at] = std::byte{0xff};
    const auto expected = ::crc32(kIcrcSeed, reinterpret_cast<const unsigned char*>(masked.data()),
                                  static_cast<unsigned>(masked.size()));
    EXPECT_EQ(icrc(IpVersion::kV4, bytes.data(), std::span(bytes).subspan(28)), expected) << length;
  }
}

TEST(UbIcrc, CastagnoliCheckValue) {
  const char digits[] = "123456789";
  EXPECT_EQ(ub_icrc(std::as_bytes(std::span(digits, 9))), 0xe306'9283U);
}

}  // namespace
}  // namespace wharf::wire
