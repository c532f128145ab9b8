// SPDX-License-Identifier: Apache-2.0
// A host that answers memory late, ends grants and destroys queues under way: memory that is the program's
// again is left alone, receive entries come back, and what peers make the engine hold is bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "engine/ub/ub_engine.h"
#include "trace/tracer.h"
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
    std::map<std::uint64_t, std::vector<std::byte>> records;  ///< Of contexts, by address.
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
  void post_atomic(std::uint32_t host, Verb verb) {
    Side& side = sides[host];
    verbs::WorkRequest request;
    request.verb = verb;
    request.peer = side.peer;
    request.width = 8;
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
    if (kind == AccessKind::kWriteContext) {
      side.records[access.address].resize(access.length);
      wire::fill(access.data, side.records[access.address]);
    } else if (kind == AccessKind::kFetchContext) {
      result.data = wire::bytes_payload(side.records[access.address]);
    } else if (kind == AccessKind::kRead) {
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

/// The next life of the jetty `id`, which has been destroyed: numbers rest before they are given again.
engine::QueueId reborn(ByHand& world, std::uint32_t host, engine::QueueId id) {
  UbEngine& engine = *world.sides[host].engine;
  for (std::uint32_t life = 0; life < 4 * kRestingJetties; ++life) {
    const engine::QueueId made = *engine.create_queue(world.now, {.send_depth = 4, .receive_depth = 4});
    if (made == id) return made;
    EXPECT_TRUE(engine.destroy_queue(world.now, made).ok());
  }
  ADD_FAILURE() << "number " << id << " does not come back";
  return id;
}

// [URMA API] What memory answers to a jetty's earlier life is no entry of the present one.
TEST(UbUnhelpfulHost, AnEntryOfAnEarlierLifeIsNotTaken) {
  ByHand world;
  ByHand::Side& side = world.sides[0];
  verbs::WorkRequest request;
  request.verb = Verb::kWrite;
  request.peer = side.peer;
  request.length = 8;
  request.local_count = 1;
  request.local[0] = {kBase, 8};
  request.remote = {kBase, world.sides[1].token};
  const auto announce = [&] {
    EXPECT_EQ(side.engine->post(world.now, side.queue, request, engine::Submission::kDoorbell),
              engine::PostStatus::kOk);
    world.drain(0);
  };
  announce();
  ASSERT_EQ(world.count(0, AccessKind::kFetchWorkRequest), 1u);
  const auto blob = *world.sides[1].engine->export_queue(world.sides[1].queue);
  ASSERT_TRUE(side.engine->destroy_queue(world.now, side.queue).ok());
  side.queue = reborn(world, 0, side.queue);
  request.peer = *side.engine->connect(world.now, side.queue, blob);
  announce();
  ASSERT_EQ(world.count(0, AccessKind::kFetchWorkRequest), 2u);
  ASSERT_TRUE(world.answer(0, AccessKind::kFetchWorkRequest));  // That of the earlier life.
  EXPECT_EQ(world.count(0, AccessKind::kRead), 0u);
  ASSERT_TRUE(world.answer(0, AccessKind::kFetchWorkRequest));
  EXPECT_EQ(world.count(0, AccessKind::kRead), 1u);
  world.settle();
  ASSERT_EQ(side.completions.size(), 1u);
  EXPECT_TRUE(side.completions[0].ok());
}

/// A completion is being written at `host` when its queue goes: of the request, or of the receive.
void expect_not_shown_later(std::uint32_t host, const UbConfig& config) {
  ByHand world(config);
  ByHand::Side& side = world.sides[host];
  const auto send = [&] {
    ASSERT_EQ(world.post_receive(1, 8), engine::PostStatus::kOk);
    world.post(0, Verb::kSend, 8);
    for (bool any = true; any;) {
      any = world.carry(0) || world.carry(1);
      for (const AccessKind kind : {AccessKind::kRead, AccessKind::kWrite, AccessKind::kFetchReceiveEntry})
        any |= world.answer(0, kind) || world.answer(1, kind);
    }
  };
  send();
  ASSERT_EQ(world.count(host, AccessKind::kWriteCompletion), 1u);
  ASSERT_TRUE(side.engine->destroy_queue(world.now, side.queue).ok());
  side.queue = reborn(world, host, side.queue);
  for (std::uint32_t at = 0; at < 2; ++at) {
    ByHand::Side& one = world.sides[at];
    const auto blob = *world.sides[1 - at].engine->export_queue(world.sides[1 - at].queue);
    one.peer = *one.engine->connect(world.now, one.queue, blob);
  }
  send();
  ASSERT_EQ(world.count(host, AccessKind::kWriteCompletion), 2u);
  ASSERT_TRUE(world.answer(host, AccessKind::kWriteCompletion));  // That of the earlier life.
  EXPECT_TRUE(side.completions.empty());
  ASSERT_TRUE(world.answer(host, AccessKind::kWriteCompletion));
  ASSERT_EQ(side.completions.size(), 1u);
  EXPECT_TRUE(side.completions[0].ok());
  world.settle();
}

// Nor is a completion that was being written for the earlier life one of the present: on the short ways and,
// where a tracer watches every step, on the layers.
TEST(UbUnhelpfulHost, ACompletionOfAnEarlierLifeIsNotShown) {
  trace::Tracer tracer;
  UbConfig watched;
  watched.tracer = &tracer;
  for (const std::uint32_t host : {0U, 1U}) {
    expect_not_shown_later(host, {});
    expect_not_shown_later(host, watched);
  }
}

// The same for a message: the entry that it took was the earlier life's, and so is the memory behind it.
TEST(UbUnhelpfulHost, AMessageOfAnEarlierLifeWritesNothing) {
  for (const bool fetched : {false, true}) {
    ByHand world;
    ByHand::Side& target = world.sides[1];
    ASSERT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
    world.post(0, Verb::kSend, 1024);
    while (world.answer(0, AccessKind::kRead)) {
    }
    world.carry(0);
    if (fetched) {
      ASSERT_TRUE(world.answer(1, AccessKind::kFetchReceiveEntry));
      ASSERT_TRUE(world.answer(1, AccessKind::kWrite));
    }
    ASSERT_TRUE(target.engine->destroy_queue(world.now, target.queue).ok());
    target.queue = reborn(world, 1, target.queue);
    if (!fetched) {
      ASSERT_TRUE(world.answer(1, AccessKind::kFetchReceiveEntry));
    }
    while (world.carry(0)) {
    }
    EXPECT_EQ(world.count(1, AccessKind::kWrite), 0u);
    const std::size_t before = target.completions.size();
    world.settle();
    EXPECT_EQ(target.completions.size(), before);  // Nothing was received in the present life.
    ASSERT_EQ(world.sides[0].completions.size(), 1u);
    EXPECT_FALSE(world.sides[0].completions[0].ok());
  }
}

// [URMA API] A jetty whose record is lost hands its receives back.
TEST(UbUnhelpfulHost, AJettyWhoseRecordIsLostHandsItsReceivesBack) {
  UbConfig config;
  config.context_cache_entries = 1;
  ByHand world(config);
  for (int entry = 0; entry < 3; ++entry) ASSERT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
  world.post(0, Verb::kSend, 8);
  // Records come and go, but for that of the jetty which the message is for.
  const auto is_lost = [&](const engine::Access& access) {
    return access.kind == AccessKind::kFetchContext && access.length == 20;
  };
  bool lost = false;
  for (bool any = true; any;) {
    any = false;
    for (std::uint32_t host = 0; host < 2; ++host) {
      while (!world.sides[host].accesses.empty()) {
        const engine::Access access = world.sides[host].accesses.front();
        const bool loses = host == 1 && is_lost(access);
        any |= world.answer(host, access.kind,
                            loses ? engine::AccessStatus::kFault : engine::AccessStatus::kDone);
        lost |= loses;
      }
      while (world.carry(host)) any = true;
    }
  }
  EXPECT_TRUE(lost);
  std::size_t receives = 0;
  for (const verbs::Completion& completion : world.sides[1].completions) {
    if (completion.kind != verbs::CompletionKind::kReceive) continue;
    ++receives;
    EXPECT_EQ(completion.status, CompletionStatus::kFlushed);
    EXPECT_EQ(completion.id, 77u);
  }
  EXPECT_EQ(receives, 3u);
  ASSERT_EQ(world.sides[0].completions.size(), 1u);
  EXPECT_FALSE(world.sides[0].completions[0].ok());
}

// [URMA API] A completion is seen after the data that it announces: it is written behind it, in its stream.
TEST(UbUnhelpfulHost, CompletionsAreWrittenBehindTheirData) {
  for (const Verb verb : {Verb::kRead, Verb::kSend}) {
    for (const std::uint32_t length : {8U, 1024U}) {
      ByHand world;
      ASSERT_EQ(world.post_receive(1, 1024), engine::PostStatus::kOk);
      world.post(0, verb, length);
      const std::uint32_t receiver = verb == Verb::kRead ? 0 : 1;
      std::size_t completions = 0;
      std::uint64_t stream = 0;
      for (bool any = true; any;) {
        any = false;
        for (std::uint32_t host = 0; host < 2; ++host) {
          while (!world.sides[host].accesses.empty()) {
            const engine::Access access = world.sides[host].accesses.front();
            if (access.kind == AccessKind::kWrite && host == receiver) stream = access.stream;
            if (access.kind == AccessKind::kWriteCompletion) {
              EXPECT_EQ(access.order, verbs::AccessOrder::kRelease);
              if (host == receiver) {
                EXPECT_EQ(access.stream, stream);
              }
              ++completions;
            }
            any |= world.answer(host, access.kind);
          }
          while (world.carry(host)) any = true;
        }
      }
      EXPECT_EQ(completions, verb == Verb::kRead ? 1u : 2u);
    }
  }
}

// What a segment says about the order of accesses to it is what the target asks of its memory, on the short
// ways and, where a tracer watches every step, on the layers.
TEST(UbUnhelpfulHost, AccessesHaveTheOrderOfTheirSegment) {
  struct Case {
    Verb verb;
    std::uint32_t length;
  };
  for (const auto order :
       {verbs::AccessOrder::kRelaxed, verbs::AccessOrder::kAscending, verbs::AccessOrder::kRelease}) {
    for (const Case& each : {Case{Verb::kWrite, 8}, Case{Verb::kWrite, 1024}, Case{Verb::kFetchAdd, 8},
                             Case{Verb::kCompareSwap, 8}, Case{Verb::kSwap, 8}}) {
      for (const bool watched : {false, true}) {
        trace::Tracer tracer;
        UbConfig config;
        if (watched) config.tracer = &tracer;
        ByHand world(config);
        ByHand::Side& target = world.sides[1];
        target.token = *target.engine->register_segment(
            world.now, {.base = kBase, .length = kBytes, .rights = verbs::kFullAccess, .write_order = order});
        if (each.verb == Verb::kWrite) {
          world.post(0, each.verb, each.length);
        } else {
          world.post_atomic(0, each.verb);
        }
        while (world.answer(0, AccessKind::kRead)) {
        }
        std::size_t accesses = 0;
        while (world.carry(0)) {
        }
        for (const engine::Access& access : target.accesses) {
          if (access.kind != AccessKind::kWrite && access.kind != AccessKind::kAtomic) continue;
          EXPECT_EQ(access.order, order) << verbs::name(each.verb) << each.length << watched;
          ++accesses;
        }
        EXPECT_GE(accesses, 1u);
        world.settle();
      }
    }
  }
}

// [UB-Base 2.0.1 7.3] The first reason to refuse is the one that is told: bad data is not asked for again
// because another packet of the message met a missing page.
TEST(UbUnhelpfulHost, TheFirstReasonToRefuseIsTold) {
  ByHand world;
  world.post(0, Verb::kWrite, 512);
  while (world.answer(0, AccessKind::kRead)) {
  }
  while (world.carry(0)) {
  }
  ASSERT_EQ(world.count(1, AccessKind::kWrite), 2u);
  ASSERT_TRUE(world.answer(1, AccessKind::kWrite, engine::AccessStatus::kPoison));
  ASSERT_TRUE(world.answer(1, AccessKind::kWrite, engine::AccessStatus::kFault));
  for (int round = 0; round < 40 && world.sides[0].completions.empty(); ++round) {
    world.settle();
    if (world.sides[0].completions.empty() && !world.expire()) break;
  }
  ASSERT_EQ(world.sides[0].completions.size(), 1u);
  EXPECT_EQ(world.sides[0].completions[0].status, CompletionStatus::kRemotePoison);
}

// A host that answers what it was never asked, or once more, has said nothing.
TEST(UbUnhelpfulHost, AnswersToNoAccessChangeNothing) {
  ByHand world;
  for (const engine::AccessId id : {0U, 1U, 1'000U, 1U << 20U, 0x7fff'ffffU, 0xffff'ffffU})
    world.sides[0].engine->access_done(world.now, id, {});
  world.post(0, Verb::kWrite, 64);
  world.settle();
  ASSERT_EQ(world.sides[0].completions.size(), 1u);
  EXPECT_TRUE(world.sides[0].completions[0].ok());
}

}  // namespace
}  // namespace wharf::ub
