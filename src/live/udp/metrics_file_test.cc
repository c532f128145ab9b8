// SPDX-License-Identifier: Apache-2.0
// The file in which a running server keeps what it counts.
#include "live/udp/metrics_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>

#include "live/udp/live_client_test_support.h"
#include "live/udp/metrics_reading.h"

namespace wharf::live {
namespace {

TEST(MetricsFile, IsInTheTextFormatOfPrometheus) {
  ServerState state;
  state.protocol = "ub";
  state.clients = 2;
  state.counters.unknown_sender = 9;
  state.counters.drop(wire::DropReason::kBadIcrc);
  state.counters.drop(SealDrop::kBadSeal);
  state.counters.drop(SealDrop::kReplayed);
  state.counters.drop(SealDrop::kReplayed);
  state.keyless_total = 5;
  state.engine = {{"dropped_malformed", 4}};
  const std::string text = prometheus_text(state);
  EXPECT_THAT(text, testing::HasSubstr("# HELP wharf_clients Clients whose queue is connected.\n"
                                       "# TYPE wharf_clients gauge\nwharf_clients{protocol=\"ub\"} 2\n"));
  EXPECT_THAT(text, testing::HasSubstr(
                        "wharf_datagrams_dropped_total{protocol=\"ub\",reason=\"unknown sender\"} 9\n"));
  EXPECT_THAT(text, testing::HasSubstr(
                        "wharf_datagrams_dropped_total{protocol=\"ub\",reason=\"bad invariant CRC\"} 1\n"));
  for (const std::string reason : {"short seal\"} 0", "bad seal\"} 1", "replayed\"} 2"})
    EXPECT_THAT(text, testing::HasSubstr("wharf_datagrams_dropped_total{protocol=\"ub\",reason=\"" + reason));
  EXPECT_THAT(text, testing::HasSubstr("wharf_connections_without_key_total{protocol=\"ub\"} 5\n"));
  EXPECT_THAT(text,
              testing::HasSubstr("wharf_engine_total{protocol=\"ub\",counter=\"dropped_malformed\"} 4\n"));
  // Every line is a comment, or a name with labels and a number.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, testing::MatchesRegex("(# (HELP|TYPE) wharf_[a-z_]+ .+)|(# EOF)|"
                                            "(wharf_[a-z_]+[{].+[}] [0-9]+([.][0-9]+)?)"));
  }
}

TEST(MetricsFile, SaysOfAPeerWhatIsKnown) {
  ServerState state;
  state.protocol = "any";
  state.peers.push_back({.number = 3, .address = "1.2.3.4:5", .queue = {}, .traffic = {.bytes_sent = 6}});
  state.peers.push_back({.number = 4, .address = "1.2.3.4:6", .queue = 7, .traffic = {}, .messages = 8});
  const std::string text = prometheus_text(state);
  for (const char* line :
       {"wharf_peer_bytes_sent_total{protocol=\"any\",peer=\"3\",address=\"1.2.3.4:5\"} 6\n",
        "wharf_peer_messages_received_total{protocol=\"any\",peer=\"4\",address=\"1.2.3.4:6\","
        "queue=\"7\"} 8\n"})
    EXPECT_THAT(text, testing::HasSubstr(line));
  EXPECT_EQ(text.find("wharf_peer_messages_received_total{protocol=\"any\",peer=\"3\""), std::string::npos);
  EXPECT_EQ(text.find("wharf_peer_requests_outstanding{"), std::string::npos);
}

