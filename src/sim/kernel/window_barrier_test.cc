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
  std::atomic<std::uint32_t> moves{0};
};
Counts counts;
std::uint32_t cores_there_are = 0;
thread_local std::uint32_t core_of_thread = ThreadPlace::kUnknown;

void forget_counts() {
  for (auto* count : {&counts.pauses, &counts.sleeps, &counts.wakes, &counts.moves}) count->store(0);
  cores_there_are = 0;
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
  static std::uint32_t cores() { return cores_there_are; }
  static std::uint32_t core() { return core_of_thread; }
  static void leave(const std::vector<ThreadPlace>&) { ++counts.moves; }
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
      barrier.arrive_and_wait(me);
      for (const std::uint32_t other : reached) wrong[me] += other == window ? 0 : 1;
      barrier.arrive_and_wait(me);
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
  for (int i = 0; i < 10; ++i) barrier.arrive_and_wait(0);
  EXPECT_EQ(counts.pauses + counts.sleeps + counts.wakes, 0U);
}

/// Passes `barrier` once; number 1 comes when number 0, which stands on `core`, has slept once more.
template <typename Barrier>
void let_first_sleep(Barrier& barrier, std::uint32_t core = ThreadPlace::kUnknown) {
  const std::uint32_t before = counts.sleeps;
  std::thread first([&] {
    core_of_thread = core;
    barrier.arrive_and_wait(0);
  });
  while (counts.sleeps == before) std::this_thread::yield();
  barrier.arrive_and_wait(1);
  first.join();
}

TEST(WindowBarrier, WhoWaitsLongSpinsThenSleepsUntilWoken) {
  forget_counts();
  CountedBarrier barrier(2);
  let_first_sleep(barrier);
  EXPECT_EQ(counts.pauses, CountedBarrier::kMostPauses);
  EXPECT_GE(counts.sleeps, 1U);  // A sleep may end for no reason.
  EXPECT_EQ(counts.wakes, 1U);
}

TEST(WindowBarrier, WhoHadToSleepSpinsLessAndLongAgainNowAndThen) {
  forget_counts();
  CountedBarrier barrier(2);
  let_first_sleep(barrier);
  for (std::uint32_t sleeps = 1; sleeps < 2 * CountedBarrier::kSleepsPerTrial; ++sleeps) {
    counts.pauses = 0;
    let_first_sleep(barrier);
    EXPECT_EQ(counts.pauses, sleeps == CountedBarrier::kSleepsPerTrial ? CountedBarrier::kMostPauses
                                                                       : CountedBarrier::kFewPauses)
        << "after " << sleeps << " sleeps";
  }
}

TEST(WindowBarrier, WhoWakesOnTheCoreOfAnotherMovesNowAndThen) {
  core_of_thread = 3;
  const auto moves = [](std::uint32_t cores, std::uint32_t core_of_first, std::uint32_t windows) {
    forget_counts();
    cores_there_are = cores;
    CountedBarrier barrier(2);
    // The first window tells where number 1 stands.
    for (std::uint32_t window = 0; window <= windows; ++window) let_first_sleep(barrier, core_of_first);
    return counts.moves.load();
  };
  EXPECT_EQ(moves(2, 3, 1), 1U);
  EXPECT_EQ(moves(2, 3, CountedBarrier::kSleepsPerTrial - 1), 1U);
  EXPECT_EQ(moves(2, 3, CountedBarrier::kSleepsPerTrial + 1), 2U);
  EXPECT_EQ(moves(2, 2, 5), 0U);  // Each has one of its own,
  EXPECT_EQ(moves(1, 3, 5), 0U);  // or somebody has to share.
  EXPECT_EQ(moves(0, 3, 5), 0U);
  core_of_thread = ThreadPlace::kUnknown;
}

#if defined(__linux__)
TEST(WindowBarrier, WhoLeavesACoreMayBeMovedAsBefore) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  ASSERT_EQ(static_cast<std::uint32_t>(CPU_COUNT(&before)), WindowWait::cores());
  for (int i = 0; i < 10; ++i) {
    std::vector<ThreadPlace> places(2);
    places[0].core = WindowWait::core();
    places[1].core = places[0].core.load();
    WindowWait::leave(places);
    cpu_set_t after;
    ASSERT_EQ(::sched_getaffinity(0, sizeof(after), &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }
}
#endif

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
  std::thread other([&] { barrier.arrive_and_wait(0); });
  while (!MeetingWait::waits) std::this_thread::yield();
  barrier.arrive_and_wait(1);
  MeetingWait::has_come = true;
  other.join();
  EXPECT_EQ(counts.pauses, 1U);
  EXPECT_EQ(counts.sleeps + counts.wakes, 0U);
}

TEST(WindowBarrier, WaitsThatAreShortAgainSpinLongAgain) {
  forget_counts();
  MeetingWait::waits = false;
  MeetingWait::has_come = true;
  BasicWindowBarrier<MeetingWait> barrier(2);
  let_first_sleep(barrier);
  const auto meet = [&] {
    MeetingWait::waits = false;
    MeetingWait::has_come = false;
    std::thread other([&] { barrier.arrive_and_wait(0); });
    while (!MeetingWait::waits) std::this_thread::yield();
    barrier.arrive_and_wait(1);
    MeetingWait::has_come = true;
    other.join();
  };
  meet();
  counts.pauses = 0;
  let_first_sleep(barrier);
  EXPECT_EQ(counts.pauses, 2 * CountedBarrier::kFewPauses);
  for (int i = 0; i < 10; ++i) meet();
  counts.pauses = 0;
  let_first_sleep(barrier);
  EXPECT_EQ(counts.pauses, CountedBarrier::kMostPauses);
}

}  // namespace
}  // namespace wharf::sim
