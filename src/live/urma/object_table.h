// SPDX-License-Identifier: Apache-2.0
// Objects that a C program holds by address. A wrong address, or one of an object that is gone, is found out
// without being read: all objects of a kind lie in one range of addresses that is never given back, and each
// has a flag. An address is not used again before kResting others have been given up.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>

namespace wharf::live::urma {

template <typename T, std::size_t kMost>
class ObjectTable {
 public:
  static constexpr std::size_t kResting = 256;

  /// A new object; null when there are kMost, or the system has no memory. Nobody finds it before
  /// prepare(object) has set what those that find it rely on.
  template <typename Prepare>
  T* make(Prepare&& prepare) {
    const std::lock_guard lock(mutex_);
    if (slots_.load(std::memory_order_relaxed) == nullptr && !reserve()) return nullptr;
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    const bool again = resting_ > kResting || used_ == kMost;
    if (again && resting_ == 0) return nullptr;
    const std::size_t at = again ? first_resting_ : used_;
    T* const made = ::new (slots[at].bytes) T();  // Without memory it is not, and nothing has changed.
    if (again) {
      first_resting_ = slots[at].next;
      --resting_;
    } else {
      ++used_;
    }
    prepare(*made);
    slots[at].live.store(true, std::memory_order_release);
    return made;
  }

  /// False when another thread has ended it already.
  bool end(T* object) {
    Slot* const slot = reinterpret_cast<Slot*>(object);
    const std::lock_guard lock(mutex_);
    if (!slot->live.exchange(false)) return false;
    std::destroy_at(object);
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    const auto at = static_cast<std::uint32_t>(slot - slots);
    (resting_ == 0 ? first_resting_ : slots[last_resting_].next) = at;
    last_resting_ = at;
    ++resting_;
    return true;
  }

  /// The object at `address`, or null.
  T* find(const void* address) const {
    Slot* const slots = slots_.load(std::memory_order_acquire);
    const auto from = reinterpret_cast<std::uintptr_t>(slots);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    if (from == 0 || at < from || at - from >= kMost * sizeof(Slot) || (at - from) % sizeof(Slot) != 0) {
      return nullptr;
    }
    Slot& slot = slots[(at - from) / sizeof(Slot)];
    return slot.live.load(std::memory_order_acquire) ? std::launder(reinterpret_cast<T*>(slot.bytes))
                                                     : nullptr;
  }

  // Around a fork: nothing begins or ends meanwhile.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork() { mutex_.unlock(); }
  /// Calls act(object) for each, in the child of a fork, whose only thread has the lock.
  template <typename Act>
  void each_forgotten(Act&& act) const {
    const Slot* const slots = slots_.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < used_; ++at) {
      if (const T* const object = find(&slots[at])) act(*object);
    }
  }

  /// Every address is wrong from now on, and none is used again: in the child of a fork.
  void forget() {
    new (&mutex_) std::mutex;
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < used_; ++at) slots[at].live.store(false, std::memory_order_relaxed);
    resting_ = 0;
  }

  /// Calls act(object) for each, of any address. None begins or ends meanwhile, so act() makes and ends none.
  template <typename Act>
  void for_each(Act&& act) {
    const std::lock_guard lock(mutex_);
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < used_; ++at) {
      if (T* const object = find(&slots[at])) act(*object);
    }
  }

 private:
  struct Slot {
    alignas(T) std::byte bytes[sizeof(T)];
    std::atomic<bool> live;
    std::uint32_t next;  ///< While it rests: the one that has rested less long.
  };

  bool reserve() {
    void* const memory = ::mmap(nullptr, kMost * sizeof(Slot), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    slots_.store(static_cast<Slot*>(memory), std::memory_order_release);
    return true;
  }

  std::atomic<Slot*> slots_{nullptr};  ///< Kept for the life of the process.
  std::size_t used_ = 0;
  std::size_t resting_ = 0;  ///< Slots that were used, the longest unused one first.
  std::uint32_t first_resting_ = 0;
  std::uint32_t last_resting_ = 0;
  std::mutex mutex_;
};

}  // namespace wharf::live::urma
