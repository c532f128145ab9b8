// SPDX-License-Identifier: Apache-2.0
// What a UB engine is set up for when every packet costs a datagram.
#include "live/udp/ub_live.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "live/udp/live_protocol.h"

namespace wharf::live {
namespace {

using Ub = LiveProtocol<ub::UbEngine>;

struct Side {
  EngineMemory memory;
  std::unique_ptr<ub::UbEngine> engine;
  engine::QueueId queue = 0;
  verbs::PeerId peer = 0;
  verbs::SegmentToken token;
};

// Acknowledgements of their own are put off: one for all that comes within half a millisecond.
TEST(UbLive, SeveralPacketsShareAnAcknowledgement) {
  constexpr std::uint64_t kBase = 0x10000;
  Side sides[2];
  TimePs now = kTimeZero;
  for (std::uint32_t host = 0; host < 2; ++host) {
    Side& side = sides[host];
    auto made = Ub::make({.host = {host}}, side.memory);
    ASSERT_TRUE(made.ok());
    side.engine = std::move(*made);
    side.queue = *side.engine->create_queue(now, {});
    side.token =
        *side.engine->register_segment(now, {.base = kBase, .length = 4096, .rights = verbs::kFullAccess});
  }
  for (std::uint32_t host = 0; host < 2; ++host) {
    const auto blob = *sides[1 - host].engine->export_queue(sides[1 - host].queue);
    sides[host].peer = *sides[host].engine->connect(now, sides[host].queue, blob);
  }
  std::uint32_t datagrams = 0;
  std::uint32_t completions = 0;
  const auto settle = [&] {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t host = 0; host < 2; ++host) {
        ub::UbEngine& engine = *sides[host].engine;
        if (engine.deadline() <= now) engine.expire(now);
        engine::Access access;
        while (engine.next_access(access)) {
          engine::AccessResult result;
          if (access.kind == engine::AccessKind::kRead)
            result.data = wire::pattern_payload(1, 0, access.length);
          engine.access_done(now, access.id, result);
        }
        wire::Packet packet;
        while (engine.transmit(now, 0, wire::kAllTrafficClasses, packet)) {
          any = true;
          ++datagrams;
          sides[1 - host].engine->receive(now, 0, packet);
        }
        engine::QueueId queue = 0;
        verbs::Completion done;
        while (engine.next_completed_queue(queue)) {
          while (engine.poll(queue, done)) {
            EXPECT_TRUE(done.ok());
            ++completions;
          }
        }
      }
    }
  };
  settle();
  datagrams = 0;
  constexpr std::uint32_t kWrites = 8;
  for (std::uint32_t write = 0; write < kWrites; ++write) {
    now = now + microseconds(50);
    verbs::WorkRequest request;
    request.verb = verbs::Verb::kWrite;
    request.peer = sides[0].peer;
    request.length = 64;
    request.local_count = 1;
    request.local[0] = {kBase, 64};
    request.remote = {kBase, sides[1].token};
    ASSERT_EQ(sides[0].engine->post(now, sides[0].queue, request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
    settle();
    EXPECT_EQ(completions, write + 1);
  }
  EXPECT_EQ(datagrams, 2 * kWrites) << "a request and its answer each";
  now = now + milliseconds(1);
  settle();
  EXPECT_LE(datagrams, 2 * kWrites + 2);
}

}  // namespace
}  // namespace wharf::live
