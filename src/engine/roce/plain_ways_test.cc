// SPDX-License-Identifier: Apache-2.0
// The short ways of usual inputs against what may hold a request back or make a packet unusual.
#include "engine/roce/roce_engine.h"
#include "tests/support/roce_pair.h"

namespace wharf::roce {
namespace {

using engine::Access;
using engine::AccessKind;
using engine::AccessResult;
using engine::PostStatus;
using engine::Submission;
using test::RocePair;
using verbs::Verb;

/// Answers the next access of `engine`, a read of 64 bytes.
void answer_read(TimePs now, RoceEngine& engine, const std::byte* bytes) {
  Access access;
  ASSERT_TRUE(engine.next_access(access));
  ASSERT_EQ(access.kind, AccessKind::kRead);
  AccessResult result;
  result.data = wire::bytes_payload(bytes, 64);
  engine.access_done(now, access.id, result);
}

// A packet that leaves makes room for the next request, whose entry is on its way.
TEST(RocePlainWays, RequestWaitsForItsEntryWhenThereIsRoomForItsPacket) {
  RoceConfig config;
  config.transmit_ahead = 1;
  RocePair world(config);
  RoceEngine& engine = world.pair.engine(0);
  const TimePs now = world.pair.now();
  const std::byte bytes[64] = {};
  wire::Packet packet;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(engine.post(now, 0, world.request(Verb::kWrite, 0, 4096, 64), Submission::kInHand),
              PostStatus::kOk);
    answer_read(now, engine, bytes);
    if (i == 1) {
      ASSERT_EQ(engine.post(now, 0, world.request(Verb::kWrite, 0, 4096, 64), Submission::kDoorbell),
                PostStatus::kOk);
    }
    ASSERT_TRUE(engine.transmit(now, 0, wire::kAllTrafficClasses, packet));
  }
  Access fetch;
  ASSERT_TRUE(engine.next_access(fetch));
  ASSERT_EQ(fetch.kind, AccessKind::kFetchWorkRequest);
  Access other;
  EXPECT_FALSE(engine.next_access(other));
  engine.access_done(now, fetch.id, {});
  answer_read(now, engine, bytes);
  EXPECT_TRUE(engine.transmit(now, 0, wire::kAllTrafficClasses, packet));
}

// With congestion control on, packets take the general way; their payload is kept until it is placed.
TEST(RocePlainWays, PacedQueuePairsPlaceTheirData) {
  RoceConfig config;
  config.min_time_between_cnps = microseconds(50);
  RocePair world(config);
  world.fill(0, 0, 64, 7);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(world.pair.post(0, 0, world.request(Verb::kWrite, 0, 4096, 64)), PostStatus::kOk);
  }
  EXPECT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  EXPECT_EQ(world.completions(0).size(), 8u);
  EXPECT_TRUE(world.holds(1, 4096, 64, 7));
  EXPECT_EQ(world.pair.pool().in_use(), 0u);
}

}  // namespace
}  // namespace wharf::roce
