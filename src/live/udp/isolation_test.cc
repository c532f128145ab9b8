// SPDX-License-Identifier: Apache-2.0
// What one client of a live server can do to another: nothing, unless it was given the key or the server
// shares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/ub/exchange.h"
#include "engine/uet/exchange.h"
#include "engine/uet/memory_region.h"
#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

using verbs::CompletionStatus;
using verbs::Verb;

template <typename E>
class Isolation : public testing::Test {};
TYPED_TEST_SUITE(Isolation, EngineTypes);

template <typename E>
std::unique_ptr<Client<E>> open_client(const TestServer& server, const LiveClock& clock,
                                       verbs::AccessRights rights = verbs::kFullAccess,
                                       std::uint64_t slice_key = 0) {
  ClientConfig config = client_config(server);
  config.rights = rights;
  config.slice_key = slice_key;
  return Client<E>::open(config, clock).value();
}

/// A request of `client` for eight bytes at the start of `segment`.
template <typename E>
verbs::WorkRequest request_for(Client<E>& client, Verb verb, const verbs::RemoteSegment& segment) {
  verbs::WorkRequest request = write_request(client, 0, 8);
  request.verb = verb;
  request.remote = segment.at(0);
  request.invalidate = segment.token;
  if (verbs::is_atomic(verb)) {
    request.local_count = 0;
    request.length = request.width = 8;
    request.operand[0] = 1;
  }
  return request;
}

// RoCE and UET: the victim's own key is tried, from another domain or job. UB: the TokenID can be guessed,
// the secret cannot.
TYPED_TEST(Isolation, AnotherClientsMemoryIsOutOfReach) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto victim = open_client<TypeParam>(server, clock);
  for (const Verb verb : {Verb::kRead, Verb::kWrite, Verb::kFetchAdd, Verb::kSendInvalidate}) {
    if (!TypeParam::supports(verb)) continue;
    ClientConfig config = client_config(server);
    config.receive_entries = 1;
    config.receive_bytes = 64;
    const auto attacker = Client<TypeParam>::open(config, clock).value();
    verbs::RemoteSegment guessed = victim->remote().segment();
    EXPECT_FALSE(attacker->remote().segment().token == guessed.token);
    if (kProtocolOf<TypeParam> == wire::Protocol::kUb) guessed.token.value ^= 1;
    EXPECT_EQ(run_one(*attacker, request_for(*attacker, verb, guessed)).status,
              CompletionStatus::kRemoteAccess)
        << verbs::name(verb);
  }
  // Nor with the attacker's own token.
  const auto attacker = open_client<TypeParam>(server, clock);
  verbs::RemoteSegment stretched = victim->remote().segment();
  stretched.token = attacker->remote().segment().token;
  EXPECT_EQ(run_one(*attacker, request_for(*attacker, Verb::kWrite, stretched)).status,
            CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(all_zero(server.memory()));
  EXPECT_TRUE(run_one(*victim, write_request(*victim, 0, 8)).ok());
}

/// The blob of a queue as somebody knows it who does not know the session's secret.
engine::ExchangeBlob without_secret(std::type_identity<ub::UbEngine>, const engine::ExchangeBlob& blob) {
  ub::QueueBlob guessed = ub::decode_queue_blob(blob).value();
  guessed.token = 0;
  return ub::encode(guessed);
}
engine::ExchangeBlob without_secret(std::type_identity<uet::UetEngine>, const engine::ExchangeBlob& blob) {
  uet::EndpointBlob guessed = uet::decode_endpoint_blob(blob).value();
  guessed.address.job_id ^= 2;
  return uet::encode(guessed);
}

/// Engines whose queues serve several peers.
template <typename E>
class IsolationOfQueues : public testing::Test {};
using SharedQueueEngines = testing::Types<ub::UbEngine, uet::UetEngine>;
TYPED_TEST_SUITE(IsolationOfQueues, SharedQueueEngines);

TYPED_TEST(IsolationOfQueues, AnotherClientsReceiveEntriesAreOutOfReach) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  ManualClient<TypeParam> victim(server);
  const auto connected = victim.open_with_entries(2);
  ASSERT_TRUE(connected.ok()) << connected.error().message;

  const auto attacker = open_client<TypeParam>(server, clock);
  const engine::ExchangeBlob guessed = without_secret(std::type_identity<TypeParam>(), connected->queue);
  LiveHost<TypeParam>& host = attacker->host();
  const auto queue = host.engine().create_queue(host.now(), {}).value();
  const auto peer = host.engine().connect(host.now(), queue, guessed).value();
  LiveRemote<TypeParam> remote(host, queue, peer, {});
  verbs::Completion completion;
  const verbs::WorkRequest send = request_for(*attacker, Verb::kSend, {});
  host.core().spawn(execute(remote, send, completion));
  while (!host.core().finished() && !attacker->peer_gone()) host.step();
  // UET has a code for a job that does not exist, RC_BAD_JOB_ID, which is no access error.
  EXPECT_THAT(completion.status,
              testing::AnyOf(CompletionStatus::kRemoteAccess, CompletionStatus::kRemoteOperation))
      << verbs::name(completion.status);
  const auto report = exchange<Report>(victim.channel, ReportRequest{}, seconds(60));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->messages, 0U);
  EXPECT_TRUE(all_zero(server.memory()));
}

