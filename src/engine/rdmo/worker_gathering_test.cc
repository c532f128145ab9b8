// SPDX-License-Identifier: Apache-2.0
// Small appends that a worker gathers into one write, when that write never comes.
#include <gtest/gtest.h>

#include "engine/rdmo/worker.h"
#include "engine/rdmo/worker_world_test_support.h"

namespace wharf::rdmo {
namespace {

// What was gathered was never written: whoever sent it hears that it failed.
TEST(WorkerGathering, AppendsFailWithTheirTarget) {
  WorkerConfig config = WorkerWorld::small_config();
  config.coalesce_delay = microseconds(2);
  WorkerWorld world(config);
  world.direct = false;
  const auto target = world.add_target();
  const std::uint64_t cell = world.targets[0].base;
  world.targets[0].set_word(cell, cell + 8);
  const auto key = world.add_memory(target);
  const auto peer = world.connect(target, "one");
  const wire::RdmoExtendedRequest append = WorkerWorld::extended_append(target, cell, key);
  world.ask(peer, append, "a");
  world.answer(0);
  world.ask(peer, append, "b");
  ASSERT_TRUE(world.pending.empty()) << "waits for neighbours";
  world.worker.target_lost(world.now, 0);
  world.run();
  ASSERT_EQ(world.heard.size(), 2U);
  for (const auto& heard : world.heard) EXPECT_EQ(heard.answer.status, RdmoStatus::kTargetLost);
  EXPECT_EQ(world.worker.targets(), 0U);
}

}  // namespace
}  // namespace wharf::rdmo
