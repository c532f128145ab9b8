// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/event_queue.h"

#include <set>

#include "base/random.h"
#include "sim/kernel/event.h"

namespace wharf::sim {
namespace {

struct Earlier {
  bool operator()(const Event& a, const Event& b) const { return before(a, b); }
};

/// The queue beside a sorted set that obviously does the same.
class CheckedQueue {
 public:
  void push(std::int64_t time, std::uint32_t target) {
    Event event{TimePs{time}, make_order(ComponentId{target}, ComponentId{target % 7}, sequence_++), target,
                0, 0};
    queue_.push(event);
    ASSERT_TRUE(model_.insert(event).second);
  }
  void pop() {
    const Event expected = *model_.begin();
    model_.erase(model_.begin());
    if (expected.order % 3 == 0) {
      ASSERT_EQ(queue_.peek().order, expected.order);
    }
    const Event event = queue_.pop();
    ASSERT_EQ(event.time, expected.time);
    ASSERT_EQ(event.order, expected.order);
    ASSERT_EQ(queue_.size(), model_.size());
    now_ = event.time.ps;
  }
  std::size_t size() const { return model_.size(); }
  std::int64_t now() const { return now_; }
  bool uses_calendar() const { return queue_.uses_calendar(); }

 private:
  EventQueue<Event> queue_;
  std::set<Event, Earlier> model_;
  std::uint32_t sequence_ = 0;
  std::int64_t now_ = 0;
};

/// How far ahead the next event lies: shapes from bursts at one instant to seconds away, and a mixture.
std::int64_t draw_delay(RandomStream& random, std::uint64_t shape) {
  switch (shape) {
    case 0:
      return random.exponential(nanoseconds(100)).ps;
    case 1:
      return static_cast<std::int64_t>(random.below(4)) * 1'000;
    case 2:
      return random.below(10) == 0 ? seconds(1).ps + static_cast<std::int64_t>(random.below(1'000)) : 50;
    case 3:
      return static_cast<std::int64_t>(random.next_u64() >> (2 + random.below(60)));
    case 4:
      return 0;
    case 5:
      return static_cast<std::int64_t>(random.below(std::uint64_t{1} << random.below(21)));
    default:
      return draw_delay(random, random.below(6));
  }
}

// Some models schedule a wake-up that is already pending: records may be equal in every respect.
TEST(EventQueue, EqualRecordsMayRepeat) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random(seed, "repeats");
    EventQueue<Event> queue;
    std::multiset<std::int64_t> model;
    std::int64_t now = 0;
    for (int i = 0; i < 20'000; ++i) {
      if (model.size() < 2'000 && random.below(100) < 70) {
        const std::int64_t time = now + static_cast<std::int64_t>(random.below(40)) * 1000;
        queue.push({TimePs{time}, 0, 0, 0, 0});
        model.insert(time);
      } else if (!model.empty()) {
        now = *model.begin();
        model.erase(model.begin());
        ASSERT_EQ(queue.pop().time.ps, now);
      }
    }
  }
}

TEST(EventQueue, EqualsASortedSetUnderRandomLoads) {
  int calendars = 0;
  int collapses = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "queue");
    CheckedQueue queue;
    std::uint64_t shape = random.below(7);
    for (int phase = 0; phase < 12; ++phase) {
      // A population to reach, held for a while; the delays change their shape from time to time.
      const std::uint64_t population = random.below(std::uint64_t{4} << random.below(10));
      if (random.below(2) == 0) shape = random.below(7);
      const bool before_phase = queue.uses_calendar();
      for (std::uint64_t i = 0; i < 300 || queue.size() != population; ++i) {
        // Times stay far below 2^63 even for shape 3.
        const std::int64_t delay = queue.now() > (std::int64_t{1} << 61U) ? 1 : draw_delay(random, shape);
        if (queue.size() <= population) {
          queue.push(queue.now() + delay, static_cast<std::uint32_t>(random.below(50)));
        }
        if (queue.size() > population) queue.pop();
        if (HasFatalFailure()) return;
      }
      calendars += queue.uses_calendar() && !before_phase ? 1 : 0;
      collapses += !queue.uses_calendar() && before_phase ? 1 : 0;
    }
    while (queue.size() > 0) {
      queue.pop();
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(calendars, 50);
  EXPECT_GT(collapses, 50);
}

TEST(EventQueue, LargeBurstAtOneInstantWithFollowUps) {
  CheckedQueue queue;
  RandomStream random(9, "burst");
  for (int i = 0; i < 20'000; ++i) queue.push(0, static_cast<std::uint32_t>(random.below(1'000)));
  for (int i = 0; i < 20'000; ++i) {
    queue.pop();
    if (i % 2 == 0) queue.push(queue.now(), static_cast<std::uint32_t>(random.below(1'000)));
    if (HasFatalFailure()) return;
  }
  while (queue.size() > 0) queue.pop();
}

// Thousands of timers far ahead and a short chain of near events: the far ones must come out in order when
// time reaches them, also across long silences.
TEST(EventQueue, FarTimersBesideANearChain) {
  CheckedQueue queue;
  RandomStream random(10, "timers");
  for (int i = 0; i < 5'000; ++i) {
    queue.push(milliseconds(1).ps + static_cast<std::int64_t>(random.below(10'000'000'000)), 1);
  }
  int chain = 50'000;
  queue.push(0, 2);
  while (queue.size() > 0) {
    queue.pop();
    // First one long chain, then short ones that die out between timers.
    if (chain > 20'000 || (chain > 0 && random.below(2) == 0)) {
      --chain;
      queue.push(queue.now() + 700, 2);
    }
    if (HasFatalFailure()) return;
  }
}

// Several at a time, between pushes near and far: the same order as one at a time.
TEST(EventQueue, TakeUntilEqualsPopUntil) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed, "take");
    EventQueue<Event> taken;
    EventQueue<Event> popped;
    std::int64_t now = 0;
    std::uint32_t sequence = 0;
    for (int round = 0; round < 200; ++round) {
      const std::uint64_t shape = random.below(7);
      for (std::uint64_t pushes = random.below(40); pushes > 0; --pushes) {
        const auto target = static_cast<std::uint32_t>(random.below(50));
        const Event event{TimePs{now + draw_delay(random, shape)},
                          make_order(ComponentId{target}, ComponentId{target % 7}, sequence++), target, 0, 0};
        taken.push(event);
        popped.push(event);
      }
      const TimePs end{now + static_cast<std::int64_t>(random.below(100'000))};
      for (;;) {
        const std::size_t most = 1 + random.below(20);
        const std::size_t count = taken.take_until(end, most, [&](const Event& event) {
          const Event* const expected = popped.pop_until(end);
          ASSERT_NE(expected, nullptr);
          EXPECT_EQ(event.time, expected->time);
          EXPECT_EQ(event.order, expected->order);
        });
        EXPECT_LE(count, most);
        if (count == 0 || HasFailure()) break;
      }
      ASSERT_EQ(popped.pop_until(end), nullptr);
      ASSERT_EQ(taken.size(), popped.size());
      now = end.ps;
    }
  }
}

TEST(EventQueue, PopUntilStopsAtTheEnd) {
  EventQueue<Event> queue;
  EXPECT_EQ(queue.pop_until(kNever), nullptr);
  for (const std::int64_t population : {3, 300}) {
    for (std::int64_t i = 0; i < population; ++i) queue.push(Event{TimePs{1'000 + i * 10}});
    EXPECT_EQ(queue.pop_until(TimePs{999}), nullptr);
    EXPECT_NE(queue.pop_until(TimePs{1'000}), nullptr);
    EXPECT_EQ(queue.pop_until(TimePs{1'009}), nullptr);
    EXPECT_EQ(queue.peek().time.ps, 1'010);
    queue.push(Event{TimePs{1'005}});
    EXPECT_EQ(queue.pop_until(TimePs{1'009})->time.ps, 1'005);
    while (queue.pop_until(kNever) != nullptr) {
    }
    EXPECT_TRUE(queue.empty());
  }
}

TEST(EventOrder, TimeThenTargetThenSourceThenSequence) {
  const auto event = [](std::int64_t time, std::uint32_t target, std::uint32_t source,
                        std::uint32_t sequence) {
    return Event{TimePs{time}, make_order(ComponentId{target}, ComponentId{source}, sequence)};
  };
  EXPECT_TRUE(before(event(1, 9, 9, 9), event(2, 0, 0, 0)));
  EXPECT_TRUE(before(event(1, 0, 9, 9), event(1, 1, 0, 0)));
  EXPECT_TRUE(before(event(1, 1, 0, 9), event(1, 1, 1, 0)));
  EXPECT_TRUE(before(event(1, 1, 1, 8), event(1, 1, 1, 9)));
  EXPECT_FALSE(before(event(1, 1, 1, 9), event(1, 1, 1, 9)));
  // Sequence numbers wrap at 2^24.
  EXPECT_TRUE(before(event(1, 1, 1, 0xFFFFFF), event(1, 1, 1, 0x1000000)));
  EXPECT_FALSE(before(event(1, 1, 1, 0x1000000), event(1, 1, 1, 0xFFFFFF)));
  const Event one = event(5, 0xABCDE, 0x54321, 0x123456);
  EXPECT_EQ(one.target().value, 0xABCDEU);
  EXPECT_EQ(one.source().value, 0x54321U);
  EXPECT_EQ(one.sequence(), 0x123456U);
}

}  // namespace
}  // namespace wharf::sim
