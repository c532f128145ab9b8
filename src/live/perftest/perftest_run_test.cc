// SPDX-License-Identifier: Apache-2.0
// Both sides of each test of perftest against one another, over an Ethernet of datagrams, with and without
// loss; and what a peer may do wrong. The machine test runs them against perftest itself.
#include "live/perftest/perftest_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "live/perftest/conversation.h"
#include "wire/udp.h"

namespace wharf::live {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kLoopback = 0x7f000001;
constexpr std::uint32_t kServer = 0x0a4d0001;
constexpr std::uint32_t kClient = 0x0a4d0002;

/// A port that nobody has now.
UdpEndpoint free_udp() { return UdpSocket::open({kLoopback, 0}).value().local(); }
UdpEndpoint free_tcp() { return ControlListener::open({kLoopback, 0}).value().local(); }

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
    server.meeting = client.meeting = free_tcp();
    server.ethernet.carrier = client.ethernet.other = free_udp();
    client.ethernet.carrier = server.ethernet.other = free_udp();
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
