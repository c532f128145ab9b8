// SPDX-License-Identifier: Apache-2.0
// The interface on an Ethernet of datagrams: who answers for an address, what comes through, what does not.
#include "live/ethernet/ethernet_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "live/ethernet/arp.h"
#include "live/udp/network_headers.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kOurs = 0x0a4d0001;    // 10.77.0.1
constexpr std::uint32_t kTheirs = 0x0a4d0002;  // 10.77.0.2
constexpr std::uint16_t kPort = 4791;
constexpr wire::MacAddress kTheirMac{0x52, 0x54, 0, 0, 0, 2};

using Bytes8 = std::vector<std::byte>;

/// The other end of the cable, which says frames byte for byte.
struct Cable {
  explicit Cable(Probability loss = {}) : end(UdpSocket::open({kLoopback, 0}).value()) {
    EthernetConfig config;
    config.carrier = {kLoopback, 0};
    config.other = end.local();
    config.address = kOurs;
    config.port = kPort;
    config.loss = loss;
    port = EthernetPort::open(config).value();
  }
  void say(const Bytes8& frame) {
    const auto room = end.queue(port->carrier());
    std::copy(frame.begin(), frame.end(), room.begin());
    end.set_queued_length(frame.size());
    end.flush();
  }
  std::size_t take() {
    for (int patience = 0; patience < 1000; ++patience) {
      const std::size_t count = port->receive();
      if (count != 0 || port->counters().frames_received >= said) return count;
    }
    return 0;
  }
  std::size_t give(const Bytes8& frame) {
    ++said;
    say(frame);
    return take();
  }
  std::vector<Bytes8> heard() {
    std::vector<Bytes8> frames;
    const std::size_t count = end.receive();
    for (std::size_t each = 0; each < count; ++each) {
      const auto bytes = end.datagram(each).bytes;
      frames.emplace_back(bytes.begin(), bytes.end());
    }
    return frames;
  }
  void send(std::uint32_t to, std::string_view text) {
    const auto room = port->queue({to, kPort});
    std::transform(text.begin(), text.end(), room.begin(), [](char each) { return std::byte(each); });
    port->set_queued_length(text.size());
    port->flush();
  }

  UdpSocket end;
  std::unique_ptr<EthernetPort> port;
  std::uint64_t said = 0;
};

Bytes8 arp(ArpOperation operation, std::uint32_t target, const wire::MacAddress& to) {
  Bytes8 frame(60);
  wire::encode(wire::EthernetHeader{to, kTheirMac, wire::EtherType::kArp}, frame.data());
  encode(ArpMessage{operation, kTheirMac, kTheirs, {}, target}, frame.data() + wire::kEthernetBytes);
  return frame;
}

constexpr wire::MacAddress kEverybody{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

Bytes8 datagram(const wire::MacAddress& to, const UdpEndpoint& destination, std::string_view text,
                const IpIdentity& ip = {}) {
  const NetworkHeaders headers = network_headers({kTheirs, 51234}, destination, 0x02, text.size(), ip);
  Bytes8 frame(std::max<std::size_t>(60, wire::kEthernetBytes + headers.size() + text.size()));
  wire::encode(wire::EthernetHeader{to, kTheirMac, wire::EtherType::kIpv4}, frame.data());
  auto at = std::copy(headers.begin(), headers.end(), frame.begin() + wire::kEthernetBytes);
  std::transform(text.begin(), text.end(), at, [](char each) { return std::byte(each); });
  return frame;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// [RFC 826]
TEST(EthernetPort, AnswersForItsAddressAlone) {
  Cable cable;
  EXPECT_EQ(cable.give(arp(ArpOperation::kRequest, kOurs, kEverybody)), 0U);
  const auto heard = cable.heard();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(heard[0].size(), 60U);
  const auto ethernet = wire::decode_ethernet(heard[0].data());
  EXPECT_EQ(ethernet.destination, kTheirMac);
  EXPECT_EQ(ethernet.source, cable.port->mac());
  const auto reply = decode_arp(std::span(heard[0]).subspan(wire::kEthernetBytes));
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->operation, ArpOperation::kReply);
  EXPECT_EQ(reply->sender, kOurs);
  EXPECT_EQ(reply->sender_mac, cable.port->mac());
  EXPECT_EQ(reply->target, kTheirs);
  EXPECT_TRUE(cable.port->knows(kTheirs)) << "who asks says where it is";

  EXPECT_EQ(cable.give(arp(ArpOperation::kRequest, kOurs + 7, kEverybody)), 0U);
  EXPECT_TRUE(cable.heard().empty());
  EXPECT_EQ(cable.port->counters().foreign, 1U);
}

TEST(EthernetPort, AsksBeforeItSends) {
  Cable cable;
  cable.send(kTheirs, "too early");
  EXPECT_EQ(cable.port->counters().unresolved, 1U);
  auto heard = cable.heard();
  ASSERT_EQ(heard.size(), 1U);
  const auto question = decode_arp(std::span(heard[0]).subspan(wire::kEthernetBytes));
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->operation, ArpOperation::kRequest);
  EXPECT_EQ(question->target, kTheirs);
  cable.give(arp(ArpOperation::kReply, kOurs, cable.port->mac()));
  cable.send(kTheirs, "now");
  heard = cable.heard();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(wire::decode_ethernet(heard[0].data()).destination, kTheirMac);
  EXPECT_EQ(text_of(std::span(heard[0]).subspan(42)), "now");
}

