// SPDX-License-Identifier: Apache-2.0
// A server among strangers: random datagrams, wrong tokens, clients that vanish or talk nonsense.
#include "live/udp/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

template <typename E>
class ServerOf : public testing::Test {};
TYPED_TEST_SUITE(ServerOf, EngineTypes);

TYPED_TEST(ServerOf, HostileDatagramsTouchNoMemory) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto client = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(client.ok()) << client.error().message;
  auto stranger = UdpSocket::open({0x7f000001, 0});
  ASSERT_TRUE(stranger.ok());
  RandomStream random(1, "hostile");
  // From a stranger, and from the endpoint of a client in good standing.
  for (DatagramPort* sender : std::array<DatagramPort*, 2>{&*stranger, &(*client)->host().port()}) {
    for (int datagram = 0; datagram < 300; ++datagram) {
      const std::span<std::byte> room = sender->queue(server.packets());
      const std::size_t length = random.below(300);
      for (std::size_t i = 0; i < length; ++i) room[i] = std::byte(random.below(256));
      sender->set_queued_length(length);
      sender->flush();
    }
  }
  // The session still works, which also shows that the server has seen all of it.
  const verbs::Completion written = run_one(**client, write_request(**client, 512, 64));
  EXPECT_TRUE(written.ok()) << verbs::name(written.status);
  client->reset();
  const std::vector<std::byte> copy = server.memory();
  const std::span<const std::byte> memory(copy);
  EXPECT_EQ(memory[512], std::byte{0xab});
  EXPECT_TRUE(all_zero(memory.first(512)) && all_zero(memory.subspan(576)));
  const ServerSummary summary = server.stop();
  EXPECT_GT(summary.counters.unknown_sender, 0U);
  EXPECT_GT(summary.counters.undecodable, 0U);
  std::uint64_t with_reason = 0;
  for (const std::uint64_t each : summary.counters.undecodable_by) with_reason += each;
  EXPECT_EQ(with_reason, summary.counters.undecodable);
  EXPECT_THAT(describe_drops(summary.counters), testing::HasSubstr("unknown sender"));
}

TYPED_TEST(ServerOf, AWrongTokenOrRangeIsRefusedAndMemoryUntouched) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto client = Client<TypeParam>::open(client_config(server), clock);
    ASSERT_TRUE(client.ok()) << client.error().message;
    verbs::WorkRequest request = write_request(**client, 0, 64);
    if (attempt == 0) request.remote.token.id ^= 1;
    if (attempt == 1) request.remote.address += 64 * 1024;
    if (attempt == 2) request.remote.address -= 1;
    const verbs::Completion completion = run_one(**client, request);
    EXPECT_EQ(completion.status, verbs::CompletionStatus::kRemoteAccess) << verbs::name(completion.status);
  }
  EXPECT_TRUE(all_zero(server.memory()));
}

TYPED_TEST(ServerOf, FreesTheClientsThatVanish) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  for (int turn = 0; turn < 20; ++turn) {
    ClientConfig config = client_config(server);
    config.receive_entries = 4;
    config.receive_bytes = 64;
    auto client = Client<TypeParam>::open(config, clock);
    ASSERT_TRUE(client.ok()) << client.error().message;
    // Leaves with a request in flight.
    verbs::Completion never;
    (*client)->host().core().spawn(execute((*client)->remote(), write_request(**client, 0, 64), never));
    if (turn % 2 == 0) (*client)->host().drain();
  }
  EXPECT_EQ(server.stop().clients, 20U);
}

TYPED_TEST(ServerOf, NonsenseOnTheControlChannelEndsThatSessionOnly) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto client = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(client.ok());
  RandomStream random(2, "nonsense");
  for (int turn = 0; turn < 20; ++turn) {
    auto channel = ControlChannel::connect(server.endpoint(), seconds(60));
    ASSERT_TRUE(channel.ok());
    std::vector<std::byte> nonsense =
        turn % 2 == 0 ? encode(Connect{}) : std::vector<std::byte>(random.below(200));
    if (turn % 2 != 0) {
      for (std::byte& each : nonsense) each = std::byte(random.below(256));
    }
    ASSERT_TRUE(channel->send(nonsense, seconds(60)).ok());
    const auto answer = channel->receive(seconds(60));
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    const auto refusal = decode_session_message(*answer);
    ASSERT_TRUE(refusal.ok());
    EXPECT_TRUE(std::holds_alternative<Refusal>(*refusal));
  }
  EXPECT_TRUE(run_one(**client, write_request(**client, 0, 8)).ok());
}

