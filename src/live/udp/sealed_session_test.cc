// SPDX-License-Identifier: Apache-2.0
// Sessions between ends that have a key: who has none or another stays out, and who stands in the middle of
// a sealed one reads, changes and repeats nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "engine/driver/engine_driver.h"
#include "live/udp/live_client_test_support.h"
#include "live/udp/measurement.h"
#include "live/udp/recorder_test_support.h"
#include "wire/capture_reader.h"

namespace wharf::live {
namespace {

using verbs::Verb;

const std::atomic<bool> kNeverStop{false};

Key key_of(std::uint8_t first) {
  Key key;
  for (std::size_t at = 0; at < Key::kBytes; ++at)
    key.data()[at] = std::byte(static_cast<std::uint8_t>(first + at));
  return key;
}

ServerConfig keyed_server(wire::Protocol protocol, bool seal_packets) {
  ServerConfig config = server_config(protocol);
  config.psk = key_of(1);
  config.seal_packets = seal_packets;
  return config;
}

ClientConfig keyed_client(const TestServer& server, bool seal_packets) {
  ClientConfig config = client_config(server);
  config.psk = key_of(1);
  config.seal_packets = seal_packets;
  return config;
}

std::uint64_t drops(const LiveCounters& counters, SealDrop reason) {
  return counters.seal_drops[static_cast<std::size_t>(reason)];
}

/// A sealed session by hand, and one packet of it that writes 64 bytes.
template <typename E>
struct SealedByHand {
  explicit SealedByHand(const TestServer& server) : client(server), to(server.packets()) {
    auto keys = secure_as_client(client.channel, key_of(1), kProtocolOf<E>, true, seconds(60));
    WHARF_CHECK(keys.ok());
    seal.emplace(keys->packets_to_server, keys->packets_to_client);
    const auto welcome = client.say(client.proper_hello());
    WHARF_CHECK(welcome.ok());
    client.engine = LiveProtocol<E>::make({.host = welcome->client}, client.memory).value();
    SecretSource source(7, "by hand");
    const auto secrets = SessionSecrets::draw(welcome->client, source).value();
    E& engine = *client.engine;
    const auto queue = LiveProtocol<E>::create_queue(engine, kTimeZero, {}, secrets).value();
    const auto connected = client.connect(engine.export_queue(queue).value());
    WHARF_CHECK(connected.ok());
    Recorder<E> parts{client.socket.local(), to, client.memory.payloads};
    verbs::WorkRequest request;
    request.verb = Verb::kWrite;
    request.peer = engine.connect(kTimeZero, queue, connected->queue).value();
    request.remote = connected->segment.at(connected->slice_offset + 64);
    request.local_count = 1;
    request.local[0] = {reinterpret_cast<std::uint64_t>(local.data()), 64};
    request.length = 64;
    WHARF_CHECK(engine.post(kTimeZero, queue, request, engine::Submission::kInHand) ==
                engine::PostStatus::kOk);
    engine::EngineDriver(engine, parts, parts, parts).settle(kTimeZero);
    WHARF_CHECK(parts.packets.size() == 1);
    plain = parts.packets[0];
  }

  std::vector<std::byte> sealed() {
    std::vector<std::byte> room(plain.size() + kSealBytes);
    std::copy(plain.begin(), plain.end(), room.begin() + kSealHeadBytes);
    WHARF_CHECK(seal->out.seal(room, plain.size()) == room.size());
    return room;
  }
  void send(const std::vector<std::byte>& bytes) {
    const std::span<std::byte> room = client.socket.queue(to);
    std::copy(bytes.begin(), bytes.end(), room.begin());
    client.socket.set_queued_length(bytes.size());
    client.socket.flush();
  }