// What the invariant CRC covers comes with each datagram, and padding of short frames does not.
TEST(EthernetPort, GivesDatagramsOfItsPort) {
  Cable cable;
  const UdpEndpoint ours{kOurs, kPort};
  ASSERT_EQ(cable.give(datagram(cable.port->mac(), ours, "four", {0x1234, false})), 1U);
  const auto& got = cable.port->datagram(0);
  EXPECT_EQ(text_of(got.bytes), "four");
  EXPECT_EQ(got.source, (UdpEndpoint{kTheirs, 51234}));
  EXPECT_EQ(got.service, 0x02);
  EXPECT_EQ(got.ip.identification, 0x1234);
  EXPECT_FALSE(got.ip.do_not_fragment);
  EXPECT_EQ(cable.give(datagram(cable.port->mac(), {kOurs, 53}, "other port")), 0U);
  EXPECT_EQ(cable.give(datagram(cable.port->mac(), {kOurs + 1, kPort}, "other host")), 0U);
  EXPECT_EQ(cable.give(datagram(kEverybody, ours, "broadcast")), 0U);
  EXPECT_EQ(cable.port->counters().foreign, 3U);
}

TEST(EthernetPort, DropsWhatContradictsItself) {
  Cable cable;
  const Bytes8 good = datagram(cable.port->mac(), {kOurs, kPort}, "0123456789012345678901234567890123456789");
  Bytes8 bad = good;
  bad[24] ^= std::byte{1};  // IP header checksum.
  EXPECT_EQ(cable.give(bad), 0U);
  bad = good;
  bad[14] = std::byte{0x46};  // IP options.
  EXPECT_EQ(cable.give(bad), 0U);
  bad = good;
  store_be16(bad.data() + 38, 9);  // UDP length.
  EXPECT_EQ(cable.give(bad), 0U);
  EXPECT_EQ(cable.give(Bytes8(good.begin(), good.end() - 1)), 0U);
  EXPECT_EQ(cable.give(Bytes8(good.begin(), good.begin() + 13)), 0U);
  EXPECT_EQ(cable.port->counters().malformed, 5U);
  for (std::size_t length = 14; length < good.size(); ++length)
    EXPECT_EQ(cable.give(Bytes8(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length))), 0U);
  EXPECT_EQ(cable.give(good), 1U);
}

TEST(EthernetPort, StrangersOnTheCarrierAreIgnored) {
  Cable cable;
  UdpSocket stranger = UdpSocket::open({kLoopback, 0}).value();
  const Bytes8 frame = datagram(cable.port->mac(), {kOurs, kPort}, "stranger");
  const auto room = stranger.queue(cable.port->carrier());
  std::copy(frame.begin(), frame.end(), room.begin());
  stranger.set_queued_length(frame.size());
  stranger.flush();
  for (int patience = 0; patience < 1000 && cable.port->counters().foreign == 0; ++patience)
    EXPECT_EQ(cable.port->receive(), 0U);
  EXPECT_EQ(cable.port->counters().foreign, 1U);
  EXPECT_EQ(cable.port->counters().frames_received, 0U);
}

TEST(EthernetPort, LosesItsShare) {
  Cable cable(Probability::from(0.25));
  cable.give(arp(ArpOperation::kRequest, kOurs, kEverybody));
  for (int each = 0; each < 400; ++each) cable.send(kTheirs, "x");
  EXPECT_GT(cable.port->counters().losses, 60U);
  EXPECT_LT(cable.port->counters().losses, 140U);
}

}  // namespace
}  // namespace wharf::live
