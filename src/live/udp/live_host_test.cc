// SPDX-License-Identifier: Apache-2.0
// The rounds of a live host: its timers do not run while what they wait for lies in the socket, and what it
// sends does not keep it from the socket.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "live/udp/live_client_test_support.h"
#include "live/udp/live_host.h"

namespace wharf::live {
namespace {

constexpr std::uint32_t kLoopback = 0x7f000001;

/// One of two hosts on one thread.
template <typename E>
struct Side {
  Side(const LiveClock& clock, wire::HostAddress number)
      : host(LiveProtocol<E>::make({.host = number}, memory).value(), number, memory.payloads,
             std::make_unique<UdpSocket>(
                 UdpSocket::open({kLoopback, 0}, LiveProtocol<E>::kDescription.socket).value()),
             clock, 1, {}) {
    secrets.queue = secrets.memory = 17;
    queue = LiveProtocol<E>::create_queue(host.engine(), host.now(), {}, secrets).value();
  }
  void meet(Side& other, wire::HostAddress number) {
    peer = host.engine()
               .connect(host.now(), queue, other.host.engine().export_queue(other.queue).value())
               .value();
    host.add_peer(number, other.host.port().local());
  }
  std::uint64_t timeouts() const {
    const auto counters = LiveProtocol<E>::counters(const_cast<Side*>(this)->host.engine());
    const auto found = std::find_if(counters.begin(), counters.end(),
                                    [](const auto& counter) { return counter.name == "timeouts"; });
    EXPECT_NE(found, counters.end());
    return found == counters.end() ? 0 : found->value;
  }

