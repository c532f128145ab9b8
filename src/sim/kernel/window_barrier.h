// SPDX-License-Identifier: Apache-2.0
// Where the threads of a parallel run meet after each window of simulated time.
#pragma once

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cstdint>
#include <limits>

namespace wharf::sim {

/// How a thread passes the time until a word changes.
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
};

/// A barrier for a fixed number of threads. Waits are short when every thread has a core, so they spin first.
/// Then they sleep, and never yield: where others want the core too, a thread gets it back at once when it is
/// woken, and only after a whole time slice when it has yielded.
template <typename Wait = WindowWait>
class BasicWindowBarrier {
 public:
  /// Some 20 us on the core, far more than the threads of a quiet machine differ.
  static constexpr std::uint32_t kPauses = 1000;

  explicit BasicWindowBarrier(std::uint32_t threads) : threads_(threads) {}

  /// Returns when all threads have called it; what each wrote before is visible to all afterwards.
  void arrive_and_wait() {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      // In one order with what sleepers do: either they are seen here, or they see the new phase.
      phase_.store(phase + 1, std::memory_order_seq_cst);
      if (sleepers_.load(std::memory_order_seq_cst) != 0) Wait::wake(phase_);
      return;
    }
    for (std::uint32_t tries = 0; tries < kPauses; ++tries) {
      if (phase_.load(std::memory_order_acquire) != phase) return;
      Wait::pause();
    }
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (phase_.load(std::memory_order_seq_cst) == phase) Wait::sleep(phase_, phase);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  const std::uint32_t threads_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::atomic<std::uint32_t> sleepers_{0};
};

using WindowBarrier = BasicWindowBarrier<>;

}  // namespace wharf::sim
