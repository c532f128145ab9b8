// SPDX-License-Identifier: Apache-2.0
// What a client of a live server may take from others: not their names, not their places, not the server's
// time or memory beyond its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

template <typename E>
class ClientLimitsOf : public testing::Test {};
TYPED_TEST_SUITE(ClientLimitsOf, EngineTypes);

// Every secret of another session is worth nothing: it is bound to that session.
TYPED_TEST(ClientLimitsOf, ATokenServesItsSessionAlone) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto victim = Client<TypeParam>::open(client_config(server), clock).value();
  const auto attacker = Client<TypeParam>::open(client_config(server), clock).value();
  verbs::WorkRequest request = write_request(*attacker, 0, 8);
  request.remote = victim->remote().segment().at(0);
  EXPECT_EQ(run_one(*attacker, request).status, CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(all_zero(server.memory()));
  EXPECT_TRUE(run_one(*victim, write_request(*victim, 0, 8)).ok());
}

/// Engines whose queues serve several peers, and outlive a refusal.
template <typename E>
class LimitsOfShared : public testing::Test {};
using SharedQueueEngines = testing::Types<ub::UbEngine, uet::UetEngine>;
TYPED_TEST_SUITE(LimitsOfShared, SharedQueueEngines);

TYPED_TEST(LimitsOfShared, AQueueServesItsSessionAlone) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  ManualClient<TypeParam> victim(server);
  const auto connected = victim.open_with_entries(2);
  ASSERT_TRUE(connected.ok()) << connected.error().message;

  const auto attacker = Client<TypeParam>::open(client_config(server), clock).value();
  LiveHost<TypeParam>& host = attacker->host();
  const auto queue = host.engine().create_queue(host.now(), {}).value();
  const auto peer =
      host.engine().connect(host.now(), queue, connected->queue).value();  // All of it, secrets too.
  LiveRemote<TypeParam> remote(host, queue, peer, {});
  verbs::WorkRequest send = write_request(*attacker, 0, 8);
  send.verb = Verb::kSend;
  verbs::Completion completion;
  host.core().spawn(execute(remote, send, completion));
  while (!host.core().finished() && !attacker->peer_gone()) host.step();
  EXPECT_FALSE(completion.ok());
  const auto report = exchange<Report>(victim.channel, ReportRequest{}, seconds(60));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->messages, 0U);
  EXPECT_TRUE(all_zero(server.memory()));
}

TYPED_TEST(LimitsOfShared, WhoAsksTooOftenForWhatIsNotItsOwnIsSentAway) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.limits.refused_accesses = 8;
  TestServer server(config);
  const LiveClock clock;
  const auto guesser = Client<TypeParam>::open(client_config(server), clock).value();
  const auto honest = Client<TypeParam>::open(client_config(server), clock).value();
  verbs::WorkRequest guess = write_request(*guesser, 0, 8);
  guess.remote.token.value ^= 2;
  guess.remote.token.id ^= 2;
  EXPECT_EQ(run_one(*guesser, guess).status, CompletionStatus::kRemoteAccess);
  // The ninth at the latest; an answer that is sent again counts, too.
  for (int attempt = 1; attempt < 9 && !guesser->peer_gone(); ++attempt) run_one(*guesser, guess);
  while (!guesser->peer_gone()) guesser->host().step();
  const auto why = guesser->farewell();
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(why->message, testing::HasSubstr("more than 8 times"));
  EXPECT_TRUE(run_one(*honest, write_request(*honest, 0, 8)).ok());
  EXPECT_GT(server.stop().counters.refused_accesses, 8U);
}

TYPED_TEST(ClientLimitsOf, ASilentClientLeavesItsPlaceToOneThatComes) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.limits.idle = milliseconds(300);
  TestServer server(config);
  std::deque<ManualClient<TypeParam>> silent;
  for (std::uint32_t index = 0; index < config.clients_max; ++index)
    ASSERT_TRUE(silent.emplace_back(server).open().ok());
  const LiveClock clock;
  const auto comes = [&] { return Client<TypeParam>::open(client_config(server), clock); };
  auto honest = comes();
  while (!honest && clock.now() < seconds(60))
    honest = comes();  // Until the others have been silent long enough.
  ASSERT_TRUE(honest.ok()) << honest.error().message;
  EXPECT_TRUE(run_one(**honest, write_request(**honest, 0, 8)).ok());
  const auto told = silent.front().refusal();  // The one that was silent for longest.
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_THAT(told->reason, testing::HasSubstr("said nothing for 300ms"));
  EXPECT_FALSE(silent.back().channel.peer_gone());
}

TYPED_TEST(ClientLimitsOf, AClientThatSpeaksKeepsItsPlace) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.limits.idle = seconds(3600);
  TestServer server(config);
  const LiveClock clock;
  const auto first = Client<TypeParam>::open(client_config(server), clock).value();
  const auto second = Client<TypeParam>::open(client_config(server), clock).value();
  const auto third = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().kind, ErrorKind::kEnvironment);
  EXPECT_THAT(third.error().message, testing::HasSubstr("--clients allows"));
  EXPECT_TRUE(run_one(*first, write_request(*first, 0, 8)).ok());
}

TYPED_TEST(ClientLimitsOf, OneAddressHasNoMoreThanItsPart) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.limits.per_address = 1;
  config.limits.idle = seconds(3600);
  TestServer server(config);
  const LiveClock clock;
  auto first = Client<TypeParam>::open(client_config(server), clock).value();
  const auto second = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, testing::HasSubstr("--clients-per-address"));
  first.reset();  // It goes within a look or two.
  auto third = Client<TypeParam>::open(client_config(server), clock);
  while (!third && clock.now() < seconds(60)) third = Client<TypeParam>::open(client_config(server), clock);
  EXPECT_TRUE(third.ok());
}

TYPED_TEST(ClientLimitsOf, SecretsComeFromTheKernelUnlessTheyMustRepeat) {
  const auto drawn = [](std::optional<std::uint64_t> seed) {
    ServerConfig config = server_config(kProtocolOf<TypeParam>);
    config.secrets_seed = seed;
    TestServer server(config);
    ManualClient<TypeParam> client(server);
    const auto connected = client.open();
    EXPECT_TRUE(connected.ok());
    return connected->slice_key;
  };
  EXPECT_NE(drawn(std::nullopt), drawn(std::nullopt));
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TYPED_TEST(ClientLimitsOf, TheKeyOfASliceThatWasLeftOpensNothing) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  auto owner = Client<TypeParam>::open(client_config(server), clock).value();
  const std::uint64_t key = owner->slice_key();
  owner.reset();
  ClientConfig config = client_config(server);
  config.slice_key = key;
  auto late = Client<TypeParam>::open(config, clock);
  while (late.ok() &&
         clock.now() < seconds(60)) {  // The server may not have seen yet that the owner is gone.
    late->reset();
    late = Client<TypeParam>::open(config, clock);
  }
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().message, testing::HasSubstr("key"));
  // Nor does it open the slice that its next owner has.
  const auto next = Client<TypeParam>::open(client_config(server), clock).value();
  EXPECT_NE(next->slice_key(), key);
  EXPECT_FALSE(Client<TypeParam>::open(config, clock).ok());
}

}  // namespace
}  // namespace wharf::live
