// SPDX-License-Identifier: Apache-2.0
// The core of programs beside a timed coherent host, without a NIC or the software of one: nothing but its
// private caches takes time. sim::SimCore is that of a whole host.
#pragma once

#include <coroutine>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "base/random.h"
#include "sim/host/coherent/core_cache.h"
#include "sim/host/core/core.h"
#include "sim/host/memory/host_memory.h"
#include "verbs/core.h"

namespace wharf::sim {

/// verbs::Core over the private caches of a core; with none, of a client whose own memory takes no time and
/// is reached by bytes() alone.
class ProgramCore final : public CoreCacheClient {
 public:
  ProgramCore(Core& core, HostMemory& memory, std::uint64_t seed, CoreCache* cache = nullptr)
      : core_(core), memory_(memory), seed_(seed), cache_(cache) {
    if (cache != nullptr) cache->connect(*this);
  }

  enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic };
  /// One access, in the program's frame until the caches say that it is done.
  class Access {
   public:
    Access(ProgramCore& core, AccessKind kind, std::uint64_t address, std::uint32_t length,
           std::uint64_t value, const AtomicOperation& operation = {})
        : core_(core),
          operation_(operation),
          address_(address),
          value_(value),
          length_(length),
          kind_(kind) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      core_.begin(*this);
    }
    std::uint64_t await_resume() const { return value_; }

   private:
    friend class ProgramCore;
    ProgramCore& core_;
    AtomicOperation operation_;
    std::uint64_t address_;
    std::uint64_t value_;
    std::uint32_t length_;
    AccessKind kind_;
    std::coroutine_handle<> handle_;
  };
  class Store : public Access {
   public:
    using Access::Access;
    void await_resume() const {}
  };
  class Until {
   public:
    Until(Core& core, TimePs at) : core_(core), at_(at) {}
    bool await_ready() const { return at_ <= core_.now(); }
    void await_suspend(std::coroutine_handle<> handle) { core_.resume_at(at_, handle); }
    void await_resume() const {}

   private:
    Core& core_;
    TimePs at_;
  };

  std::uint64_t allocate(Bytes length) { return memory_.allocate(length); }
  std::span<std::byte> bytes(std::uint64_t address, Bytes length) { return memory_.bytes(address, length); }
  Access load(std::uint64_t address, std::uint32_t length) {
    return {*this, AccessKind::kLoad, address, length, 0};
  }
  Store store(std::uint64_t address, std::uint32_t length, std::uint64_t value) {
    return {*this, AccessKind::kStore, address, length, value};
  }
  Access compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
    return {*this, AccessKind::kAtomic, address, 8, 0, {AtomicKind::kCompareSwap, swap, compare}};
  }
  Access fetch_add(std::uint64_t address, std::uint64_t value) {
    return {*this, AccessKind::kAtomic, address, 8, 0, {AtomicKind::kFetchAdd, value, 0}};
  }
  /// A store is done when it is visible.
  std::suspend_never fence() { return {}; }
  Until compute(TimePs duration) { return {core_, core_.occupy(now(), duration).end}; }
  Until sleep(TimePs duration) { return {core_, now() + duration}; }
  TimePs now() const { return core_.now(); }
  void spawn(verbs::Task<void> task) { core_.spawn(std::move(task)); }
  RandomStream random(std::string_view name) const { return RandomStream(seed_, name); }

  void cache_done(TimePs, const CacheAnswer& answer) override {
    Access& access = *reinterpret_cast<Access*>(answer.ticket);
    std::memcpy(&access.value_, answer.bytes.data(), answer.size);
    access.handle_.resume();
  }

 private:
  void begin(Access& access);

  Core& core_;
  HostMemory& memory_;
  std::uint64_t seed_;
  CoreCache* cache_;
};
static_assert(verbs::Core<ProgramCore>);

}  // namespace wharf::sim
