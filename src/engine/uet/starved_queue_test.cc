// SPDX-License-Identifier: Apache-2.0
// Queues that find no message or no PDC for what was posted: all of it leaves in the end, whoever ends first.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/uet_world.h"

namespace wharf::uet {
namespace {

TEST(UetStarvedQueues, GoOnWhenAnotherQueueHasEndedARequest) {
  UetConfig config;
  config.outbound_messages = 4;
  World world(config, {}, 3);
  for (std::size_t queue = 0; queue < 3; ++queue) {
    for (int i = 0; i < 16; ++i) {
      verbs::WorkRequest request = world.request(verbs::Verb::kWrite, 64);
      request.peer = world.peer(0, queue);
      ASSERT_EQ(world.pair().post(0, world.queue(0, queue), request), engine::PostStatus::kOk);
    }
  }
  world.run();
  EXPECT_EQ(world.completions(0).size(), 48u);
  for (const verbs::Completion& completion : world.completions(0)) EXPECT_TRUE(completion.ok());
  for (std::size_t queue = 0; queue < 3; ++queue)
    EXPECT_TRUE(world.engine(0).destroy_queue(world.now(), world.queue(0, queue)).ok());
}

TEST(UetStarvedQueues, GoOnWhenAPdcHasGone) {
  UetConfig config;
  config.pdc_limit = 1;
  config.idle_timeout = milliseconds(20);
  World world(config, {}, 1);
  verbs::WorkRequest ordered = world.request(verbs::Verb::kWrite, 64);
  ordered.delivery = verbs::Delivery::kOrdered;
  ASSERT_EQ(world.post(world.request(verbs::Verb::kWrite, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world.post(ordered), engine::PostStatus::kOk);
  world.run();
  ASSERT_EQ(world.completions(0).size(), 2u);
  EXPECT_TRUE(world.completions(0).back().ok());
}

// PDCs to one host take turns, but a payload that memory still has holds up its own alone.
TEST(UetStarvedQueues, APayloadThatIsStillInMemoryHoldsUpNoOtherPdc) {
  World world;
  UetEngine& source = world.engine(0);
  const auto post = [&](std::uint32_t length, verbs::Delivery delivery) {
    verbs::WorkRequest request = world.request(verbs::Verb::kWrite, length);
    request.delivery = delivery;
    ASSERT_EQ(source.post(world.now(), world.queue(0), request, engine::Submission::kInHand),
              engine::PostStatus::kOk);
  };
  post(2000, verbs::Delivery::kOrdered);
  post(1000, verbs::Delivery::kUnordered);
  std::vector<engine::Access> asked;
  engine::Access access;
  while (source.next_access(access)) asked.push_back(access);
  ASSERT_EQ(asked.size(), 2u);
  const auto leave_after = [&](const engine::Access& answered) {
    engine::AccessResult result;
    result.data = wire::pattern_payload(1, 0, answered.length);
    source.access_done(world.now(), answered.id, result);
    std::vector<std::uint32_t> lengths;
    wire::Packet packet;
    while (source.transmit(world.now(), 0, wire::kAllTrafficClasses, packet))
      lengths.push_back(packet.payload.length);
    return lengths;
  };
  const std::size_t first = asked[0].length == 2000 ? 0 : 1;
  EXPECT_EQ(leave_after(asked[1 - first]), std::vector<std::uint32_t>{1000});
  EXPECT_EQ(leave_after(asked[first]), std::vector<std::uint32_t>{2000});
}

}  // namespace
}  // namespace wharf::uet
