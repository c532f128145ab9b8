// SPDX-License-Identifier: Apache-2.0
// The interface on an Ethernet of datagrams: who answers for an address, what comes through, what does not.
#include "live/ethernet/ethernet_port.h"

#include <gtest/gtest.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
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

void wait_for(const DatagramPort& port) {
  pollfd wait{port.descriptor(), POLLIN, 0};
  while (::poll(&wait, 1, -1) < 0) {
  }
}

/// Memory that lies in the socket of `port`, as the system counts it.
std::uint32_t bytes_waiting(const DatagramPort& port) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t size = sizeof memory;
  EXPECT_EQ(::getsockopt(port.descriptor(), SOL_SOCKET, SO_MEMINFO, memory.data(), &size), 0);
  return memory[SK_MEMINFO_RMEM_ALLOC];
}

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
  /// Waits for all that was said, however late the system brings it.
  std::size_t take() {
    for (;;) {
      wait_for(*port);
      const std::size_t count = port->receive();
      if (count != 0 || port->counters().frames_received >= said) return count;
    }
  }
  std::size_t give(const Bytes8& frame) {
    ++said;
    say(frame);
    return take();
  }
  /// The next frames that the interface sends. What it was not to send would come before them.
  std::vector<Bytes8> heard(std::size_t expected) {
    std::vector<Bytes8> frames;
    while (frames.size() < expected) {
      wait_for(end);
      const std::size_t count = end.receive();
      for (std::size_t each = 0; each < count; ++each) {
        const auto bytes = end.datagram(each).bytes;
        frames.emplace_back(bytes.begin(), bytes.end());
      }
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
  const auto heard = cable.heard(1);
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
  EXPECT_EQ(cable.port->counters().foreign, 1U);
  cable.send(kTheirs, "the next");
  EXPECT_EQ(text_of(std::span(cable.heard(1)[0]).subspan(42)), "the next") << "and no answer";
}

TEST(EthernetPort, AsksBeforeItSends) {
  Cable cable;
  cable.send(kTheirs, "too early");
  EXPECT_EQ(cable.port->counters().unresolved, 1U);
  auto heard = cable.heard(1);
  ASSERT_EQ(heard.size(), 1U);
  const auto question = decode_arp(std::span(heard[0]).subspan(wire::kEthernetBytes));
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->operation, ArpOperation::kRequest);
  EXPECT_EQ(question->target, kTheirs);
  cable.give(arp(ArpOperation::kReply, kOurs, cable.port->mac()));
  cable.send(kTheirs, "now");
  heard = cable.heard(1);
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
  while (cable.port->counters().foreign == 0) EXPECT_EQ(cable.port->receive(), 0U);
  EXPECT_EQ(cable.port->counters().foreign, 1U);
  EXPECT_EQ(cable.port->counters().frames_received, 0U);
}

// Nothing given means that the socket is empty.
TEST(EthernetPort, GivesWhatLiesBehindFramesThatGiveNothing) {
  Cable cable;
  const UdpEndpoint ours{kOurs, kPort};
  constexpr std::uint32_t kForeign = 2 * DatagramPort::kBatch + 8;
  cable.say(datagram(kTheirMac, ours, "other"));
  wait_for(*cable.port);
  const std::uint32_t one = bytes_waiting(*cable.port);
  ASSERT_NE(one, 0U);
  for (std::uint32_t each = 1; each < kForeign; ++each) cable.say(datagram(kTheirMac, ours, "other"));
  cable.say(datagram(cable.port->mac(), ours, "ours!"));
  while (bytes_waiting(*cable.port) < (kForeign + 1) * one) ::sched_yield();
  ASSERT_EQ(cable.port->receive(), 1U);
  EXPECT_EQ(text_of(cable.port->datagram(0).bytes), "ours!");
  EXPECT_EQ(cable.port->counters().foreign, kForeign);
}

TEST(EthernetPort, CountsWhatItsCarrierDrops) {
  EthernetConfig config;
  config.carrier = {kLoopback, 0};
  config.other = {0xffff'ffff, 9};  // A broadcast, which the system refuses.
  config.address = kOurs;
  config.port = kPort;
  const auto port = EthernetPort::open(config).value();
  port->resolve(kTheirs);
  EXPECT_EQ(port->dropped(), 1U);
  port->resolve(kTheirs);
  EXPECT_EQ(port->dropped(), 2U);
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
