// SPDX-License-Identifier: Apache-2.0
// Connections over engines that only remember what they were told, and a channel that loses and repeats.
#include "engine/connections.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "base/random.h"
#include "engine/handover_queue.h"

namespace wharf::engine {
namespace {

/// Connects to whatever blob says "q<number>".
struct FakeEngine {
  Result<ExchangeBlob> export_queue(QueueId queue) const {
    if (queue > 9) return input_error("no such queue");
    return ExchangeBlob{std::byte{'q'}, static_cast<std::byte>(queue)};
  }
  Result<PeerId> connect(TimePs, QueueId queue, std::span<const std::byte> blob) {
    if (blob.size() != 2 || blob[0] != std::byte{'q'}) return input_error("not a blob");
    connected.emplace_back(queue, std::to_integer<PeerId>(blob[1]));
    return std::to_integer<PeerId>(blob[1]);
  }
  Result<void> disconnect(TimePs, QueueId queue, PeerId peer) {
    std::erase(connected, std::pair<QueueId, PeerId>{queue, peer});
    return {};
  }
  std::vector<std::pair<QueueId, PeerId>> connected;
};

ConnectionMessage request(std::uint32_t from, std::uint64_t service, std::vector<std::byte> data) {
  ConnectionMessage message;
  message.from = from;
  message.service = service;
  message.data = std::move(data);
  return message;
}

std::vector<std::byte> text(std::string_view what) {
  const auto bytes = std::as_bytes(std::span(what));
  return {bytes.begin(), bytes.end()};
}

struct Hosts {
  FakeEngine engine[2];
  Connections<FakeEngine> of[2] = {{engine[0], {}}, {engine[1], {}}};
  std::vector<ConnectionEvent> events[2];
  TimePs now = nanoseconds(1);
  RandomStream random{7, "connections"};
  unsigned loss_percent = 0;
  unsigned repeat_percent = 0;

  void deliver() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::uint32_t host = 0; host < 2; ++host) {
        wire::HostAddress to;
        std::vector<std::byte> bytes;
        while (of[host].next_message(to, bytes)) {
          progress = true;
          EXPECT_EQ(to.number, 1 - host);
          if (random.next_u32() % 100 < loss_percent) continue;
          of[1 - host].receive(now, {host}, bytes);
          if (random.next_u32() % 100 < repeat_percent) of[1 - host].receive(now, {host}, bytes);
        }
        ConnectionEvent event;
        while (of[host].poll_event(event)) events[host].push_back(event);
      }
    }
  }
  /// Until nothing is due any more.
  void settle() {
    deliver();
    for (int round = 0; round < 1000; ++round) {
      const TimePs next = min(of[0].deadline(), of[1].deadline());
      if (next == kNever) return;
      now = max(now, next);
      for (auto& each : of) each.expire(now);
      deliver();
    }
    FAIL() << "never quiet";
  }
};

