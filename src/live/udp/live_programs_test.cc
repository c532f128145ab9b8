// SPDX-License-Identifier: Apache-2.0
// Programs on a live host: their requests keep their order, a queue that goes takes its programs with it, and
// what a session was given goes with the session.
#include <gtest/gtest.h>

#include <vector>

#include "engine/ub/exchange.h"
#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

template <typename E>
class LivePrograms : public testing::Test {};
TYPED_TEST_SUITE(LivePrograms, EngineTypes);

template <typename E>
verbs::Task<void> write_three_times(LiveRemote<E>& remote, verbs::WorkRequest request, int& next,
                                    std::vector<int>& begun, std::vector<int>& ended) {
  for (int round = 0; round < 3; ++round) {
    const int number = next++;
    begun.push_back(number);
    const verbs::Completion completion = co_await remote.execute(request);
    EXPECT_TRUE(completion.ok());
    ended.push_back(number);
  }
}

// A request that finds room does not pass those that wait for it. Completions of one queue pair come in the
// order of its requests (IBTA vol 1 10.8.5).
TEST(LiveProgramsOfRoce, KeepTheirOrderWhenTheQueueIsFull) {
  TestServer server(server_config(wire::Protocol::kRoce));
  const LiveClock clock;
  ClientConfig config = client_config(server);
  config.queue_depth = 2;
  const auto client = Client<roce::RoceEngine>::open(config, clock).value();
  int next = 0;
  std::vector<int> begun;
  std::vector<int> ended;
  const verbs::WorkRequest request = write_request(*client, 0, 8);
  for (int program = 0; program < 7; ++program)
    client->host().core().spawn(write_three_times(client->remote(), request, next, begun, ended));
  while (!client->host().core().finished() && !client->peer_gone()) client->host().step();
  EXPECT_EQ(ended.size(), 21U);
  EXPECT_EQ(begun, ended);
}

template <typename E>
verbs::Task<void> wait_for(LiveRemote<E>& remote, verbs::WorkRequest request, bool& resumed) {
  static_cast<void>(co_await remote.execute(request));
  resumed = true;
}

// Whoever removes a queue destroys the programs that wait for it: nothing of theirs is touched any more.
TYPED_TEST(LivePrograms, AreNotResumedOnceTheirQueueIsGone) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto client = Client<TypeParam>::open(client_config(server), clock).value();
  const verbs::Completion first = run_one(*client, write_request(*client, 0, 8));
  ASSERT_TRUE(first.ok());
  bool resumed = false;
  client->host().core().spawn(wait_for(client->remote(), write_request(*client, 0, 4096), resumed));
  client->host().remove_queue(first.queue);
  const TimePs begun = clock.now();
  while (clock.now() - begun < milliseconds(50)) client->host().step();
  EXPECT_FALSE(resumed);
}

/// Opens a client, as soon as the one before has gone.
template <typename E>
std::unique_ptr<Client<E>> open_when_free(const TestServer& server, const LiveClock& clock) {
  for (;;) {
    auto client = Client<E>::open(client_config(server), clock);
    if (client.ok() || clock.now() > seconds(60)) return *std::move(client);
  }
}

// The record of a session's key serves the next session, under another key: nothing is kept for one that
// left.
TEST(LiveSessions, GiveTheirMemoryKeyBack) {
  ServerConfig config = server_config(wire::Protocol::kRoce);
  config.clients_max = 1;
  TestServer server(config);
  const LiveClock clock;
  std::uint32_t last = 0;
  for (int turn = 0; turn < 4; ++turn) {
    const auto client = open_when_free<roce::RoceEngine>(server, clock);
    const std::uint32_t key = client->remote().segment().token.id;
    if (turn > 0) {
      EXPECT_EQ(key >> 8U, last >> 8U);
    }
    EXPECT_NE(key, last);
    last = key;
  }
}

// [URMA API] A jetty of the server is sent to by whoever knows its token; each session's is its own.
TEST(LiveSessions, EachHasAJettyTokenOfItsOwn) {
  TestServer server(server_config(wire::Protocol::kUb));
  std::uint32_t last = 0;
  for (int turn = 0; turn < 4; ++turn) {
    ManualClient<ub::UbEngine> client(server);
    const auto connected = client.open();
    ASSERT_TRUE(connected.ok()) << connected.error().message;
    const std::uint32_t token = ub::decode_queue_blob(connected->queue).value().token;
    EXPECT_NE(token, 0U);
    EXPECT_NE(token, last);
    last = token;
  }
}

}  // namespace
}  // namespace wharf::live
