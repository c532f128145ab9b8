// SPDX-License-Identifier: Apache-2.0
// A steady load allocates nothing. Apart from the other tests because it replaces the allocator of its
// program.
#include <optional>

#include "base/random.h"
#include "sim/kernel/event.h"
#include "sim/kernel/event_queue.h"
#include "sim/kernel/in_order_source.h"
#include "sim/kernel/simulation.h"
#include "tests/support/counting_allocator.h"

namespace wharf::sim {
namespace {

using test::allocations;
using test::count_allocations;

TEST(EventQueue, SteadyStateAllocatesNothing) {
  for (const int population : {8, 24, 100, 3'000}) {
    EventQueue<Event> queue;
    RandomStream random(static_cast<std::uint64_t>(population), "steady");
    std::uint32_t sequence = 0;
    const auto push = [&](TimePs now) {
      const TimePs delay = random.below(50) == 0 ? microseconds(50) : random.exponential(nanoseconds(200));
      queue.push(Event{now + delay, make_order(ComponentId{1}, ComponentId{1}, sequence++)});
    };
    for (int i = 0; i < population; ++i) push(kTimeZero);
    for (int i = 0; i < 200'000; ++i) push(queue.pop().time);
    allocations = 0;
    count_allocations = true;
    for (int i = 0; i < 200'000; ++i) push(queue.pop().time);
    count_allocations = false;
    EXPECT_EQ(allocations, 0U) << population;
    EXPECT_EQ(queue.uses_calendar(), population >= 100);
  }
}

/// Values go round through an in-order source; each also causes one event at a random time.
class Loop : public Component {
 public:
  explicit Loop(Simulation& simulation) : simulation_(simulation), random_(1, "loop") {}
  void start(int values) {
    source_.emplace(simulation_, id(), id(), std::uint16_t{1});
    for (int i = 0; i < values; ++i) source_->push(nanoseconds(i), i);
  }
  void handle(const Event& event) override {
    if (event.kind != 1) return;
    source_->push(simulation_.now() + microseconds(1), source_->take());
    simulation_.schedule(simulation_.now() + random_.exponential(nanoseconds(500)), id(), id(), 2, 0);
  }

 private:
  Simulation& simulation_;
  RandomStream random_;
  std::optional<InOrderSource<int>> source_;
};

TEST(Simulation, SteadyStateAllocatesNothing) {
  Simulation simulation;
  Loop loop(simulation);
  simulation.add(loop, "loop");
  loop.start(500);
  simulation.run_for_events(200'000);
  allocations = 0;
  count_allocations = true;
  simulation.run_for_events(200'000);
  count_allocations = false;
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace wharf::sim
