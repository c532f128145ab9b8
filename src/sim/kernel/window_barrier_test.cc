// SPDX-License-Identifier: Apache-2.0
// Threads that meet: nobody goes on too early, and each passes its time as it should. Counted, not timed.
#include "sim/kernel/window_barrier.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace wharf::sim {
namespace {

struct Counts {
  std::atomic<std::uint32_t> pauses{0};
  std::atomic<std::uint32_t> sleeps{0};
  std::atomic<std::uint32_t> wakes{0};
};
Counts counts;

void forget_counts() {
  for (auto* count : {&counts.pauses, &counts.sleeps, &counts.wakes}) count->store(0);
}

/// What a barrier does, counted.
struct CountedWait {
  using Word = WindowWait::Word;
  static void pause() { ++counts.pauses; }
  static void sleep(const Word& word, std::uint32_t old) {
    ++counts.sleeps;
    WindowWait::sleep(word, old);
  }
  static void wake(Word& word) {
    ++counts.wakes;
    WindowWait::wake(word);
  }
};
using CountedBarrier = BasicWindowBarrier<CountedWait>;

TEST(WindowBarrier, NobodyGoesOnBeforeAllHaveCome) {
  constexpr std::uint32_t kThreads = 5;
  constexpr std::uint32_t kWindows = 300;
  WindowBarrier barrier(kThreads);
  std::vector<std::uint32_t> reached(kThreads, 0);  // Plain: the barrier alone orders it.
  std::vector<std::uint32_t> wrong(kThreads, 0);
  const auto work = [&](std::uint32_t me) {
    for (std::uint32_t window = 1; window <= kWindows; ++window) {
      reached[me] = window;
      barrier.arrive_and_wait();
      for (const std::uint32_t other : reached) wrong[me] += other == window ? 0 : 1;
      barrier.arrive_and_wait();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t i = 1; i < kThreads; ++i) threads.emplace_back(work, i);
  work(0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<std::uint32_t>(kThreads, 0));
}

TEST(WindowBarrier, OneThreadNeverWaits) {
  forget_counts();
  CountedBarrier barrier(1);
  for (int i = 0; i < 10; ++i) barrier.arrive_and_wait();
  EXPECT_EQ(counts.pauses + counts.sleeps + counts.wakes, 0U);
}

TEST(WindowBarrier, WhoWaitsLongSpinsThenSleepsUntilWoken) {
  forget_counts();
  CountedBarrier barrier(2);
  std::thread other([&] { barrier.arrive_and_wait(); });
  while (counts.sleeps == 0) std::this_thread::yield();
  barrier.arrive_and_wait();
  other.join();
  EXPECT_EQ(counts.pauses, CountedBarrier::kPauses);
  EXPECT_GE(counts.sleeps, 1U);  // A sleep may end for no reason.
  EXPECT_EQ(counts.wakes, 1U);
}

/// The second to come does so while the first spins.
struct MeetingWait : CountedWait {
  static inline std::atomic<bool> waits{false};
  static inline std::atomic<bool> has_come{false};
  static void pause() {
    ++counts.pauses;
    waits = true;
    while (!has_come) std::this_thread::yield();
  }
};

TEST(WindowBarrier, NobodyIsWokenWhoHasNotSlept) {
  forget_counts();
  BasicWindowBarrier<MeetingWait> barrier(2);
  std::thread other([&] { barrier.arrive_and_wait(); });
  while (!MeetingWait::waits) std::this_thread::yield();
  barrier.arrive_and_wait();
  MeetingWait::has_come = true;
  other.join();
  EXPECT_EQ(counts.pauses, 1U);
  EXPECT_EQ(counts.sleeps + counts.wakes, 0U);
}

}  // namespace
}  // namespace wharf::sim