  std::vector<std::byte> local = std::vector<std::byte>(64, std::byte{0x77});
  ManualClient<E> client;
  UdpEndpoint to;
  std::optional<PacketSeal> seal;
  std::vector<std::byte> plain;
};

template <typename E>
class SealedSession : public testing::Test {};
TYPED_TEST_SUITE(SealedSession, EngineTypes);

TYPED_TEST(SealedSession, TheRightKeyLetsInAndEitherEndsWishSeals) {
  const LiveClock clock;
  for (const bool server_seals : {false, true}) {
    TestServer server(keyed_server(kProtocolOf<TypeParam>, server_seals));
    for (const bool client_seals : {false, true}) {
      const auto client = Client<TypeParam>::open(keyed_client(server, client_seals), clock);
      ASSERT_TRUE(client.ok()) << client.error().message;
      EXPECT_EQ((*client)->sealed(), server_seals || client_seals);
      EXPECT_TRUE(run_one(**client, write_request(**client, 4096, 20'000)).ok());
      EXPECT_TRUE((*client)->report().ok());
      EXPECT_EQ((*client)->host().counters().dropped(), 0U);
    }
    EXPECT_FALSE(all_zero(server.memory()));
    const ServerSummary summary = server.stop();
    EXPECT_EQ(summary.clients, 2U);
    EXPECT_EQ(summary.keyless, 0U);
    EXPECT_EQ(summary.counters.dropped(), 0U) << describe_drops(summary.counters);
  }
}

TYPED_TEST(SealedSession, WithoutTheKeyNobodyComesIn) {
  const LiveClock clock;
  TestServer server(keyed_server(kProtocolOf<TypeParam>, true));
  ClientConfig other = keyed_client(server, true);
  other.psk = key_of(2);
  const auto wrong = Client<TypeParam>::open(other, clock);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().kind, ErrorKind::kInput);
  EXPECT_EQ(
      wrong.error().message,
      "the server refuses: the key that the client has is another, expected that of the server's --psk");
  const auto none = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::kInput);
  EXPECT_EQ(none.error().message,
            "the server refuses: it lets in only clients that have its key, expected --psk FILE");
  EXPECT_TRUE(Client<TypeParam>::open(keyed_client(server, false), clock).ok()) << "others still come in";
  const ServerSummary summary = server.stop();
  EXPECT_EQ(summary.keyless, 2U);
  EXPECT_EQ(summary.clients, 1U);

  TestServer open(server_config(kProtocolOf<TypeParam>));
  const auto alone = Client<TypeParam>::open(keyed_client(open, false), clock);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().kind, ErrorKind::kInput);
  EXPECT_EQ(alone.error().message, "the server refuses: it has no key, expected clients without --psk");
}

TYPED_TEST(SealedSession, WhatIsSaidAfterTheHandshakeIsSealed) {
  TestServer server(keyed_server(kProtocolOf<TypeParam>, false));
  {
    ManualClient<TypeParam> client(server);
    ASSERT_TRUE(secure_as_client(client.channel, key_of(1), kProtocolOf<TypeParam>, false, seconds(60)).ok());
    EXPECT_TRUE(client.open().ok());
  }
  {
    // One who took the connection over and knows no key.
    ManualClient<TypeParam> client(server);
    const auto keys = secure_as_client(client.channel, key_of(1), kProtocolOf<TypeParam>, false, seconds(60));
    ASSERT_TRUE(keys.ok());
    client.channel.seal(key_of(5), keys->control_to_client);
    const auto said = client.say(client.proper_hello());
    ASSERT_FALSE(said.ok());
    EXPECT_NE(said.error().kind, ErrorKind::kEnvironment);
  }
  {
    // The same, who speaks in plain.
    ManualClient<TypeParam> client(server);
    ASSERT_TRUE(secure_as_client(client.channel, key_of(1), kProtocolOf<TypeParam>, false, seconds(60)).ok());
    const std::vector<std::byte> hello = encode(client.proper_hello());
    std::vector<std::byte> framed(4);
    store_be32(framed.data(), static_cast<std::uint32_t>(hello.size()));
    framed.insert(framed.end(), hello.begin(), hello.end());
    ASSERT_EQ(::send(client.channel.descriptor(), framed.data(), framed.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(framed.size()));
    const auto refusal = client.refusal();
    ASSERT_TRUE(refusal.ok()) << refusal.error().message;
    EXPECT_THAT(refusal->reason, testing::HasSubstr("was not sealed by the peer"));
  }
  EXPECT_EQ(server.stop().clients, 1U);
}

TYPED_TEST(SealedSession, WhoChangesRepeatsOrInventsPacketsReachesNothing) {
  TestServer server(keyed_server(kProtocolOf<TypeParam>, true));
  const LiveClock clock;
  const auto honest = Client<TypeParam>::open(keyed_client(server, false), clock).value();
  // Its answer shows that the server has taken all that came before.
  const auto catch_up = [&] { return run_one(*honest, write_request(*honest, 0, 64)).ok(); };
  SealedByHand<TypeParam> session(server);
  const std::vector<std::byte> good = session.sealed();
  const auto slice = [&] {
    const std::vector<std::byte> memory = server.memory();
    return std::vector<std::byte>(memory.begin() + 32 * 1024, memory.end());
  };

  std::uint64_t changed = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::vector<std::byte> bytes = good;
    bytes[at] ^= std::byte{static_cast<std::uint8_t>(1U << (at % 8))};
    session.send(bytes);
    ++changed;
    if (changed % 32 == 0) {
      ASSERT_TRUE(catch_up());
    }
  }
  for (const std::size_t length : {std::size_t{1}, std::size_t{kSealBytes}})
    session.send(std::vector<std::byte>(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
  session.send(std::vector<std::byte>(good.begin(), good.end() - 1));
  session.send(session.plain);
  ASSERT_TRUE(catch_up());
  EXPECT_TRUE(all_zero(slice())) << "packets that were changed, cut or not sealed";

  session.send(good);
  ASSERT_TRUE(catch_up());
  EXPECT_FALSE(all_zero(slice())) << "the packet as it was";
  session.send(good);
  session.send(good);
  ASSERT_TRUE(catch_up());

  const ServerSummary summary = server.stop();
  EXPECT_EQ(drops(summary.counters, SealDrop::kBadSeal), changed + 2);
  EXPECT_EQ(drops(summary.counters, SealDrop::kShort), 2U);
  EXPECT_EQ(drops(summary.counters, SealDrop::kReplayed), 2U);
  EXPECT_EQ(summary.counters.dropped(), changed + 6);
  EXPECT_THAT(describe_drops(summary.counters), testing::HasSubstr("2 short seal"));
}

// Forged packets do not keep a place that a silent client holds.
TYPED_TEST(SealedSession, ForgedPacketsAreNoSignOfLife) {
  ServerConfig config = keyed_server(kProtocolOf<TypeParam>, true);
  config.clients_max = 1;
  config.limits.idle = seconds(2);  // Longer than a turn of a busy machine takes.
  TestServer server(config);
  SealedByHand<TypeParam> silent(server);
  const LiveClock clock;
  const TimePs begin = clock.now();
  for (;;) {
    ASSERT_LT(clock.now() - begin, seconds(30));
    silent.send(std::vector<std::byte>(100, std::byte{9}));
    const auto next = Client<TypeParam>::open(keyed_client(server, false), clock);
    if (next.ok()) break;
    EXPECT_EQ(next.error().kind, ErrorKind::kEnvironment);
  }
}

TYPED_TEST(SealedSession, EndsWhenItsKeysHaveServedLongEnough) {
  ServerConfig config = keyed_server(kProtocolOf<TypeParam>, true);
  config.seal_limits.frames = 40;
  TestServer server(config);
  const LiveClock clock;
  const auto client = Client<TypeParam>::open(keyed_client(server, false), clock).value();
  const TimePs begin = clock.now();
  while (!client->peer_gone() && clock.now() - begin < seconds(60))
    static_cast<void>(run_one(*client, write_request(*client, 0, 64)));
  const auto why = client->farewell();
  ASSERT_TRUE(why.has_value());
  EXPECT_THAT(why->message, testing::HasSubstr("its keys have served long enough"));
  EXPECT_GT(client->host().counters().datagrams_sent, 20U);
}

TYPED_TEST(SealedSession, ItsPacketsAreSmallerByTheSeal) {
  const std::uint32_t exact = 1024 + 160;  // Of the path that just carries 1024.
  EXPECT_EQ(mtu_for_path(exact), 1024U);
  EXPECT_EQ(mtu_for_path(exact, kSealBytes), 512U);
  EXPECT_EQ(mtu_for_path(exact + kSealBytes - 1, kSealBytes), 512U);
  EXPECT_EQ(mtu_for_path(exact + kSealBytes, kSealBytes), 1024U);
}

TYPED_TEST(SealedSession, LosesRepeatsAndCapturesAsPlainOnesDo) {
  const std::filesystem::path capture =
      testing::TempDir() + "wharf_sealed_" + std::to_string(::getpid()) + ".pcapng";
  ServerConfig served = keyed_server(kProtocolOf<TypeParam>, false);
  served.memory_bytes = 8U << 20U;
  served.faults = {Probability::from(0.05), Probability::from(0.05), 1};
  served.capture = capture;
  TestServer server(served);
  MeasurementConfig config;
  config.protocol = kProtocolOf<TypeParam>;
  config.server = server.endpoint();
  config.idle = {.spins = 20, .yields = 20};
  config.unlimited_retries = true;
  config.connect_patience = seconds(60);
  config.stall_patience = seconds(60);
  config.faults = {Probability::from(0.05), Probability::from(0.05), 2};
  config.psk = key_of(1);
  config.seal_packets = true;
  VerbRun run;
  run.verb = Verb::kWrite;
  run.size = 6000;
  run.loop.operations = 300;
  run.loop.concurrency = 8;
  config.program = run;
  const auto measured = measure(config, {}, kNeverStop);
  ASSERT_TRUE(measured.ok()) << measured.error().message;
  EXPECT_TRUE(measured->sealed);
  EXPECT_EQ(measured->loop.errors, 0U);
  EXPECT_TRUE(measured->loop.verdict.holds()) << workload::describe(measured->loop.verdict);
  EXPECT_GT(measured->counters.injected_losses, 0U);
  // What comes twice is taken once.
  EXPECT_EQ(drops(measured->counters, SealDrop::kReplayed), measured->counters.injected_duplicates);
  const ServerSummary summary = server.stop();
  EXPECT_GT(summary.counters.injected_duplicates, 0U);
  EXPECT_EQ(drops(summary.counters, SealDrop::kReplayed), summary.counters.injected_duplicates);
  EXPECT_EQ(summary.counters.dropped(), summary.counters.injected_duplicates);

  // The capture shows the packets, not their seals.
  auto frames = wire::CaptureReader::open(capture);
  ASSERT_TRUE(frames.ok());
  std::uint64_t count = 0;
  wire::CapturedFrame frame;
  while (frames->next(frame).value()) {
    ++count;
    std::vector<std::byte> datagram(frame.bytes.begin() + 42, frame.bytes.end());
    const std::byte* const at = frame.bytes.data();
    const Arrival arrival{
        {load_be32(at + 26), load_be16(at + 34)}, {load_be32(at + 30), load_be16(at + 36)}, load_u8(at + 15)};
    wire::Packet packet;
    ASSERT_EQ(LiveProtocol<TypeParam>::decode(datagram, arrival, packet), wire::DropReason::kNone) << count;
  }
  EXPECT_GT(count, 300U);
  std::filesystem::remove(capture);
}

TYPED_TEST(SealedSession, IsNotForSharedMemory) {
  ServerConfig config = keyed_server(kProtocolOf<TypeParam>, false);
  config.listen = Place::in_shared_memory("sealed");
  const auto served = serve(config, {}, kNeverStop);
  ASSERT_FALSE(served.ok());
  EXPECT_THAT(served.error().message, testing::StartsWith("--psk: shm:sealed is shared memory"));
  ClientConfig client;
  client.server = config.listen;
  client.psk = key_of(1);
  const LiveClock clock;
  EXPECT_THAT(Client<TypeParam>::open(client, clock).error().message,
              testing::StartsWith("--psk: shm:sealed is shared memory"));
  client.psk.reset();
  client.seal_packets = true;
  EXPECT_EQ(Client<TypeParam>::open(client, clock).error().message,
            "--encrypt: there is no key, expected --psk FILE");
}

}  // namespace
}  // namespace wharf::live
