// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet. Apart from the other tests because it replaces the
// allocator of its program.

#include "engine/uet/engine_parts.h"
#include "tests/support/counting_allocator.h"
#include "tests/support/uet_back_to_back.h"

namespace wharf::uet {
namespace {

using test::allocations;

TEST(UetSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::UetBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

TEST(UetSteadyState, NeitherDoesCongestionManagement) {
  UetConfig config;
  config.congestion = CongestionControl::kBoth;
  config.controller =
      congestion::NsccConfig::for_network(gigabits_per_second(100), microseconds(12), 4208, true);
  for (const congestion::PathChoice choice :
       {congestion::PathChoice::kMixed, congestion::PathChoice::kReps, congestion::PathChoice::kBitmap}) {
    config.path_choice = choice;
    test::UetBackToBack world(false, config);
    world.step = nanoseconds(500);
    world.run(verbs::Verb::kWrite, 20'000);
    const std::uint64_t before = allocations;
    world.run(verbs::Verb::kWrite, 20'000);
    EXPECT_EQ(allocations, before);
  }
}

TEST(UetMemoryUse, IsWhatTheAllocatorGave) {
  wire::PayloadPool pool;
  Arena arena;
  const std::uint64_t before = test::heap_bytes;
  const auto engine = std::make_unique<UetEngine>(UetEngine::create(UetConfig{}, pool, arena).value());
  for (int each = 0; each < 5; ++each) {
    const engine::QueueId queue = engine->create_queue({}, {.send_depth = 32, .receive_depth = 16}).value();
    ASSERT_TRUE(engine->register_segment({}, {.base = 4096, .length = 4096}).ok());
    ASSERT_TRUE(engine->connect({}, queue, engine->export_queue(queue).value()).ok());
    ASSERT_EQ(engine->post_receive({}, queue, {}), engine::PostStatus::kOk);
  }
  std::uint64_t told = 0;
  for (const MemoryUse& use : engine->memory_use()) told += use.bytes;
  const std::uint64_t taken = test::heap_bytes - before - arena.bytes_held() + arena.bytes_used();
  // The allocator that counts does not see what is aligned to lines. The arena's own list of blocks, and what
  // the shared configuration is counted with, are nobody's.
  told -= sizeof(EngineParts);
  EXPECT_LE(told, taken);
  EXPECT_GE(told + 256, taken);
}

}  // namespace
}  // namespace wharf::uet
