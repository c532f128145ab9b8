// SPDX-License-Identifier: Apache-2.0
// Objects that a C program holds by address. A wrong address, or one of an object that is gone, is found out
// without being read: all objects of a kind lie in one range of addresses that is never given back, and each
// has a flag. An address is not used again before kResting others have been given up.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
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
    std::size_t at = used_;
    if (resting_.size() > kResting || used_ == kMost) {
      if (resting_.empty()) return nullptr;
      at = resting_.front();
      resting_.pop_front();
    } else {
      ++used_;
    }
    T* const made = ::new (slots[at].bytes) T();
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
    resting_.push_back(static_cast<std::size_t>(slot - slots_.load(std::memory_order_relaxed)));
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

  /// Every address is wrong from now on, and none is used again: in the child of a fork.
  void forget() {
    new (&mutex_) std::mutex;
    Slot* const slots = slots_.load(std::memory_order_relaxed);
    for (std::size_t at = 0; at < used_; ++at) slots[at].live.store(false, std::memory_order_relaxed);
    resting_.clear();
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
  std::deque<std::size_t> resting_;
  std::mutex mutex_;
};

}  // namespace wharf::live::urma
