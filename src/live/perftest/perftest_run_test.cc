// SPDX-License-Identifier: Apache-2.0
// Both sides of each test of perftest against one another, over an Ethernet of datagrams, with and without
// loss; and what a peer may do wrong. The machine test runs them against perftest itself.
#include "live/perftest/perftest_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "live/perftest/conversation.h"
#include "live/udp/network_headers.h"
#include "wire/ethernet.h"
#include "wire/udp.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kServer = 0x0a4d0001;
constexpr std::uint32_t kClient = 0x0a4d0002;

/// A loopback address of this process alone: a port that is free there stays so until it is wanted. Process
/// numbers have 22 bits.
std::uint32_t own_loopback() {
  return 0x7f000000U | (0x400000U + (static_cast<unsigned>(::getpid()) & 0x3fffffU));
}

PerftestConfig config_of(std::string_view test, std::uint32_t address) {
  PerftestConfig config;
  config.traffic.kind = parse_test_kind(std::string(test)).value();
  config.traffic.bytes = config.traffic.kind.atomic() ? 8 : config.traffic.kind.bandwidth ? 6001 : 2;
  config.traffic.iterations = 300;
  config.traffic.depth = 32;
  config.ethernet.address = address;
  config.ethernet.port = wire::kRocePort;
  return config;
}

struct Pair {
  explicit Pair(std::string_view test) : server(config_of(test, kServer)), client(config_of(test, kClient)) {
    server.traffic.server = true;
    const UdpEndpoint any{own_loopback(), 0};
    server.meeting = client.meeting = ControlListener::open(any).value().local();
    const UdpSocket at_server = UdpSocket::open(any).value();  // Both at once: two ports.
    const UdpSocket at_client = UdpSocket::open(any).value();
    server.ethernet.carrier = client.ethernet.other = at_server.local();
    client.ethernet.carrier = server.ethernet.other = at_client.local();
  }
  void lose(double share) {
    for (PerftestConfig* each : {&server, &client}) {
      each->faults.loss = each->ethernet.loss = Probability::from(share);
      each->faults.seed = each->ethernet.seed = each == &server ? 11 : 12;
    }
  }
  void run() {
    const std::atomic<bool> never{false};
    std::thread other([&] {
      served.emplace(run_perftest(
          server, [] {}, never));
    });
    asked.emplace(run_perftest(
        client, [] {}, never));
    other.join();
  }

  PerftestConfig server;
  PerftestConfig client;
  std::optional<Result<PerftestResult>> served;
  std::optional<Result<PerftestResult>> asked;
};

/// Every byte that came is the one that was sent; the last byte of some messages counts them.
void expect_payload(const Pair& pair) {
  const TestKind& kind = pair.client.traffic.kind;
  if (kind.atomic()) return;  // Sums, which the sides judge.
  const bool reads = kind.verb == verbs::Verb::kRead;
  for (const bool server : {false, true}) {
    const PerftestResult& side = server ? **pair.served : **pair.asked;
    const bool receives = kind.ping_pong() || server != reads;
    if (!receives) continue;
    std::vector<std::byte> expected(pair.client.traffic.bytes);
    for (std::size_t at = 0; at < expected.size(); ++at) expected[at] = payload_byte(at);
    if (kind.ping_pong()) expected.back() = static_cast<std::byte>(pair.client.traffic.iterations);
    EXPECT_EQ(side.landed, expected) << (server ? "server" : "client");
  }
}

class EveryPerftest : public testing::TestWithParam<TestKind> {};

void expect_complete(const Pair& pair) {
  ASSERT_TRUE(pair.asked->ok()) << pair.asked->error().message;
  ASSERT_TRUE(pair.served->ok()) << pair.served->error().message;
  const TestKind& kind = pair.client.traffic.kind;
  for (const PerftestResult* side : {&**pair.asked, &**pair.served}) {
    EXPECT_EQ(side->traffic.violations, 0U) << side->traffic.first_violation;
    EXPECT_EQ(side->counters.undecodable, 0U);
    EXPECT_EQ(side->path_mtu, 4096U);
  }
  const std::uint64_t all = pair.client.traffic.iterations;
  EXPECT_GE((*pair.asked)->traffic.operations, all - (kind.ping_pong() ? 1 : 0));
  if (kind.ping_pong()) {
    EXPECT_EQ((*pair.asked)->traffic.arrivals, all);
    EXPECT_EQ((*pair.served)->traffic.arrivals, all);
  } else if (kind.two_sided()) {
    EXPECT_EQ((*pair.served)->traffic.arrivals, all);
  }
  expect_payload(pair);
}

TEST_P(EveryPerftest, BothSides) {
  Pair pair(GetParam().name);
  pair.run();
  expect_complete(pair);
}

TEST_P(EveryPerftest, BothSidesWithLoss) {
  Pair pair(GetParam().name);
  pair.lose(0.02);
  pair.run();
  expect_complete(pair);
  EXPECT_GT((*pair.asked)->counters.injected_losses + (*pair.served)->counters.injected_losses, 0U);
}

INSTANTIATE_TEST_SUITE_P(Perftest, EveryPerftest, testing::ValuesIn(kTestKinds),
                         [](const auto& each) { return std::string(each.param.name); });

/// A client that says the pieces of `speech`, whatever it hears.
void misspeak(const UdpEndpoint& server, const std::vector<std::string>& speech) {
  auto channel = ControlChannel::connect(server, seconds(5));
  ASSERT_TRUE(channel.ok());
  Conversation talk(*std::move(channel), Conversation::Side::kClient, [] { return Result<void>(); });
  for (const std::string& piece : speech) {
    if (!talk.swap(std::as_bytes(std::span(piece)))) return;
  }
}