TEST(Connections, ListenConnectAcceptClose) {
  Hosts hosts;
  ASSERT_TRUE(hosts.of[1].listen(80).ok());
  EXPECT_FALSE(hosts.of[1].listen(80).ok());
  const ConnectionId asking = hosts.of[0].connect(hosts.now, 3, {1}, 80, text("hello")).value();
  hosts.deliver();
  ASSERT_EQ(hosts.events[1].size(), 1U);
  EXPECT_EQ(hosts.events[1][0].kind, ConnectionEventKind::kRequested);
  EXPECT_EQ(hosts.events[1][0].host.number, 0U);
  EXPECT_EQ(hosts.events[1][0].data, text("hello"));
  const ConnectionId asked = hosts.events[1][0].connection;
  EXPECT_FALSE(hosts.of[1].accept(hosts.now, asked, 10, {}).ok());  // No such queue; it still waits.
  ASSERT_TRUE(hosts.of[1].accept(hosts.now, asked, 5, text("welcome")).ok());
  EXPECT_FALSE(hosts.of[1].accept(hosts.now, asked, 5, {}).ok());
  hosts.deliver();
  ASSERT_EQ(hosts.events[0].size(), 1U);
  EXPECT_EQ(hosts.events[0][0].kind, ConnectionEventKind::kEstablished);
  EXPECT_EQ(hosts.events[0][0].queue, 3U);
  EXPECT_EQ(hosts.events[0][0].peer, 5U);
  EXPECT_EQ(hosts.events[0][0].data, text("welcome"));
  ASSERT_EQ(hosts.events[1].size(), 2U);
  EXPECT_EQ(hosts.events[1][1].kind, ConnectionEventKind::kEstablished);
  EXPECT_EQ(min(hosts.of[0].deadline(), hosts.of[1].deadline()), kNever);
  ASSERT_TRUE(hosts.of[0].close(hosts.now, asking).ok());
  EXPECT_TRUE(hosts.engine[0].connected.empty());
  hosts.settle();
  ASSERT_EQ(hosts.events[1].size(), 3U);
  EXPECT_EQ(hosts.events[1][2].kind, ConnectionEventKind::kLost);
  EXPECT_EQ(hosts.events[1][2].reason, ConnectionReason::kClosed);
  EXPECT_EQ(hosts.events[1][2].queue, 5U);
  EXPECT_EQ(hosts.of[0].size() + hosts.of[1].size(), 0U);
}

TEST(Connections, RejectionsSayWhy) {
  Hosts hosts;
  const auto outcome = [&] {
    hosts.settle();
    const ConnectionEvent event = hosts.events[0].back();
    EXPECT_EQ(event.kind, ConnectionEventKind::kRejected);
    return event;
  };
  ASSERT_TRUE(hosts.of[0].connect(hosts.now, 3, {1}, 80, {}).ok());
  EXPECT_EQ(outcome().reason, ConnectionReason::kNoListener);
  ASSERT_TRUE(hosts.of[1].listen(80).ok());
  ASSERT_TRUE(hosts.of[0].connect(hosts.now, 3, {1}, 80, {}).ok());
  hosts.deliver();
  ASSERT_TRUE(hosts.of[1].reject(hosts.now, hosts.events[1].back().connection, text("full")).ok());
  EXPECT_EQ(outcome().reason, ConnectionReason::kRefused);
  EXPECT_EQ(hosts.events[0].back().data, text("full"));
  EXPECT_FALSE(hosts.of[0].connect(hosts.now, 10, {1}, 80, {}).ok());
  EXPECT_FALSE(hosts.of[0].connect(hosts.now, 3, {1}, 80, std::vector<std::byte>(257)).ok());
  hosts.loss_percent = 100;
  ASSERT_TRUE(hosts.of[0].connect(hosts.now, 3, {1}, 80, {}).ok());
  EXPECT_EQ(outcome().reason, ConnectionReason::kUnreachable);
  ASSERT_TRUE(hosts.of[1].stop_listening(80).ok());
  EXPECT_FALSE(hosts.of[1].stop_listening(80).ok());
  EXPECT_TRUE(hosts.engine[0].connected.empty());
}

TEST(Connections, TooManyRequestsAreToldSo) {
  FakeEngine engine;
  Connections<FakeEngine> few(engine, {.requests_most = 2});
  ASSERT_TRUE(few.listen(1).ok());
  for (std::uint32_t i = 1; i <= 3; ++i) {
    few.receive(nanoseconds(1), {7}, encode(request(i, 1, {})));
  }
  wire::HostAddress to;
  std::vector<std::byte> bytes;
  ASSERT_TRUE(few.next_message(to, bytes));
  const ConnectionMessage busy = decode_connection_message(bytes).value();
  EXPECT_EQ(busy.type, ConnectionMessageType::kReject);
  EXPECT_EQ(busy.reason, ConnectionReason::kBusy);
  EXPECT_EQ(busy.to, 3U);
  few.host_lost({7});
  ConnectionEvent event;
  int lost = 0;
  while (few.poll_event(event)) lost += event.kind == ConnectionEventKind::kLost ? 1 : 0;
  EXPECT_EQ(lost, 2);
  EXPECT_EQ(few.size(), 0U);
}

