// SPDX-License-Identifier: Apache-2.0
// Clients that abuse the control connection: floods, false identities, connections that lead nowhere. The
// server and its other clients go on, and nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <deque>
#include <filesystem>
#include <iterator>
#include <thread>

#include "base/bytes.h"
#include "base/random.h"
#include "live/udp/live_client_test_support.h"

namespace wharf::live {
namespace {

template <typename E>
class Hostile : public testing::Test {};
TYPED_TEST_SUITE(Hostile, EngineTypes);

/// Sends one message again and again, as fast as the connection takes it, and counts the bytes of the
/// answers.
class Flood {
 public:
  Flood(ControlChannel& channel, std::span<const std::byte> message)
      : descriptor_(channel.descriptor()), framed_(4 + message.size()) {
    store_be32(framed_.data(), static_cast<std::uint32_t>(message.size()));
    std::copy(message.begin(), message.end(), framed_.begin() + 4);
    thread_ = std::thread([this] { run(); });
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;
  ~Flood() {
    if (thread_.joinable()) stop();
  }
  /// Ends it; how many bytes were answered.
  std::uint64_t stop() {
    stop_ = true;
    thread_.join();
    return answered_;
  }

 private:
  void run() {
    // Many messages at a time: the server must find more of them whenever it looks.
    std::vector<std::byte> stream;
    for (int copy = 0; copy < 4096; ++copy) stream.insert(stream.end(), framed_.begin(), framed_.end());
    std::size_t sent = 0;
    std::array<std::byte, 65536> answers;
    while (!stop_) {
      pollfd wait{descriptor_, POLLIN | POLLOUT, 0};
      ::poll(&wait, 1, 1);
      const ssize_t out =
          ::send(descriptor_, stream.data() + sent, stream.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (out > 0) sent = (sent + static_cast<std::size_t>(out)) % stream.size();
      const ssize_t in = ::recv(descriptor_, answers.data(), answers.size(), MSG_DONTWAIT);
      if (in > 0) answered_ += static_cast<std::uint64_t>(in);
    }
  }

  int descriptor_;
  std::vector<std::byte> framed_;
  std::atomic<bool> stop_{false};
  std::uint64_t answered_ = 0;
  std::thread thread_;
};

TYPED_TEST(Hostile, AStreamOfRequestsIsAnsweredOncePerLook) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  ManualClient<TypeParam> attacker(server);
  ASSERT_TRUE(attacker.open().ok());
  const LiveClock clock;
  Flood flood(attacker.channel, encode(ReportRequest{}));
  const auto client = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(client.ok()) << client.error().message;
  for (int write = 0; write < 50; ++write) {
    ASSERT_TRUE(run_one(**client, write_request(**client, 0, 64)).ok());
  }
  ASSERT_TRUE((*client)->report().ok());
  const std::uint64_t answers = flood.stop() / (4 + encode(Report{}).size());
  EXPECT_GT(answers, 0U);
  EXPECT_LE(answers, static_cast<std::uint64_t>(clock.now() / kControlInterval) + 2);
}

TYPED_TEST(Hostile, TheQueueOfAnotherHostIsRefused) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  ManualClient<TypeParam> first(server);
  const auto number = first.say(first.proper_hello());
  ASSERT_TRUE(number.ok());
  ASSERT_TRUE(first.connect(first.queue_of(number->client)).ok());
  for (const wire::HostAddress stolen : {number->client, number->server}) {
    ManualClient<TypeParam> attacker(server);
    ASSERT_TRUE(attacker.say(attacker.proper_hello()).ok());
    const auto connected = attacker.connect(attacker.queue_of(stolen));
    ASSERT_FALSE(connected.ok());
    EXPECT_EQ(connected.error().kind, ErrorKind::kInput);
    EXPECT_THAT(connected.error().message, testing::HasSubstr("expected host"));
  }
  // Nor does nonsense, or the queue of a client that was not welcomed, open anything.
  ManualClient<TypeParam> hasty(server);
  EXPECT_FALSE(hasty.connect(hasty.queue_of({1})).ok());
  ManualClient<TypeParam> garbled(server);
  ASSERT_TRUE(garbled.say(garbled.proper_hello()).ok());
  EXPECT_FALSE(garbled.connect(engine::ExchangeBlob(100, std::byte{0x55})).ok());
  EXPECT_EQ(server.stop().clients, 1U);
}

TYPED_TEST(Hostile, AnEndpointInUseIsRefused) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const LiveClock clock;
  const auto victim = Client<TypeParam>::open(client_config(server), clock);
  ASSERT_TRUE(victim.ok());
  for (const std::uint16_t port : {(*victim)->host().port().local().port, server.packets().port}) {
    ManualClient<TypeParam> attacker(server);
    Hello hello = attacker.proper_hello();
    hello.udp_port = port;
    const auto welcome = attacker.say(hello);
    ASSERT_TRUE(welcome.ok());
    const auto connected = attacker.connect(attacker.queue_of(welcome->client));
    ASSERT_FALSE(connected.ok());
    EXPECT_THAT(connected.error().message, testing::HasSubstr("in use by another"));
  }
  EXPECT_TRUE(run_one(**victim, write_request(**victim, 0, 8)).ok());
}

TYPED_TEST(Hostile, ConnectionsThatOnlySayHelloTakeNothing) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  const auto offered = [](ManualClient<TypeParam>& client) {
    return client.say(client.proper_hello()).value().client.number;
  };
  for (std::uint32_t turn = 0; turn < 20; ++turn) {
    ManualClient<TypeParam> fickle(server);
    EXPECT_EQ(offered(fickle), 1U);
  }
  // While they stay, they are offered different numbers, and neither slices nor queues.
  std::deque<ManualClient<TypeParam>> lurkers;
  for (std::uint32_t index = 0; index < 10; ++index) {
    EXPECT_EQ(offered(lurkers.emplace_back(server)), index + 1);
  }
  ManualClient<TypeParam> first(server);
  ManualClient<TypeParam> second(server);
  EXPECT_TRUE(first.open().ok());
  EXPECT_TRUE(second.open().ok());
  const ServerSummary summary = server.stop();
  EXPECT_EQ(summary.clients, 2U);
  EXPECT_EQ(summary.half_open, 30U);
}

