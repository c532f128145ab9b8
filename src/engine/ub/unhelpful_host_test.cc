// SPDX-License-Identifier: Apache-2.0
// A host that answers memory late, ends grants and destroys queues under way: memory that is the program's
// again is left alone, receive entries come back, and what peers make the engine hold is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "wire/payload_pool.h"

namespace wharf::ub {
namespace {

using engine::AccessKind;
using verbs::CompletionStatus;
using verbs::Verb;

constexpr std::uint64_t kBase = 0x10000;
constexpr std::uint32_t kBytes = 0x10000;

/// Two engines; packets are carried and memory is answered one by one, when the test says so.
class ByHand {
 public:
  struct Side {
    Arena arena;
    std::unique_ptr<UbEngine> engine;
    engine::QueueId queue = 0;
    verbs::PeerId peer = 0;
    verbs::SegmentToken token;
    std::deque<engine::Access> accesses;
    std::deque<wire::Packet> sent;
    std::vector<verbs::Completion> completions;
  };

  explicit ByHand(UbConfig config = {}) {
    config.mtu = 256;
    for (std::uint32_t host = 0; host < 2; ++host) {
      config.host = {host};
      Side& side = sides[host];
      side.engine = std::make_unique<UbEngine>(std::move(*UbEngine::create(config, pool, side.arena)));
      side.queue = *side.engine->create_queue(now, {.send_depth = 512, .receive_depth = 4});
      side.token = *side.engine->register_segment(
          now, {.base = kBase, .length = kBytes, .rights = verbs::kFullAccess});
    }
    for (std::uint32_t host = 0; host < 2; ++host) {
      const auto blob = *sides[1 - host].engine->export_queue(sides[1 - host].queue);
      sides[host].peer = *sides[host].engine->connect(now, sides[host].queue, blob);
    }
  }
  ~ByHand() {
    for (Side& side : sides) {
      for (const wire::Packet& packet : side.sent) pool.release(packet.payload.buffer);
      side.engine.reset();
    }
    EXPECT_EQ(pool.in_use(), 0u);
  }

  void post(std::uint32_t host, Verb verb, std::uint32_t length) {
    Side& side = sides[host];
    verbs::WorkRequest request;
    request.verb = verb;
    request.peer = side.peer;
    request.length = length;
    request.local_count = 1;
    request.local[0] = {kBase, length};
    request.remote = {kBase, sides[1 - host].token};
    ASSERT_EQ(side.engine->post(now, side.queue, request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
    drain(host);
  }
  engine::PostStatus post_receive(std::uint32_t host, std::uint32_t length) {
    verbs::ReceiveRequest receive;
    receive.id = 77;
    receive.local_count = 1;
    receive.local[0] = {kBase, length};
    return sides[host].engine->post_receive(now, sides[host].queue, receive);
  }

  void drain(std::uint32_t host) {
    Side& side = sides[host];
    engine::Access access;
    while (side.engine->next_access(access)) side.accesses.push_back(access);
    wire::Packet packet;
    while (side.engine->transmit(now, 0, wire::kAllTrafficClasses, packet)) side.sent.push_back(packet);
    engine::QueueId queue = 0;
    verbs::Completion completion;
    while (side.engine->next_completed_queue(queue)) {
      while (side.engine->poll(queue, completion)) side.completions.push_back(completion);
    }
  }
  /// The oldest packet that `host` sent arrives.
  bool carry(std::uint32_t host) {
    if (sides[host].sent.empty()) return false;
    const wire::Packet packet = sides[host].sent.front();
    sides[host].sent.pop_front();
    sides[1 - host].engine->receive(now, 0, packet);
    pool.release(packet.payload.buffer);
    drain(1 - host);
    return true;
  }
  bool answer(std::uint32_t host, AccessKind kind,
              engine::AccessStatus status = engine::AccessStatus::kDone) {
    Side& side = sides[host];
    const auto at = std::find_if(side.accesses.begin(), side.accesses.end(),
                                 [&](const engine::Access& access) { return access.kind == kind; });
    if (at == side.accesses.end()) return false;
    const engine::Access access = *at;
    side.accesses.erase(at);
    engine::AccessResult result;
    result.status = status;
    if (kind == AccessKind::kRead) {
      const wire::BufferId buffer = pool.acquire(access.length);
      std::fill_n(pool.data(buffer), access.length, std::byte{1});
      result.data = wire::bytes_payload(pool.data(buffer), access.length, buffer);
    }
    side.engine->access_done(now, access.id, result);
    pool.release(result.data.buffer);
    drain(host);
    return true;
  }
  std::size_t count(std::uint32_t host, AccessKind kind) const {
    return static_cast<std::size_t>(std::count_if(sides[host].accesses.begin(), sides[host].accesses.end(),
                                                  [&](const auto& access) { return access.kind == kind; }));
  }
  /// Everything is carried and answered until nothing is left to do.
  void settle() {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t host = 0; host < 2; ++host) {
        while (!sides[host].accesses.empty()) any |= answer(host, sides[host].accesses.front().kind);
        while (carry(host)) any = true;
      }
    }
  }
  /// Time passes until something is due; false when nothing will be.
  bool expire() {
    const TimePs due = min(sides[0].engine->deadline(), sides[1].engine->deadline());
    if (due == kNever) return false;
    now = due;
    for (std::uint32_t host = 0; host < 2; ++host) {
      sides[host].engine->expire(now);
      drain(host);
    }
    return true;
  }

