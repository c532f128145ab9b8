// SPDX-License-Identifier: Apache-2.0
#include "engine/roce/queue_state.h"

#include <gtest/gtest.h>

#include <string>

#include "base/golden_test_support.h"
#include "tests/support/event_log.h"
#include "tests/support/generated_block.h"
#include "tests/support/roce_pair.h"
#include "tests/support/state_matrix.h"

namespace wharf::roce {
namespace {

/// One row per state: the next state of each event, "." where the event means nothing.
std::string matrix() {
  std::string text;
  for (int state = 0; state < kQueueStateCount; ++state) {
    text += std::string(name(static_cast<QueueState>(state))) + ":";
    for (int event = 0; event < kQueueEventCount; ++event) {
      const auto next = next_state(static_cast<QueueState>(state), static_cast<QueueEvent>(event));
      text += next ? std::string(" ") + name(*next) : " .";
    }
    text += "\n";
  }
  return text;
}

// Columns: initialize, peer_known, peer_prepared, suspend, resume, send_fault, fail, reset.
TEST(RoceQueueState, Ibta_10_3_1_StateByEventMatrix) {
  EXPECT_EQ(matrix(),
            "reset: init . . . . . . .\n"
            "init: . rtr . . . . error reset\n"
            "rtr: . . rts . . . error reset\n"
            "rts: . . . sqd . sqe error reset\n"
            "error: . . . . . . . reset\n"
            "sqd: . . . . rts sqe error reset\n"
            "sqe: . . . . rts . error reset\n");
}

TEST(RoceQueueState, TheDocumentHasItsMatrix) {
  test::expect_generated_block(
      "docs/protocol/roce.md", "queue pair states",
      test::state_matrix<QueueState, QueueEvent>(kQueueStateCount, kQueueEventCount, next_state));
}

// A queue pair through its life: connected, its peer falls silent, reset, connected again, destroyed.
TEST(RoceQueueState, LifeOfAQueuePair) {
  test::EventLog log(bit(trace::EventKind::kStateChange) | bit(trace::EventKind::kTimeout) |
                     bit(trace::EventKind::kRetransmission));
  RoceConfig config;
  config.starting_psn = 100;
  config.retry_count = 2;
  RoceConfig quiet = config;
  config.tracer = &log.tracer;
  test::RocePair world(config, quiet, {});
  world.watch();
  world.lose = [](const wire::Packet&) { return true; };
  ASSERT_EQ(world.pair.post(0, 0, world.request(verbs::Verb::kWrite, 0, 4096, 64)), engine::PostStatus::kOk);
  ASSERT_EQ(world.pair.run_until_idle(), test::RunEnd::kDone);
  ASSERT_TRUE(world.pair.engine(0).reset(world.pair.now(), 0).ok());
  ASSERT_TRUE(world.pair.engine(1).reset(world.pair.now(), 0).ok());
  world.connect(0);
  ASSERT_TRUE(world.pair.engine(0).destroy_queue(world.pair.now(), 0).ok());
  expect_golden("trace/roce_queue_pair_life.txt", log.text());
}

// The lowest number that is free serves next.
TEST(RoceQueueState, NumbersServeAgain) {
  test::RocePair world({}, {}, {});
  RoceEngine& engine = world.pair.engine(0);
  const auto create = [&] { return engine.create_queue(world.pair.now(), {}).value(); };
  const auto destroy = [&](engine::QueueId id) { return engine.destroy_queue(world.pair.now(), id).ok(); };
  const engine::QueueId first = create();
  EXPECT_EQ(create(), first + 1);
  EXPECT_EQ(create(), first + 2);
  ASSERT_TRUE(destroy(first + 1) && destroy(first));
  EXPECT_EQ(create(), first);
  EXPECT_EQ(create(), first + 1);
  EXPECT_EQ(create(), first + 3);
}

}  // namespace
}  // namespace wharf::roce