TYPED_TEST(Hostile, ANumberRestsAfterItsSession) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  for (std::uint32_t turn = 0; turn < 5; ++turn) {
    ManualClient<TypeParam> client(server);
    const auto welcome = client.say(client.proper_hello());
    ASSERT_TRUE(welcome.ok());
    EXPECT_EQ(welcome->client.number, turn + 1);
    ASSERT_TRUE(client.connect(client.queue_of(welcome->client)).ok());
  }
}

TYPED_TEST(Hostile, OneConnectionTooManySendsTheOldestAway) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  std::deque<ControlChannel> silent;
  for (std::size_t index = 0; index < kHalfOpenMax; ++index) {
    silent.push_back(ControlChannel::connect(server.endpoint(), seconds(60)).value());
  }
  // The exchange that begins now sends the first of them away, and is completed.
  ManualClient<TypeParam> client(server);
  EXPECT_TRUE(client.open().ok());
  const auto bytes = silent.front().receive(seconds(60));
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  const auto refusal = decode_session_message(*bytes);
  ASSERT_TRUE(refusal.ok() && std::holds_alternative<Refusal>(*refusal));
  EXPECT_THAT(std::get<Refusal>(*refusal).reason, testing::HasSubstr("too many"));
  EXPECT_FALSE(silent.back().peer_gone());
}