  wire::PayloadPool pool;
  std::array<Side, 2> sides;
  TimePs now;
};

// A Read is granted when it arrives; its data is read packet by packet, and again for packets that were lost.
TEST(UbUnhelpfulHost, AReadEndsWithItsSegment) {
  UbConfig config;
  config.fetch_ahead_packets = 1;
  ByHand world(config);
  world.post(0, Verb::kRead, 1024);
  ASSERT_TRUE(world.carry(0));
  ASSERT_EQ(world.count(1, AccessKind::kRead), 1u);
  ASSERT_TRUE(world.sides[1].engine->deregister_segment(world.now, world.sides[1].token).ok());
  world.drain(1);
  ASSERT_TRUE(world.answer(1, AccessKind::kRead));
  EXPECT_EQ(world.count(1, AccessKind::kRead), 0u);
  world.settle();
  ASSERT_EQ(world.sides[0].completions.size(), 1u);
  EXPECT_EQ(world.sides[0].completions[0].status, CompletionStatus::kRemoteAccess);
}

// The buffers of a queue are the program's again once it is destroyed, also those of messages under way.
TEST(UbUnhelpfulHost, ADestroyedQueueGivesItsReceiveBuffersBack) {
  for (const bool fetched : {false, true}) {
    ByHand world;
    ASSERT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
    world.post(0, Verb::kSend, 1024);
    while (world.answer(0, AccessKind::kRead)) {
    }
    ASSERT_EQ(world.sides[0].sent.size(), 4u);
    world.carry(0);
    if (fetched) {
      ASSERT_TRUE(world.answer(1, AccessKind::kFetchReceiveEntry));
      ASSERT_TRUE(world.answer(1, AccessKind::kWrite));
    }
    ASSERT_TRUE(world.sides[1].engine->destroy_queue(world.now, world.sides[1].queue).ok());
    if (!fetched) {
      ASSERT_TRUE(world.answer(1, AccessKind::kFetchReceiveEntry));
    }
    while (world.carry(0)) {
    }
    EXPECT_EQ(world.count(1, AccessKind::kWrite), 0u);
    world.settle();
    ASSERT_EQ(world.sides[0].completions.size(), 1u);
    EXPECT_FALSE(world.sides[0].completions[0].ok());
  }
}

// A peer that begins a Send and is given up before its end has taken a receive entry: the program gets it
// back, and its place in the completion queue with it.
TEST(UbUnhelpfulHost, TheEntryOfAnAbandonedSendComesBack) {
  ByHand world;
  for (int entry = 0; entry < 4; ++entry) ASSERT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
  world.post(0, Verb::kSend, 1024);
  while (world.answer(0, AccessKind::kRead)) {
  }
  world.carry(0);
  ASSERT_TRUE(world.answer(1, AccessKind::kFetchReceiveEntry));
  ASSERT_TRUE(world.answer(1, AccessKind::kWrite));
  world.post(1, Verb::kRead, 8);
  while (world.sides[1].engine->counters().channels_failed == 0) ASSERT_TRUE(world.expire());
  world.drain(1);
  while (world.answer(1, AccessKind::kWriteCompletion)) {
  }
  ASSERT_EQ(world.sides[1].completions.size(), 2u);
  const auto& completions = world.sides[1].completions;
  const auto& received =
      completions[0].kind == verbs::CompletionKind::kReceive ? completions[0] : completions[1];
  EXPECT_EQ(received.kind, verbs::CompletionKind::kReceive);
  EXPECT_EQ(received.id, 77u);
  EXPECT_EQ(received.status, CompletionStatus::kFlushed);
  EXPECT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
}

// Data is acknowledged before it is in memory, so a fast peer and a slow memory could pile up accesses
// without end.
TEST(UbUnhelpfulHost, AccessesUnderWayAreBounded) {
  UbConfig config;
  config.transactions_per_jetty = 512;
  ByHand world(config);
  for (int request = 0; request < 300; ++request) world.post(0, Verb::kWrite, kBytes);
  const auto& counters = world.sides[1].engine->counters();
  while (counters.dropped_no_room == 0) {
    while (world.answer(0, AccessKind::kRead)) {
    }
    ASSERT_TRUE(world.carry(0));
    while (world.carry(1)) {
    }
  }
  EXPECT_LE(world.sides[1].accesses.size(), kUnansweredAccessesMax + 1);
  world.settle();
  while (world.sides[0].completions.size() < 300 && world.expire()) world.settle();
  ASSERT_EQ(world.sides[0].completions.size(), 300u);
  for (const verbs::Completion& completion : world.sides[0].completions) EXPECT_TRUE(completion.ok());
}

// Nobody may ever poll the events; the newest are kept, and those that gave way are counted.
TEST(UbUnhelpfulHost, EventsThatNobodyPollsAreBounded) {
  ByHand world;
  UbEngine& engine = *world.sides[0].engine;
  const auto memory = [&] {
    std::size_t bytes = 0;
    for (const MemoryUse& use : engine.memory_use()) bytes += use.bytes;
    return bytes;
  };
  const auto fail_completions = [&](int count) {
    for (int request = 0; request < count; ++request) {
      world.post(0, Verb::kWrite, 8);
      while (world.sides[0].completions.empty()) {
        while (world.answer(0, AccessKind::kRead)) {
        }
        while (world.carry(0) || world.answer(1, AccessKind::kWrite) || world.carry(1)) {
        }
        if (!world.answer(0, AccessKind::kWriteCompletion, engine::AccessStatus::kFault)) {
          ASSERT_TRUE(world.expire());
        }
      }
      world.sides[0].completions.clear();
    }
  };
  fail_completions(20);
  const std::size_t before = memory();
  fail_completions(100);
  EXPECT_EQ(memory(), before);
  engine::AsyncEvent event;
  std::size_t kept = 0;
  for (; engine.poll_event(event); ++kept) EXPECT_EQ(event.kind, engine::AsyncEventKind::kCompletionError);
  EXPECT_LE(kept, 20u);
  EXPECT_EQ(kept + engine.counters().events_dropped, 120u);
}

}  // namespace
}  // namespace wharf::ub
