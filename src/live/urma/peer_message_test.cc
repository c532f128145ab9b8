// SPDX-License-Identifier: Apache-2.0
// Messages between libraries: what is written is read, and nothing else is.
#include "live/urma/peer_message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <vector>

#include "live/urma/identity.h"
#include "live/urma/library.h"

namespace wharf::live::urma {
namespace {

RC_GTEST_PROP(PeerMessages, WhatIsWrittenIsRead, ()) {
  PeerMessage message;
  message.kind = static_cast<PeerMessageKind>(*rc::gen::inRange(1, 9));
  message.service = *rc::gen::inRange<std::uint8_t>(0, 5);
  message.name = *rc::gen::inRange<std::uint8_t>(0, 32);
  message.instance = *rc::gen::arbitrary<std::uint64_t>();
  message.cookie = *rc::gen::arbitrary<std::uint64_t>();
  message.uasid = *rc::gen::inRange<std::uint32_t>(1, 0x1000000);
  message.own_number = *rc::gen::inRange<std::uint32_t>(0, 0xffffff);
  message.peer_number = *rc::gen::inRange<std::uint32_t>(0, 0xffffff);
  message.mtu = 1U << *rc::gen::inRange<unsigned>(6, 14);
  message.jetty = *rc::gen::arbitrary<std::uint32_t>();
  message.target = *rc::gen::arbitrary<std::uint32_t>();
  message.nonce = *rc::gen::arbitrary<std::uint32_t>();
  std::array<std::byte, kPeerMessageBytes> bytes{};
  encode(message, bytes);
  RC_ASSERT(is_peer_message(bytes));
  const auto read = decode_peer_message(bytes);
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == message);
}

RC_GTEST_PROP(PeerMessages, AnyBytesAreReadOrRefused, ()) {
  std::vector<std::byte> bytes(*rc::gen::inRange<std::size_t>(0, 80));
  for (std::byte& each : bytes) each = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
  if (*rc::gen::arbitrary<bool>() && bytes.size() >= 8) {  // The beginning of one.
    const std::array<unsigned, 8> first{0xff, 0xff, 1, 1, 0x77, 0x55, 0x52, 0x4d};
    for (std::size_t at = 0; at < first.size(); ++at) bytes[at] = static_cast<std::byte>(first[at]);
  }
  const auto read = decode_peer_message(bytes);
  if (!read) return;
  RC_ASSERT(bytes.size() == kPeerMessageBytes);
  RC_ASSERT(read->uasid != 0 && read->uasid <= kUasidMask);
  RC_ASSERT(read->own_number < 0xffffff && read->peer_number < 0xffffff);
  RC_ASSERT(read->name < 32);
}

TEST(PeerMessages, OfAnotherKindOrNameAreRefused) {
  PeerMessage message;
  message.uasid = 1;
  message.mtu = 1024;
  std::array<std::byte, kPeerMessageBytes> bytes{};
  encode(message, bytes);
  ASSERT_TRUE(decode_peer_message(bytes).has_value());
  bytes[53] = std::byte{32};  // No well-known number.
  EXPECT_FALSE(decode_peer_message(bytes).has_value());
  bytes[53] = std::byte{31};
  EXPECT_TRUE(decode_peer_message(bytes).has_value());
  for (const unsigned kind : {0U, 9U, 255U}) {
    bytes[3] = static_cast<std::byte>(kind);
    EXPECT_FALSE(decode_peer_message(bytes).has_value()) << kind;
  }
}

// Appendix A of the paper has one vector; these are properties that a cookie must have.
TEST(Cookies, DependOnWhoAsksAndOnTheSecret) {
  const std::uint64_t secret[2] = {1, 2};
  const std::uint64_t other[2] = {1, 3};
  EXPECT_EQ(cookie_of(5, 6, secret), cookie_of(5, 6, secret));
  EXPECT_NE(cookie_of(5, 6, secret), cookie_of(5, 7, secret));
  EXPECT_NE(cookie_of(5, 6, secret), cookie_of(6, 6, secret));
  EXPECT_NE(cookie_of(5, 6, secret), cookie_of(5, 6, other));
}

TEST(Identity, APortIsInTheUasid) {
  EXPECT_EQ(port_of(0x420000 | 40000), 40000);
  EXPECT_EQ(port_of(5), 64517) << "ports of the system's services are not taken";
  const auto endpoint = endpoint_of(eid_of(0x7f000001), 0x129c40);
  ASSERT_TRUE(endpoint.has_value());
  EXPECT_EQ(endpoint->address, 0x7f000001U);
  EXPECT_EQ(endpoint->port, 40000);
  EXPECT_FALSE(endpoint_of(eid_of(0x7f000001), 0).has_value()) << "0 is the kernel's";
  EXPECT_FALSE(endpoint_of(eid_of(0x7f000001), 0x1000001).has_value());
  urma_eid_t six{};
  six.raw[0] = 0x20;
  EXPECT_FALSE(endpoint_of(six, 40000).has_value()) << "no IPv4 address";
}

TEST(Identity, APlaceInSharedMemoryIsOfThoseWhoShareIt) {
  find_site();
  const urma_eid_t eid = eid_of(7);
  EXPECT_EQ(eid.raw[0], 0xfd) << "a unique local IPv6 address";
  EXPECT_EQ(address_of(eid), 7U);
  EXPECT_EQ(endpoint_of(eid, 0x129c40)->address, 7U);
  urma_eid_t elsewhere = eid;
  elsewhere.raw[3] ^= 1U;
  EXPECT_FALSE(address_of(elsewhere).has_value());
  EXPECT_FALSE(address_of(mapped_eid(7)).has_value()) << "0.0.0.7 is no place";
  urma_eid_t address = eid_of(0x7f000001);
  EXPECT_EQ(address_of(address), 0x7f000001U);
  address.raw[0] = 0xfd;
  EXPECT_FALSE(address_of(address).has_value());
  EXPECT_TRUE(same_way(7, 8));
  EXPECT_FALSE(same_way(7, 0x7f000001));
}

TEST(Devices, InSharedMemory) {
  const auto devices = parse_devices("shm,shm:9,both=127.0.0.1+shm:65535");
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  EXPECT_EQ((*devices)[0].name, "ub_shm");
  EXPECT_EQ((*devices)[0].addresses, std::vector<std::uint32_t>{1});
  EXPECT_EQ((*devices)[1].name, "ub_shm_9");
  EXPECT_EQ((*devices)[2].addresses, (std::vector<std::uint32_t>{0x7f000001, 65535}));
  for (const char* wrong : {"shm:", "shm:0", "shm:65536", "shm:1x", "0.0.0.9", "0.0.0.0", "x=0.0.0.0"})
    EXPECT_FALSE(parse_devices(wrong).ok()) << wrong;
}

TEST(Devices, AreReadFromOneLine) {
  const auto devices = parse_devices("one=127.0.0.1+127.0.0.2,127.0.0.3,lo");
  ASSERT_TRUE(devices.ok());
  ASSERT_EQ(devices->size(), 3U);
  EXPECT_EQ((*devices)[0].name, "one");
  EXPECT_EQ((*devices)[0].addresses, (std::vector<std::uint32_t>{0x7f000001, 0x7f000002}));
  EXPECT_EQ((*devices)[1].name, "ub_127_0_0_3");
  EXPECT_EQ((*devices)[2].name, "ub_lo");
  EXPECT_FALSE(parse_devices("").ok());
  EXPECT_FALSE(parse_devices("x=").ok());
  EXPECT_FALSE(parse_devices(std::string(70, 'x') + "=127.0.0.1").ok());
}

}  // namespace
}  // namespace wharf::live::urma
