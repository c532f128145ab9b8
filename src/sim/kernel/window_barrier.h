// SPDX-License-Identifier: Apache-2.0
// Where the threads of a parallel run meet after each window of simulated time.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace wharf::sim {

/// A barrier for a fixed number of threads. Waits are short when every thread has a core, so they spin first;
/// then they give the core away, so that more threads than cores still make progress.
class WindowBarrier {
 public:
  explicit WindowBarrier(std::uint32_t threads) : threads_(threads) {}

  /// Returns when all threads have called it; what each wrote before is visible to all afterwards.
  void arrive_and_wait() {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      phase_.store(phase + 1, std::memory_order_release);
      return;
    }
    for (std::uint32_t spins = 0; phase_.load(std::memory_order_acquire) == phase; ++spins) {
      if (spins >= kSpins) std::this_thread::yield();
    }
  }

 private:
  static constexpr std::uint32_t kSpins = 4000;

  const std::uint32_t threads_;
  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> phase_{0};
};

}  // namespace wharf::sim