/// What the server's engine holds after `sessions` clients came, wrote, and left without a word.
template <typename E>
std::uint64_t bytes_after(int sessions) {
  TestServer server(server_config(kProtocolOf<E>));
  const LiveClock clock;
  for (int turn = 0; turn < sessions; ++turn) {
    ClientConfig config = client_config(server);
    config.receive_entries = 4;
    config.receive_bytes = 64;
    auto client = Client<E>::open(config, clock);
    EXPECT_TRUE(client.ok()) << client.error().message;
    if (!client.ok()) return 0;
    EXPECT_TRUE(run_one(**client, write_request(**client, 0, 8)).ok());
  }
  const ServerSummary summary = server.stop();
  EXPECT_EQ(summary.clients, static_cast<std::uint64_t>(sessions));
  return summary.engine_bytes;
}

// What is kept per host or queue is used again; ids of queues rest for a while first, so that some are needed
// before the memory stops growing.
TYPED_TEST(ServerOf, ManyShortSessionsTakeNoMoreMemoryThanSome) {
  const std::uint64_t some = bytes_after<TypeParam>(ub::kRestingJetties + 10);
  EXPECT_GT(some, 0U);
  // One or two clients may have been there at once; a channel takes some 90 KiB.
  EXPECT_LE(bytes_after<TypeParam>(3 * ub::kRestingJetties), some + 256 * 1024);
}

TYPED_TEST(ServerOf, AQueueOfAnotherHostIsRefused) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  auto channel = ControlChannel::connect(server.endpoint(), seconds(60));
  ASSERT_TRUE(channel.ok());
  Hello hello;
  hello.protocol = kProtocolOf<TypeParam>;
  hello.udp_port = 1000;
  hello.queue_depth = 16;
  ASSERT_TRUE(channel->send(encode(hello), seconds(60)).ok());
  ASSERT_TRUE(channel->receive(seconds(60)).ok());
  EngineMemory memory;
  auto engine = LiveProtocol<TypeParam>::make({.host = {7}}, memory);
  ASSERT_TRUE(engine.ok());
  const auto queue = (*engine)->create_queue(kTimeZero, {});
  ASSERT_TRUE(queue.ok());
  ASSERT_TRUE(channel->send(encode(Connect{*(*engine)->export_queue(*queue)}), seconds(60)).ok());
  const auto answer = channel->receive(seconds(60));
  ASSERT_TRUE(answer.ok());
  const auto refusal = decode_session_message(*answer);
  ASSERT_TRUE(refusal.ok() && std::holds_alternative<Refusal>(*refusal));
  EXPECT_THAT(std::get<Refusal>(*refusal).reason, testing::HasSubstr("of host 7, expected host 1"));
}

TYPED_TEST(ServerOf, TheClientBeyondTheLimitIsToldWhy) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto first = Client<TypeParam>::open(client_config(server), clock);
  auto second = Client<TypeParam>::open(client_config(server), clock);
  auto third = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(third.error().message, testing::HasSubstr("2 clients already"));
}

TEST(Server, OnceEndsWithItsLastClient) {
  ServerConfig config = server_config(wire::Protocol::kUb);
  config.once = true;
  TestServer server(config);
  const LiveClock clock;
  { const auto client = Client<ub::UbEngine>::open(client_config(server), clock); }
  const ServerSummary summary = server.wait();
  EXPECT_EQ(summary.clients, 1U);
  EXPECT_FALSE(summary.stopped);
}

TEST(Server, RefusesMemoryTooSmallForItsClients) {
  ServerConfig config = server_config(wire::Protocol::kUb);
  config.clients_max = 17;
  const std::atomic<bool> stop{false};
  const auto result = serve(config, {}, stop);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::kInput);
}

}  // namespace
}  // namespace wharf::live
