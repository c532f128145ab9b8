// SPDX-License-Identifier: Apache-2.0
// In steady state the engine takes no memory per packet, and it accounts for all that it takes. Apart from
// the other tests because it replaces the allocator of its program.

#include <array>
#include <memory>
#include <utility>

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

/// Every packet with data that arrives was marked.
class MarkedEngine : public RoceEngine {
 public:
  explicit MarkedEngine(RoceEngine&& engine) : RoceEngine(std::move(engine)) {}
  void receive(TimePs now, std::uint32_t port, const wire::Packet& packet) {
    wire::Packet marked = packet;
    marked.mark = wire::CongestionMark::kExperienced;
    RoceEngine::receive(now, port, marked);
  }
};

// Rates, notifications and windows take none either.
TEST(RoceSteadyState, TakesNoMemoryUnderCongestion) {
  congestion::DcqcnConfig dcqcn;
  dcqcn.rpg_min_rate = gigabits_per_second(10);
  for (const congestion::ControllerConfig& controller :
       {congestion::ControllerConfig(dcqcn), congestion::ControllerConfig(congestion::SwiftConfig{}),
        congestion::ControllerConfig(congestion::ConstantWindowConfig{.packets = 3})}) {
    Arena arena;
    std::array<const RoceEngine*, 2> engines{};
    test::BackToBackEngines<MarkedEngine> world(false, [&](std::uint32_t host, wire::PayloadPool& pool) {
      RoceConfig config;
      config.host = {host};
      config.congestion = controller;
      config.min_time_between_cnps = microseconds(1);
      auto engine = std::make_unique<MarkedEngine>(RoceEngine::create(config, pool, arena).value());
      engines[host] = engine.get();
      return engine;
    });
    world.step = nanoseconds(100);  // Timers run.
    for (const verbs::Verb verb : {verbs::Verb::kWrite, verbs::Verb::kRead, verbs::Verb::kFetchAdd}) {
      world.run(verb, 1000);
      const std::uint64_t before = allocations;
      world.run(verb, 1000);
      EXPECT_EQ(allocations, before) << verbs::name(verb);
    }
    EXPECT_GT(engines[0]->counters().congestion_notifications, 10u);
    EXPECT_GT(engines[1]->counters().congestion_notifications, 10u);
  }
}

void expect_all_told(const RoceConfig& chosen) {
  wire::PayloadPool pool;
  Arena arena;
  RoceConfig config = chosen;
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

TEST(RoceMemoryUse, IsWhatTheAllocatorGave) { expect_all_told({}); }

TEST(RoceMemoryUse, CountsCongestionControl) {
  RoceConfig config;
  config.congestion = congestion::DcqcnConfig{};
  config.min_time_between_cnps = microseconds(50);
  expect_all_told(config);
}

}  // namespace
}  // namespace wharf::roce
