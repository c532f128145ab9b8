// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet, and it accounts for all that it takes. Apart from
// the other tests because it replaces the allocator of its program.

#include "tests/support/counting_allocator.h"
#include "tests/support/ub_back_to_back.h"

namespace wharf::ub {
namespace {

using test::allocations;

TEST(UbSteadyState, TakesNoMemoryPerPacket) {
  for (const bool bytes : {false, true}) {
    test::UbBackToBack world(bytes);
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
  }
}

TEST(UbMemoryUse, IsWhatTheAllocatorGave) {
  wire::PayloadPool pool;
  Arena arena;
  Arena other_arena;
  const auto make = [&pool](std::uint32_t host, Arena& memory) {
    UbConfig config;
    config.host = {host};
    return UbEngine::create(config, pool, memory).value();
  };
  UbEngine other = make(2, other_arena);
  const auto blob = other.export_queue(other.create_queue({}, {}).value()).value();
  const std::uint64_t before = test::heap_bytes;
  const auto engine = std::make_unique<UbEngine>(make(1, arena));
  for (int jetty = 0; jetty < 5; ++jetty) {
    const engine::QueueId queue = engine->create_queue({}, {.send_depth = 32, .receive_depth = 16}).value();
    const verbs::PeerId peer = engine->connect({}, queue, blob).value();
    ASSERT_TRUE(engine->register_segment({}, {.base = 4096, .length = 4096}).ok());
    for (int each = 0; each < 20; ++each) {
      verbs::WorkRequest request;
      request.verb = verbs::Verb::kFetchAdd;
      request.peer = peer;
      ASSERT_EQ(engine->post({}, queue, request, engine::Submission::kInHand), engine::PostStatus::kOk);
    }
  }
  const auto taken = test::heap_bytes - before - arena.bytes_held() + arena.bytes_used();
  std::uint64_t told = 0;
  for (const MemoryUse& use : engine->memory_use()) told += use.bytes;
  // The arena's own list of blocks and the gaps before aligned spans are nobody's.
  EXPECT_LE(told, taken);
  EXPECT_GE(told + 256, taken);
}

}  // namespace
}  // namespace wharf::ub