TEST(Connections, TheEngineEndsThem) {
  Hosts hosts;
  ASSERT_TRUE(hosts.of[1].listen(80).ok());
  for (const AsyncEventKind kind : {AsyncEventKind::kQueueError, AsyncEventKind::kPeerUnreachable}) {
    ASSERT_TRUE(hosts.of[0].connect(hosts.now, 3, {1}, 80, {}).ok());
    hosts.deliver();
    ASSERT_TRUE(hosts.of[1].accept(hosts.now, hosts.events[1].back().connection, 5, {}).ok());
    hosts.settle();
    hosts.of[0].engine_event({AsyncEventKind::kReceiveLimit, 3, 5});
    hosts.of[0].engine_event({kind, 3, 5});
    hosts.settle();
    EXPECT_EQ(hosts.events[0].back().kind, ConnectionEventKind::kLost);
    EXPECT_EQ(hosts.events[0].back().queue, 3U);
    // The other host hears of it when it says something.
    EXPECT_EQ(hosts.of[0].size(), 0U);
  }
}

/// Whatever the channel does, both ends agree in the end, and each event comes once.
TEST(Connections, SurviveLossAndRepetition) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Hosts hosts;
    hosts.random = RandomStream(seed, "connections");
    hosts.loss_percent = 30;
    hosts.repeat_percent = 30;
    ASSERT_TRUE(hosts.of[1].listen(80).ok());
    ASSERT_TRUE(hosts.of[0].connect(hosts.now, 3, {1}, 80, {}).ok());
    hosts.settle();
    int requested = 0;
    for (const ConnectionEvent& event : hosts.events[1]) {
      if (event.kind != ConnectionEventKind::kRequested) continue;
      ++requested;
      // The asking end may have given up meanwhile.
      EXPECT_TRUE(hosts.of[1].accept(hosts.now, event.connection, 5, {}).ok());
    }
    EXPECT_LE(requested, 1);
    hosts.settle();
    int outcomes = 0;
    for (const ConnectionEvent& event : hosts.events[0]) {
      if (event.kind == ConnectionEventKind::kEstablished || event.kind == ConnectionEventKind::kRejected)
        ++outcomes;
    }
    EXPECT_EQ(outcomes, 1) << seed;
  }
}

TEST(Connections, BytesThatAreNoMessageAreCounted) {
  Hosts hosts;
  const std::vector<std::byte> good = encode(request(1, 2, text("x")));
  for (std::size_t length = 0; length < good.size(); ++length) {
    hosts.of[0].receive(hosts.now, {1}, std::span(good).first(length));
  }
  for (const std::size_t at : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 24U, 26U}) {
    std::vector<std::byte> bad = good;
    bad[at] ^= std::byte{0x40};
    hosts.of[0].receive(hosts.now, {1}, bad);
  }
  EXPECT_EQ(hosts.of[0].malformed(), good.size() + 9);
  EXPECT_EQ(hosts.of[0].size(), 0U);
}

TEST(HandoverQueue, CarriesEverythingInOrderBetweenTwoThreads) {
  HandoverQueue<std::uint64_t> queue(64);
  constexpr std::uint64_t kCount = 100'000;
  std::thread producer([&queue] {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      while (!queue.push(i)) std::this_thread::yield();
    }
  });
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    std::uint64_t found = 0;
    while (!queue.pop(found)) std::this_thread::yield();
    wrong += found == i ? 0U : 1U;
  }
  producer.join();
  EXPECT_EQ(wrong, 0U);
  std::uint64_t none = 0;
  EXPECT_FALSE(queue.pop(none));
  for (std::uint64_t i = 0; i < 64; ++i) EXPECT_TRUE(queue.push(i));
  EXPECT_FALSE(queue.push(64));
}

}  // namespace
}  // namespace wharf::engine