std::string served_to(const std::vector<std::string>& speech) {
  Pair pair("write_lat");
  const std::atomic<bool> never{false};
  std::thread other([&] { misspeak(pair.server.meeting, speech); });
  const auto result = run_perftest(
      pair.server, [] {}, never);
  other.join();
  return result.ok() ? "served" : result.error().message;
}

const std::string kVersion("6.06\0\0\0\0\0\0\0\0\0\0\0\0", 16);
const std::string kPage("\0\0\x10\0", 4);
const std::string kLine("\0\0\0\x40", 4);
const std::string kMtu("3\0", 2);

TEST(PerftestServer, SaysWhatAClientDoesWrong) {
  EXPECT_THAT(served_to({}), HasSubstr("closed the connection before the exchange was complete"));
  EXPECT_THAT(served_to({std::string("5.20\0\0\0\0\0\0\0\0\0\0\0\0", 16)}), HasSubstr("version 5.20"));
  EXPECT_THAT(served_to({kVersion, kPage, kLine, std::string("9\0", 2)}), HasSubstr("path MTU 9"));
  EXPECT_THAT(served_to({kVersion, kPage, kLine, kMtu, std::string(108, 'x')}), HasSubstr("between colons"));
  KeyMessage key;
  key.queue_number = 17;
  const KeyBytes bytes = encode(key);
  EXPECT_THAT(served_to({kVersion, kPage, kLine, kMtu,
                         std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())}),
              HasSubstr("GID 00000000000000000000000000000000"));
}

/// The key message of an honest client.
std::string honest_key() {
  KeyMessage key;
  key.queue_number = 17;
  key.gid = gid_of(kClient);
  const KeyBytes bytes = encode(key);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A client that has had its exchange, keeps the connection open, and sends what is no packet until the
/// server has ended.
class Lingerer {
 public:
  Lingerer(const Pair& pair, std::atomic<bool>& stop, bool interrupts) {
    thread_ = std::thread([this, &pair, &stop, interrupts] {
      auto channel = ControlChannel::connect(pair.server.meeting, seconds(60));
      ASSERT_TRUE(channel.ok());
      Conversation talk(*std::move(channel), Conversation::Side::kClient, [] { return Result<void>(); });
      std::vector<std::string> speech{kVersion, kPage, kLine, kMtu};
      const TestKind& kind = pair.server.traffic.kind;
      speech.insert(speech.end(), kind.keys_before + kind.keys_after, honest_key());
      for (const std::string& piece : speech) ASSERT_TRUE(talk.swap(std::as_bytes(std::span(piece))).ok());
      UdpSocket carrier = UdpSocket::open(pair.client.ethernet.carrier).value();
      if (interrupts) stop = true;
      while (!over_) {
        say_junk(carrier, pair);
        ::usleep(20'000);
      }
    });
  }
  void end() {
    over_ = true;
    thread_.join();
  }

 private:
  /// RoCE's port, and nothing that is RoCE.
  static void say_junk(UdpSocket& carrier, const Pair& pair) {
    constexpr std::size_t kJunk = 40;
    const NetworkHeaders headers =
        network_headers({kClient, 51234}, {kServer, wire::kRocePort}, 0, kJunk, IpIdentity{});
    const auto room = carrier.queue(pair.server.ethernet.carrier);
    const wire::MacAddress server{2, 0, 0x0a, 0x4d, 0, 1};
    wire::encode(wire::EthernetHeader{server, {2, 0, 0, 0, 0, 2}, wire::EtherType::kIpv4}, room.data());
    const auto at = std::copy(headers.begin(), headers.end(), room.begin() + wire::kEthernetBytes);
    std::fill(at, at + kJunk, std::byte{0xff});
    carrier.set_queued_length(wire::kEthernetBytes + headers.size() + kJunk);
    carrier.flush();
  }

  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST(PerftestServer, EndsThoughItsClientStaysAndSendsWhatIsNoPacket) {
  Pair pair("read_lat");
  std::atomic<bool> stop{false};
  Lingerer client(pair, stop, false);
  const auto result = run_perftest(
      pair.server, [] {}, stop);
  client.end();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->interrupted);
  EXPECT_GT(result->counters.undecodable, 0U);
}

TEST(PerftestServer, IsInterruptedWhileItsClientStays) {
  Pair pair("read_lat");
  pair.server.repetition.cap = pair.server.stall_patience = seconds(60);  // It would stay so long.
  std::atomic<bool> stop{false};
  Lingerer client(pair, stop, true);
  const auto result = run_perftest(
      pair.server, [] {}, stop);
  client.end();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->interrupted);
}

TEST(PerftestServer, IsInterruptedBeforeAClientComes) {
  Pair pair("read_lat");
  std::atomic<bool> stop{false};
  const auto result = run_perftest(
      pair.server, [&] { stop = true; }, stop);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->interrupted);
  EXPECT_EQ(result->peer, UdpEndpoint{});
}

TEST(PerftestRun, RefusesWhatCannotWork) {
  Pair pair("atomic_lat");
  pair.client.traffic.bytes = 4;
  EXPECT_THAT(check(pair.client).error().message, HasSubstr("an atomic of 4 bytes, expected 8"));
  pair.client = config_of("write_lat", kClient);
  pair.client.traffic.bytes = 0;
  EXPECT_FALSE(check(pair.client).ok());
  pair.client.traffic.bytes = 2;
  pair.client.traffic.depth = 5000;
  EXPECT_FALSE(check(pair.client).ok());
}

}  // namespace
}  // namespace wharf::live
