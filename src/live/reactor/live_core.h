// SPDX-License-Identifier: Apache-2.0
// The Core of live programs: the real CPU and real memory. Coroutines of one reactor thread share it.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/line.h"
#include "base/random.h"
#include "base/time.h"
#include "base/units.h"
#include "live/reactor/live_clock.h"
#include "verbs/core.h"

namespace wharf::live {

/// Satisfies verbs::Core. Addresses are pointers of this process. Not thread-safe.
class LiveCore {
 public:
  LiveCore(const LiveClock& clock, std::uint64_t seed) : clock_(clock), seed_(seed) {}
  LiveCore(const LiveCore&) = delete;
  LiveCore& operator=(const LiveCore&) = delete;

  /// An awaitable that is ready at once.
  template <typename T>
  struct Ready {
    T value;
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    T await_resume() const { return value; }
  };
  struct Done {
    bool await_ready() const { return true; }
    void await_suspend(std::coroutine_handle<>) const {}
    void await_resume() const {}
  };
  /// Suspends until the reactor's clock has reached `at`.
  class Until {
   public:
    Until(LiveCore& core, TimePs at) : core_(core), at_(at) {}
    bool await_ready() const { return core_.now() >= at_; }
    void await_suspend(std::coroutine_handle<> handle) { core_.sleepers_.push_back({at_, handle}); }
    void await_resume() const {}

   private:
    LiveCore& core_;
    TimePs at_;
  };

  std::uint64_t allocate(Bytes size) {
    constexpr std::align_val_t kLine{kLineBytes};
    auto* memory = static_cast<std::byte*>(::operator new(size.count == 0 ? 1 : size.count, kLine));
    std::memset(memory, 0, size.count);
    memory_.emplace_back(memory);
    return reinterpret_cast<std::uint64_t>(memory);
  }
  std::span<std::byte> bytes(std::uint64_t address, Bytes size) {
    return {reinterpret_cast<std::byte*>(address), size.count};
  }

  Ready<std::uint64_t> load(std::uint64_t address, std::uint32_t length) {
    std::uint64_t value = 0;
    WHARF_CHECK(length <= sizeof value);
    std::memcpy(&value, reinterpret_cast<const void*>(address), length);
    return {value};
  }
  Done store(std::uint64_t address, std::uint32_t length, std::uint64_t value) {
    WHARF_CHECK(length <= sizeof value);
    std::memcpy(reinterpret_cast<void*>(address), &value, length);
    return {};
  }
  Ready<std::uint64_t> compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).compare_exchange_strong(compare, swap);
    return {compare};
  }
  Ready<std::uint64_t> fetch_add(std::uint64_t address, std::uint64_t operand) {
    return {std::atomic_ref(*reinterpret_cast<std::uint64_t*>(address)).fetch_add(operand)};
  }
  Done fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return {};
  }
  Until compute(TimePs duration) { return {*this, now() + duration}; }
  Until sleep(TimePs duration) { return {*this, now() + duration}; }

  TimePs now() const { return clock_.now(); }
  RandomStream random(std::string_view name) const { return RandomStream(seed_, name); }

  void spawn(verbs::Task<void> task) {
    tasks_.push_back(std::move(task));
    tasks_.back().start();
  }

  // For the reactor.
  /// Resumes every sleeper whose time has come; true if there was one.
  bool wake(TimePs at) {
    bool woke = false;
    for (std::size_t index = 0; index < sleepers_.size();) {
      if (sleepers_[index].at > at) {
        ++index;
        continue;
      }
      const std::coroutine_handle<> handle = sleepers_[index].handle;
      sleepers_[index] = sleepers_.back();
      sleepers_.pop_back();
      handle.resume();
      woke = true;
    }
    return woke;
  }
  TimePs next_wake() const {
    TimePs next = kNever;
    for (const Sleeper& sleeper : sleepers_) next = min(next, sleeper.at);
    return next;
  }
  /// True when every spawned task has ended.
  bool finished() const {
    for (const auto& task : tasks_) {
      if (!task.done()) return false;
    }
    return true;
  }

 private:
  struct Sleeper {
    TimePs at;
    std::coroutine_handle<> handle;
  };
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{64}); }
  };

  const LiveClock& clock_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<std::byte, Free>> memory_;
  std::vector<Sleeper> sleepers_;
  std::vector<verbs::Task<void>> tasks_;
};
static_assert(verbs::Core<LiveCore>);

}  // namespace wharf::live
