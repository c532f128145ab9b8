// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet, and it accounts for all that it takes. Apart from
// the other tests because it replaces the allocator of its program.

#include "tests/support/counting_allocator.h"
#include "tests/support/roce_back_to_back.h"

namespace wharf::roce {
namespace {

using test::allocations;

TEST(RoceSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::RoceBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

TEST(RoceMemoryUse, IsWhatTheAllocatorGave) {
  wire::PayloadPool pool;
  Arena arena;
  RoceConfig config;
  config.queue_cache_entries = 8;  // Evicted records would lie in payload buffers.
  config.key_cache_entries = 8;
  const std::uint64_t before = test::heap_bytes;
  const auto engine = std::make_unique<RoceEngine>(RoceEngine::create(config, pool, arena).value());
  for (int each = 0; each < 5; ++each) {
    ASSERT_TRUE(engine->create_queue({}, {.send_depth = 32, .receive_depth = 16}).ok());
    ASSERT_TRUE(engine->register_segment({}, {.base = 4096, .length = 4096}).ok());
  }
  std::uint64_t told = 0;
  for (const MemoryUse& use : engine->memory_use()) told += use.bytes;
  const std::uint64_t taken = test::heap_bytes - before - arena.bytes_held() + arena.bytes_used();
  // The arena's own list of blocks and the gaps before aligned spans are nobody's.
  EXPECT_LE(told, taken);
  EXPECT_GE(told + 256, taken);
}

}  // namespace
}  // namespace wharf::roce
