// SPDX-License-Identifier: Apache-2.0
// Where the threads of a parallel run meet after each window of simulated time.
#pragma once

#if defined(__linux__)
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

namespace wharf::sim {

/// Where a thread that comes to a barrier runs, as far as is known, and how often it has slept there.
struct alignas(64) ThreadPlace {
  static constexpr std::uint32_t kUnknown = 0xffff'ffff;
  std::atomic<std::uint32_t> core{kUnknown};
  std::uint32_t sleeps = 0;       ///< Known to the thread alone, as is
  std::uint32_t may_move_at = 0;  ///< after how many it may move to another core.
};

/// How a thread passes the time until a word changes, and where.
struct WindowWait {
  using Word = std::atomic<std::uint32_t>;

  /// For some nanoseconds, on the core.
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  /// Until wake(), or for no reason, unless the word is no longer `old`. Not Word::wait() where there is a
  /// choice: the library's yields before it sleeps.
  static void sleep(const Word& word, std::uint32_t old) {
#if defined(__linux__)
    static_assert(sizeof(Word) == 4 && Word::is_always_lock_free);
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
#else
    word.wait(old, std::memory_order_acquire);
#endif
  }
  static void wake(Word& word) {
#if defined(__linux__)
    ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
#else
    word.notify_all();
#endif
  }
  /// How many cores the calling thread may use; 0: unknown, as is everything about cores then.
  static std::uint32_t cores() {
#if defined(__linux__)
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
      return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
#endif
    return 0;
  }
  /// On which the calling thread runs.
  static std::uint32_t core() {
#if defined(__linux__)
    const int core = ::sched_getcpu();
    if (core >= 0) return static_cast<std::uint32_t>(core);
#endif
    return ThreadPlace::kUnknown;
  }
  /// The calling thread goes to a core where none of `places` is, if there is one. From then on it may be
  /// moved as before.
  static void leave(const std::vector<ThreadPlace>& places) {
#if defined(__linux__)
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    cpu_set_t others = allowed;
    for (const ThreadPlace& place : places) {
      const std::uint32_t core = place.core.load(std::memory_order_relaxed);
      if (core < CPU_SETSIZE) CPU_CLR(core, &others);
    }
    if (CPU_COUNT(&others) == 0) return;
    if (::sched_setaffinity(0, sizeof(others), &others) == 0)
      ::sched_setaffinity(0, sizeof(allowed), &allowed);
#else
    (void)places;
#endif
  }
};

/// A barrier for a fixed number of threads. Waits are short when every thread has a core, so they spin first.
/// Then they sleep, and never yield: where others want the core too, a thread gets it back at once when it is
/// woken, and only after a whole time slice when it has yielded.
///
/// Two things would make threads sleep in every window, each for longer than a window takes:
/// - To wake a thread on a core that idles takes some 50 us, most of all on a virtual machine. Who sleeps
///   through one window is late for the next, where the others then sleep, and so on for ever. So they spin
///   for longer than that; less once they had to sleep after all, for then somebody has no core; and now and
///   then for as long again, to see whether everybody has one.
/// - Where others keep all cores busy, the system may wake a thread on the core of the one that wakes it.
/// They
///   take turns there, neither is ever seen to wait for a core, and so nothing moves them apart. So who wakes
///   on the core of another thread of the barrier moves to one where none is.
template <typename Wait = WindowWait>
class BasicWindowBarrier {
 public:
  /// Some 20 us on the core, far more than the threads of a quiet machine differ.
  static constexpr std::uint32_t kFewPauses = 1000;
  /// A wake-up and a window.
  static constexpr std::uint32_t kMostPauses = 8 * kFewPauses;
  /// After so many sleeps the next one is put off as long as the first, and who shares a core may move again.
  static constexpr std::uint32_t kSleepsPerTrial = 16;

  explicit BasicWindowBarrier(std::uint32_t threads)
      : threads_(threads), places_(threads), enough_cores_(Wait::cores() >= threads) {}

  /// Returns when all threads have called it, each with a number of its own below their count; what each
  /// wrote before is visible to all afterwards.
  void arrive_and_wait(std::uint32_t me) {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    const std::uint32_t core = Wait::core();
    if (places_[me].core.load(std::memory_order_relaxed) != core)
      places_[me].core.store(core, std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      // In one order with what sleepers do: either they are seen here, or they see the new phase.
      phase_.store(phase + 1, std::memory_order_seq_cst);
      if (sleepers_.load(std::memory_order_seq_cst) != 0) Wait::wake(phase_);
      return;
    }
    const std::uint32_t pauses = pauses_.load(std::memory_order_relaxed);
    for (std::uint32_t tries = 0; tries < pauses; ++tries) {
      if (phase_.load(std::memory_order_acquire) != phase) {
        if (pauses < kMostPauses) pauses_.store(2 * pauses, std::memory_order_relaxed);
        return;
      }
      Wait::pause();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (phase_.load(std::memory_order_seq_cst) == phase) Wait::sleep(phase_, phase);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    const std::uint32_t sleeps = ++places_[me].sleeps;
    pauses_.store(sleeps % kSleepsPerTrial == 0 ? kMostPauses : kFewPauses, std::memory_order_relaxed);
    if (enough_cores_ && sleeps >= places_[me].may_move_at && shares_core(me)) {
      places_[me].may_move_at = sleeps + kSleepsPerTrial;
      Wait::leave(places_);
    }
  }

 private:
  bool shares_core(std::uint32_t me) const {
    const std::uint32_t core = Wait::core();
    for (std::uint32_t i = 0; i < threads_; ++i) {
      if (i != me && places_[i].core.load(std::memory_order_relaxed) == core) return true;
    }
    return false;
  }

  const std::uint32_t threads_;
  std::vector<ThreadPlace> places_;
  const bool enough_cores_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  /// How long the next to wait spins. Of all threads together, and no more than advice: one that is stored
  /// over another does no harm.
  alignas(64) std::atomic<std::uint32_t> pauses_{kMostPauses};
};

using WindowBarrier = BasicWindowBarrier<>;

}  // namespace wharf::sim
