// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet, and it accounts for all that it takes. Apart from
// the other tests because it replaces the allocator of its program.

#include "tests/support/back_to_back.h"
#include "tests/support/counting_allocator.h"

namespace wharf::roce {
namespace {

using test::allocations;

TEST(RoceSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::BackToBack world(bytes);
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
  RoceConfig config;
  config.queue_cache_entries = 8;  // Evicted records would lie in payload buffers.
  config.key_cache_entries = 8;
  const std::uint64_t before = test::heap_bytes;
  const auto engine = RoceEngine::create(config, pool).value();
  for (int each = 0; each < 5; ++each) {
    ASSERT_TRUE(engine->create_queue({}, {.send_depth = 32, .receive_depth = 16}).ok());
    ASSERT_TRUE(engine->register_segment({}, {.base = 4096, .length = 4096}).ok());
  }
  std::uint64_t told = 0;
  for (const MemoryUse& use : engine->memory_use()) told += use.bytes;
  EXPECT_EQ(told, test::heap_bytes - before);
}

}  // namespace
}  // namespace wharf::roce