  EngineMemory memory;
  LiveHost<E> host;
  SessionSecrets secrets;
  verbs::QueueId queue{};
  verbs::PeerId peer{};
};

template <typename E>
class Timers : public ::testing::Test {};
TYPED_TEST_SUITE(Timers, EngineTypes);

TYPED_TEST(Timers, WaitForAnAnswerThatLiesInTheSocket) {
  const LiveClock clock;
  Side<TypeParam> asks(clock, {1});
  Side<TypeParam> answers(clock, {2});
  asks.meet(answers, {2});
  answers.meet(asks, {1});
  alignas(64) std::byte target[64] = {};
  verbs::SegmentConfig exposed;
  exposed.base = reinterpret_cast<std::uint64_t>(target);
  exposed.length = sizeof target;
  const auto token =
      LiveProtocol<TypeParam>::expose(answers.host.engine(), clock.now(), exposed, answers.secrets).value();
  LiveRemote<TypeParam> remote(asks.host, asks.queue, asks.peer,
                               {exposed.base, sizeof target, token, verbs::kFullAccess});

  // More than a read of the socket takes, from somebody whom nobody knows.
  auto stranger = UdpSocket::open({kLoopback, 0}).value();
  for (std::size_t count = 0; count < UdpSocket::kBatch + 8; ++count) {
    stranger.queue(asks.host.port().local())[0] = std::byte{1};
    stranger.set_queued_length(1);
    stranger.flush();
  }
  std::byte word[8] = {std::byte{7}};
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.local_count = 1;
  request.local[0] = {reinterpret_cast<std::uint64_t>(word), sizeof word};
  request.length = sizeof word;
  request.remote = remote.segment().at(0);
  verbs::Completion completion;
  asks.host.core().spawn(execute(remote, request, completion));
  asks.host.drain();
  while (target[0] == std::byte{0}) answers.host.step();
  // A thread that comes late: the timer's time passes, and the answer is there.
  while (clock.now() <= asks.host.deadline()) answers.host.step();
  while (!asks.host.core().finished()) {
    asks.host.step();
    answers.host.step();
  }
  EXPECT_TRUE(completion.ok());
  EXPECT_EQ(asks.timeouts(), 0U);
}

template <typename E>
class Turns : public ::testing::Test {};
TYPED_TEST_SUITE(Turns, EngineTypes);

TYPED_TEST(Turns, OneRoundSendsNoMoreThanATurn) {
  const LiveClock clock;
  Side<TypeParam> asks(clock, {1});
  Side<TypeParam> answers(clock, {2});
  asks.meet(answers, {2});
  answers.meet(asks, {1});
  std::vector<std::byte> far(2U << 20U, std::byte{7});  // Two turns and a little, with headers.
  std::vector<std::byte> near(far.size());
  verbs::SegmentConfig exposed;
  exposed.base = reinterpret_cast<std::uint64_t>(far.data());
  exposed.length = far.size();
  const auto token =
      LiveProtocol<TypeParam>::expose(answers.host.engine(), clock.now(), exposed, answers.secrets).value();
  LiveRemote<TypeParam> remote(asks.host, asks.queue, asks.peer,
                               {exposed.base, far.size(), token, verbs::kFullAccess});
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kRead;
  request.local_count = 1;
  request.local[0] = {reinterpret_cast<std::uint64_t>(near.data()), static_cast<std::uint32_t>(near.size())};
  request.length = static_cast<std::uint32_t>(near.size());
  request.remote = remote.segment().at(0);
  verbs::Completion completion;
  asks.host.core().spawn(execute(remote, request, completion));
  asks.host.drain();
  while (!asks.host.core().finished()) {
    asks.host.step();
    const std::uint64_t before = answers.host.counters().datagrams_sent;
    const bool worked = answers.host.step();
    const std::uint64_t sent = answers.host.counters().datagrams_sent - before;
    ASSERT_LE(sent, DatagramPort::kTurn);
    if (sent == DatagramPort::kTurn) {
      EXPECT_TRUE(worked) << "there is more: nobody may sleep now";
    }
  }
  EXPECT_TRUE(completion.ok());
  EXPECT_EQ(near, far);
}

/// `request`, and then `after()`.
template <typename E, typename After>
verbs::Task<void> execute_and(LiveRemote<E>& remote, verbs::WorkRequest request, After after) {
  const verbs::Completion completion = co_await remote.execute(request);
  EXPECT_TRUE(completion.ok());
  after();
}

template <typename E>
class Data : public ::testing::Test {};
TYPED_TEST_SUITE(Data, EngineTypes);

// What leaves from where it lies has left when a program learns anything: from then on the memory may go.
TYPED_TEST(Data, LeavesBeforeAProgramGoesOn) {
  constexpr std::uint32_t kBytes = 4096;
  const LiveClock clock;
  Side<TypeParam> asks(clock, {1});
  Side<TypeParam> answers(clock, {2});
  asks.meet(answers, {2});
  answers.meet(asks, {1});
  std::vector<std::byte> far(2 * kBytes);
  std::vector<std::byte> near(kBytes, std::byte{1});
  verbs::SegmentConfig exposed;
  exposed.base = reinterpret_cast<std::uint64_t>(far.data());
  exposed.length = far.size();
  const auto token =
      LiveProtocol<TypeParam>::expose(answers.host.engine(), clock.now(), exposed, answers.secrets).value();
  LiveRemote<TypeParam> remote(asks.host, asks.queue, asks.peer,
                               {exposed.base, far.size(), token, verbs::kFullAccess});
  verbs::WorkRequest request;
  request.verb = verbs::Verb::kWrite;
  request.local_count = 1;
  request.local[0] = {reinterpret_cast<std::uint64_t>(near.data()), 8};
  request.length = 8;
  request.remote = remote.segment().at(0);
  asks.host.core().spawn(execute_and(remote, request, [&near] { std::ranges::fill(near, std::byte{2}); }));
  asks.host.drain();
  pollfd answered{asks.host.port().descriptor(), POLLIN, 0};
  while (::poll(&answered, 1, 0) == 0) answers.host.step();
  // The round that sends the second write takes the answer to the first.
  request.local[0].length = request.length = kBytes;
  request.remote = remote.segment().at(kBytes);
  asks.host.core().spawn(execute_and(remote, request, [] {}));
  while (!asks.host.core().finished()) {
    asks.host.step();
    answers.host.step();
  }
  EXPECT_EQ(near.front(), std::byte{2});
  EXPECT_EQ(std::count(far.begin() + kBytes, far.end(), std::byte{1}), kBytes);
}

}  // namespace
}  // namespace wharf::live
