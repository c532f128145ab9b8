// SPDX-License-Identifier: Apache-2.0
#include "engine/ub/channel_state.h"

#include <gtest/gtest.h>

#include <string>

#include "base/golden_test_support.h"
#include "tests/support/event_log.h"
#include "tests/support/generated_block.h"
#include "tests/support/state_matrix.h"
#include "tests/support/ub_world.h"

namespace wharf::ub {
namespace {

TEST(UbChannelState, TheTableOfTheDocument) {
  test::expect_generated_block(
      "docs/protocol/ub.md", "TP channel states",
      test::state_matrix<ChannelState, ChannelEvent>(
          kChannelStateCount, kChannelEventCount,
          [](ChannelState state, ChannelEvent event) { return next_state(state, event); }));
}

// A channel through its life: a lost packet is repaired, the peer falls silent, both connect again, the peer
// is forgotten.
TEST(UbChannelState, LifeOfAChannel) {
  test::EventLog log(bit(trace::EventKind::kStateChange) | bit(trace::EventKind::kTimeout) |
                     bit(trace::EventKind::kRetransmission));
  UbConfig config;
  config.tracer = &log.tracer;
  config.retransmission.attempts_max = 2;
  World world(config);
  bool silent = false;
  int lost = 0;
  world.pair().wire().options().drop_if = [&](const wire::Packet& packet) {
    return silent ||
           (packet.ub.rtph.opcode == wire::TpOpcode::kReliable && packet.ub.rtph.psn == 1 && lost++ == 0);
  };
  for (int each = 0; each < 4; ++each) {
    ASSERT_EQ(world.pair().post(0, world.queue(0), world.request(verbs::Verb::kWrite, 64)),
              engine::PostStatus::kOk);
  }
  ASSERT_EQ(world.pair().run_until_idle(), test::RunEnd::kDone);
  silent = true;
  ASSERT_EQ(world.pair().post(0, world.queue(0), world.request(verbs::Verb::kWrite, 64)),
            engine::PostStatus::kOk);
  ASSERT_EQ(world.pair().run_until_idle(), test::RunEnd::kDone);
  for (std::uint32_t host = 0; host < 2; ++host) {
    const auto blob = *world.engine(1 - host).export_queue(world.queue(1 - host));
    ASSERT_TRUE(world.engine(host).connect(world.now(), world.queue(host), blob).ok());
  }
  ASSERT_TRUE(world.engine(0).forget_host(world.now(), {1}).ok());
  expect_golden("trace/ub_channel_life.txt", log.text());
}

}  // namespace
}  // namespace wharf::ub