TEST(MetricsFile, IsWrittenWhileTheServerRuns) {
  const std::filesystem::path path = testing::TempDir() + "wharf_metrics_" + std::to_string(::getpid());
  ServerConfig config = server_config(live_protocols().front().protocol);
  config.metrics = path;
  TestServer server(config);
  auto stranger = UdpSocket::open({0x7f000001, 0}).value();
  const LiveClock clock;
  std::string text;
  while (text.find("reason=\"unknown sender\"} 0") != std::string::npos || text.empty()) {
    ASSERT_LT(clock.now(), seconds(60)) << text;
    const std::span<std::byte> room = stranger.queue(server.packets());
    room[0] = std::byte{1};
    stranger.set_queued_length(1);
    stranger.flush();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream file(path);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  server.stop();
  std::filesystem::remove(path);
}

template <typename E>
class MetricsOfPeers : public testing::Test {};
TYPED_TEST_SUITE(MetricsOfPeers, EngineTypes);

// What a peer sends again is its own, and its row ends with its session.
TYPED_TEST(MetricsOfPeers, AreThoseOfTheSessionsOfNow) {
  const std::filesystem::path path = testing::TempDir() + "wharf_metrics_" + std::to_string(::getpid());
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.metrics = path;
  TestServer server(config);
  const LiveClock clock;
  auto quiet = Client<TypeParam>::open(client_config(server), clock).value();
  ClientConfig lossy = client_config(server);
  lossy.faults = {Probability::from(0.3), Probability::from(0), 1};
  auto busy = Client<TypeParam>::open(lossy, clock).value();
  for (int operation = 0; operation < 50; ++operation)
    EXPECT_TRUE(run_one(*busy, write_request(*busy, 0, 64)).ok());

  const auto await = [&](auto reached) {
    for (MetricsReading reading;;) {
      auto next = read_metrics(path);
      if (next) reading = *std::move(next);
      if (reached(reading) || clock.now() > seconds(60)) return reading;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  // All that it sent arrived, and was answered at least once: what it sent again had come before. Who asks
  // before it sends again may have had no need to.
  const std::uint64_t again = LiveProtocol<TypeParam>::repetitions(busy->host().engine()).sent;
  if constexpr (!std::is_same_v<TypeParam, uet::UetEngine>) {
    EXPECT_GT(again, 0U);
  }
  const MetricsReading reading = await([again](const MetricsReading& of) {
    return of.peers.size() == 2 && of.peers[1].traffic.datagrams_received >= 50 &&
           of.peers[1].duplicates >= again;
  });
  ASSERT_EQ(reading.peers.size(), 2U);
  EXPECT_EQ(reading.clients, 2U);
  EXPECT_EQ(reading.process, static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(reading.address, format_endpoint(server.endpoint()));
  const PeerReading& other = reading.peers[0];
  const PeerReading& peer = reading.peers[1];
  EXPECT_EQ(peer.address, format_endpoint(busy->host().port().local()));
  EXPECT_EQ(peer.duplicates, again);
  EXPECT_EQ(other.duplicates, 0U);
  EXPECT_GE(peer.traffic.bytes_received, 50U * 64);
  EXPECT_GT(peer.traffic.datagrams_sent, 0U);
  EXPECT_GT(peer.traffic.bytes_sent, 0U);
  EXPECT_EQ(peer.dropped, 0U);
  EXPECT_EQ(peer.traffic.datagrams_received + other.traffic.datagrams_received,
            reading.traffic.datagrams_received);
  EXPECT_EQ(peer.traffic.bytes_sent + other.traffic.bytes_sent, reading.traffic.bytes_sent);
  busy.reset();
  EXPECT_EQ(await([](const MetricsReading& of) { return of.peers.size() == 1; }).peers.size(), 1U);
  server.stop();
  std::filesystem::remove(path);
}

TEST(MetricsFile, APipeIsWrittenThroughWhetherOrNotSomebodyReads) {
  const std::filesystem::path pipe = testing::TempDir() + "wharf_metrics_pipe_" + std::to_string(::getpid());
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  MetricsFile file(pipe);
  ServerState state;
  state.protocol = "any";
  EXPECT_TRUE(file.write(kTimeZero, state).ok());
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_TRUE(file.write(kTimeZero, state).ok());
  std::string text(prometheus_text(state).size(), ' ');
  EXPECT_EQ(::read(reader, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(text, prometheus_text(state));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(file.write(kTimeZero, state).ok());  // It is full by then.
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove(pipe);
}

TEST(MetricsFile, APathThatCannotBeWrittenIsRefusedAtOnce) {
  MetricsFile file("/no/such/folder/metrics");
  const auto written = file.write(kTimeZero, {});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(written.error().message,
              testing::HasSubstr("--metrics /no/such/folder/metrics: cannot be written"));
  EXPECT_FALSE(MetricsFile({}).due(seconds(100)));
}

}  // namespace
}  // namespace wharf::live