TYPED_TEST(Hostile, AConnectionThatDribblesIsSentAwayInTime) {
  ServerConfig config = server_config(kProtocolOf<TypeParam>);
  config.set_up_patience = milliseconds(20);
  TestServer server(config);
  for (const bool announces : {false, true}) {
    ManualClient<TypeParam> dribbling(server);
    // A message that never becomes whole, byte by byte.
    std::array<std::byte, 4> head{};
    store_be32(head.data(), announces ? ControlChannel::kLongestMessage : 0x00'00'00'ff);
    std::size_t at = 0;
    while (!dribbling.channel.peer_gone()) {
      const std::byte next = at < head.size() ? head[at] : std::byte{0};
      pollfd wait{dribbling.channel.descriptor(), POLLIN, 0};
      if (at < 100 && ::send(dribbling.channel.descriptor(), &next, 1, MSG_NOSIGNAL) == 1) ++at;
      if (::poll(&wait, 1, 1) > 0) break;
    }
    const auto refusal = dribbling.refusal();
    ASSERT_TRUE(refusal.ok()) << refusal.error().message;
    EXPECT_EQ(refusal->kind, ErrorKind::kStalled);
    EXPECT_THAT(refusal->reason, testing::HasSubstr("in time"));
  }
}

TYPED_TEST(Hostile, AMessageThatIsTooLongIsRefusedBeforeItComes) {
  TestServer server(server_config(kProtocolOf<TypeParam>));
  for (const std::uint32_t length : {ControlChannel::kLongestMessage + 1, ~std::uint32_t{0}}) {
    ManualClient<TypeParam> boasting(server);
    std::array<std::byte, 4> head{};
    store_be32(head.data(), length);
    ASSERT_EQ(::send(boasting.channel.descriptor(), head.data(), head.size(), MSG_NOSIGNAL), 4);
    const auto refusal = boasting.refusal();
    ASSERT_TRUE(refusal.ok()) << refusal.error().message;
    EXPECT_THAT(refusal->reason, testing::HasSubstr(std::to_string(length)));
  }
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TYPED_TEST(Hostile, GarbageLeavesNothingBehind) {
  const std::ptrdiff_t files = open_files();
  std::uint64_t engine_bytes = 0;
  for (const int strangers : {0, 200}) {
    TestServer server(server_config(kProtocolOf<TypeParam>));
    const LiveClock clock;
    const auto client = Client<TypeParam>::open(client_config(server), clock);
    ASSERT_TRUE(client.ok());
    ASSERT_TRUE(run_one(**client, write_request(**client, 0, 8)).ok());
    RandomStream random(3, "garbage");
    const std::vector<std::vector<std::byte>> proper{encode(ManualClient<TypeParam>(server).proper_hello()),
                                                     encode(Connect{}), encode(ReportRequest{})};
    for (int index = 0; index < strangers; ++index) {
      ManualClient<TypeParam> stranger(server);
      // Proper messages with bytes changed, cut off and followed by others, or plain noise; then the end.
      std::vector<std::byte> stream;
      for (std::uint64_t parts = 1 + random.below(4); parts > 0; --parts) {
        std::vector<std::byte> part = proper[random.below(proper.size())];
        if (random.below(3) == 0) part = std::vector<std::byte>(random.below(3000));
        for (std::uint64_t changes = random.below(4); changes > 0 && !part.empty(); --changes) {
          part[random.below(part.size())] = std::byte(random.below(256));
        }
        std::array<std::byte, 4> head{};
        store_be32(head.data(), static_cast<std::uint32_t>(part.size() + random.below(8) / 7));
        stream.insert(stream.end(), head.begin(), head.end());
        stream.insert(stream.end(), part.begin(), part.end());
      }
      static_cast<void>(::send(stranger.channel.descriptor(), stream.data(), stream.size(), MSG_NOSIGNAL));
      if (index % 2 == 0) {  // Others leave at once.
        pollfd wait{stranger.channel.descriptor(), POLLIN, 0};
        ::poll(&wait, 1, 5);
      }
      if (index % 20 == 0) {
        ASSERT_TRUE(run_one(**client, write_request(**client, 0, 8)).ok());
      }
    }
    const ServerSummary summary = server.stop();
    EXPECT_EQ(summary.clients, 1U);
    if (strangers == 0) {
      engine_bytes = summary.engine_bytes;
    } else {
      EXPECT_EQ(summary.engine_bytes, engine_bytes);
    }
  }
  EXPECT_EQ(open_files(), files);
}

}  // namespace
}  // namespace wharf::live