// [UE 1.0 3.4] Neither key nor endpoint of a session can be told from another's.
TEST(IsolationOfUet, EverySessionHasAJobAnEndpointAndAKeyOfItsOwn) {
  TestServer server(server_config(wire::Protocol::kUet));
  std::vector<std::uint64_t> keys;
  std::vector<std::uint32_t> jobs;
  for (int turn = 0; turn < 8; ++turn) {
    ManualClient<uet::UetEngine> client(server);
    const auto connected = client.open();
    ASSERT_TRUE(connected.ok()) << connected.error().message;
    const uet::EndpointBlob blob = uet::decode_endpoint_blob(connected->queue).value();
    keys.push_back(uet::key_of(connected->segment.token));
    jobs.push_back(blob.address.job_id);
    EXPECT_EQ(keys.back() & ~uet::kKeyUserMask, 0U);
  }
  for (std::size_t index = 1; index < keys.size(); ++index) {
    EXPECT_GT(keys[index] ^ keys[index - 1], 0xffffU);  // Drawn, not counted.
    EXPECT_NE(jobs[index], jobs[index - 1]);
  }
}

TYPED_TEST(Isolation, ASessionHasTheRightsItAskedFor) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto status = [&](verbs::AccessRights rights, Verb verb) {
    const auto client = open_client<TypeParam>(server, clock, rights);
    EXPECT_EQ(client->remote().segment().rights, rights);
    return run_one(*client, request_for(*client, verb, client->remote().segment())).status;
  };
  const verbs::AccessRights no_atomics{.remote_read = true, .remote_write = true};
  EXPECT_EQ(status({}, Verb::kRead), CompletionStatus::kRemoteAccess);
  EXPECT_EQ(status(verbs::kReadOnly, Verb::kRead), CompletionStatus::kSuccess);
  EXPECT_EQ(status(verbs::kReadOnly, Verb::kWrite), CompletionStatus::kRemoteAccess);
  EXPECT_EQ(status(no_atomics, Verb::kFetchAdd), CompletionStatus::kRemoteAccess);
  EXPECT_TRUE(all_zero(server.memory()));
  EXPECT_EQ(status(no_atomics, Verb::kWrite), CompletionStatus::kSuccess);
}

TYPED_TEST(Isolation, ANewSessionFindsZeros) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  for (int turn = 0; turn < 3; ++turn) {
    const auto client = open_client<TypeParam>(server, clock);
    EXPECT_TRUE(all_zero(server.memory())) << turn;
    EXPECT_TRUE(run_one(*client, write_request(*client, 4096, 64)).ok());
    EXPECT_FALSE(all_zero(server.memory()));
  }
}

TYPED_TEST(Isolation, ClientsShareASliceByItsKey) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto first = open_client<TypeParam>(server, clock);
  ClientConfig wrong = client_config(server);
  wrong.slice_key = first->slice_key() ^ 2;
  const auto refused = Client<TypeParam>::open(wrong, clock);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("key"));
  const auto second = open_client<TypeParam>(server, clock, verbs::kFullAccess, first->slice_key());
  EXPECT_EQ(second->remote().segment().base, first->remote().segment().base);
  EXPECT_FALSE(second->remote().segment().token == first->remote().segment().token);
  EXPECT_TRUE(run_one(*second, write_request(*second, 128, 8)).ok());
  const std::vector<std::byte> memory = server.memory();
  EXPECT_EQ(memory[128], std::byte{0xab});
}

TYPED_TEST(Isolation, AServerSharesAllItsMemoryWhenItIsTold) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.shared_memory = true;
  TestServer server(config);
  const LiveClock clock;
  const auto first = open_client<TypeParam>(server, clock);
  const auto second = open_client<TypeParam>(server, clock);
  EXPECT_NE(first->slice_offset(), second->slice_offset());
  for (Client<TypeParam>* client : {first.get(), second.get()}) {
    EXPECT_EQ(client->remote().segment().length, config.memory_bytes);
    EXPECT_TRUE(run_one(*client, write_request(*client, config.memory_bytes - 8, 8)).ok());
    EXPECT_TRUE(run_one(*client, write_request(*client, 0, 8)).ok());
  }
}

}  // namespace
}  // namespace wharf::live
