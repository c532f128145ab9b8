// SPDX-License-Identifier: Apache-2.0
// The Core that simulated programs see: local memory through the caches, computing, sleeping, spawning.
// Awaiters live in the program's frame and allocate nothing.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/line.h"
#include "base/random.h"
#include "base/slot_pool.h"
#include "base/time.h"
#include "base/units.h"
#include "sim/host/coherent/core_cache.h"
#include "sim/host/config/host_config.h"
#include "sim/host/core/core.h"
#include "sim/host/core/program_log.h"
#include "sim/host/memory/cache_hierarchy.h"
#include "sim/host/memory/dram.h"
#include "sim/host/memory/host_memory.h"
#include "sim/host/memory/remote_lines.h"
#include "sim/kernel/keep_slot.h"
#include "verbs/core.h"
#include "verbs/task.h"
#include "verbs/verb.h"

namespace wharf::sim {

/// Is told of the lines of mapped remote memory that local accesses push out of the shared caches.
class WriteBackTarget {
 public:
  virtual ~WriteBackTarget() = default;
  /// Some of the lines may be of local memory; they have been written.
  virtual void displaced(const WriteBacks& out) = 0;
};

/// Writes the dirty lines of local memory among `out`, which leave the caches at `at`.
inline void write_local_lines(Dram& dram, TimePs at, const WriteBacks& out) {
  for (std::uint32_t i = 0; i < out.count; ++i) {
    if ((out.lines[i] & kRemoteLineBit) == 0) dram.write(at, kLineBytes);
  }
}

/// verbs::Core of a simulated host. Loads and stores take the time of the cache level that answers, plus DRAM
/// on a miss, where they meet the NIC's accesses and the dirty lines that leave; stores are visible when they
/// are done, so that a fence never waits. They overlap with other work of the core, core.outstanding_misses
/// at a time. Choices: misses of local and of remote memory do not take each other's room; memory reads a
/// line that is missing before it writes the dirty ones that it displaces; an access that the caches do not
/// keep takes its own bytes of memory's rate, any other a line.
///
/// Where memory is coherent by lines, local accesses are those of the core's private caches instead, with
/// their bounds and times; accesses to mapped remote memory stay as they are.
class SimCore final : public CoreCacheClient {
 public:
  SimCore(Core& core, HostMemory& memory, Dram& dram, CacheHierarchy& caches, const HostConfig& config,
          RandomStream random)
      : core_(core),
        memory_(memory),
        dram_(dram),
        caches_(caches),
        misses_end_(config.core.outstanding_misses),
        random_(random) {}

  /// Resumes the program at a given time; gives T.
  class Sleep {
   public:
    Sleep(Core& core, TimePs until) : core_(core), until_(until) {}
    bool await_ready() const { return until_ <= core_.now(); }
    void await_suspend(std::coroutine_handle<> handle) { core_.resume_at(until_, handle); }
    void await_resume() const {}

   private:
    Core& core_;
    TimePs until_;
  };

  /// A local access: takes its time, then acts on memory at its end.
  class Access {
   public:
    enum class Kind : std::uint8_t { kLoad, kStore, kCompareSwap, kFetchAdd };
    Access(SimCore& core, Kind kind, std::uint64_t address, std::uint32_t length, std::uint64_t operand,
           std::uint64_t compare)
        : core_(core),
          address_(address),
          operand_(operand),
          compare_(compare),
          length_(length),
          kind_(kind) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      if (core_.private_caches_ != nullptr) {
        core_.access_lines(*this, handle);
      } else {
        core_.core_.resume_at(core_.serve(address_, length_, kind_ != Kind::kLoad), handle);
      }
    }
    std::uint64_t await_resume() const {
      return core_.private_caches_ != nullptr ? found_ : core_.perform(*this);
    }

   private:
    friend class SimCore;
    SimCore& core_;
    std::uint64_t address_;
    std::uint64_t operand_;
    std::uint64_t compare_;
    std::uint64_t found_ = 0;  ///< By the private caches.
    std::uint32_t length_;
    Kind kind_;
  };

  class Store : public Access {
   public:
    using Access::Access;
    void await_resume() const { (void)Access::await_resume(); }
  };

  std::uint64_t allocate(Bytes length) { return memory_.allocate(length); }
  std::span<std::byte> bytes(std::uint64_t address, Bytes length) { return memory_.bytes(address, length); }
  Access load(std::uint64_t address, std::uint32_t length) {
    return {*this, Access::Kind::kLoad, address, length, 0, 0};
  }
  Store store(std::uint64_t address, std::uint32_t length, std::uint64_t value) {
    return {*this, Access::Kind::kStore, address, length, value, 0};
  }
  Access compare_swap(std::uint64_t address, std::uint64_t compare, std::uint64_t swap) {
    return {*this, Access::Kind::kCompareSwap, address, 8, swap, compare};
  }
  Access fetch_add(std::uint64_t address, std::uint64_t value) {
    return {*this, Access::Kind::kFetchAdd, address, 8, value, 0};
  }
  std::suspend_never fence() { return {}; }
  Sleep compute(TimePs duration) { return {core_, core_.occupy(now(), duration).end}; }
  Sleep sleep(TimePs duration) { return {core_, now() + duration}; }
  /// Awaited: goes on at `at`, by an event even if that is now.
  class ResumeAt {
   public:
    ResumeAt(Core& core, TimePs at) : core_(core), at_(at) {}
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { core_.resume_at(at_, handle); }
    void await_resume() const {}

   private:
    Core& core_;
    TimePs at_;
  };
  ResumeAt resume_at(TimePs at) { return {core_, at}; }
  TimePs now() const { return core_.now(); }
  void spawn(verbs::Task<void> task) { core_.spawn(std::move(task)); }
  RandomStream random(std::string_view name) const {
    std::uint64_t index = 0xcbf2'9ce4'8422'2325U;  // FNV-1a of the name.
    for (const char c : name) index = (index ^ static_cast<unsigned char>(c)) * 0x100'0000'01b3U;
    return random_.substream(index);
  }

  /// Operations of programs are written to `log` from now on.
  void connect(ProgramLog& log) { program_log_ = &log; }
  void record(const verbs::OperationRecord& operation) {
    if (program_log_ != nullptr) program_log_->add(operation);
  }

  /// Local memory is coherent by lines, and `caches` are those of this core.
  void connect(CoreCache& caches) {
    private_caches_ = &caches;
    caches.connect(*this);
  }
  void cache_done(TimePs now, const CacheAnswer& answer) override {
    const Waiting waiting = waiting_[static_cast<std::uint32_t>(answer.ticket)];
    waiting_.release(static_cast<std::uint32_t>(answer.ticket));
    std::memcpy(&waiting.access->found_, answer.bytes.data(), sizeof waiting.access->found_);
    core_.resume_at(now, waiting.handle, private_caches_->id());
  }

  /// Who cares for remote lines that local accesses push out.
  void connect(WriteBackTarget& target) { write_backs_ = &target; }
  Core& hardware() { return core_; }
  HostMemory& memory() { return memory_; }

 private:
  /// Looks up what an access needs, now; returns when it is done.
  TimePs serve(std::uint64_t address, std::uint32_t length, bool store) {
    WriteBacks out;
    const LineNumber line = line_of(address);
    const CacheAccess access = caches_.access(line, store, out);
    if (access.needs_fill) caches_.fill(line, store, out);
    const TimePs looked_up = core_.now() + access.latency;
    TimePs done = looked_up;
    if (access.level == CacheLevel::kMemory) {
      done = miss(looked_up, access.needs_fill ? kLineBytes : length);
    } else if (access.store_to_memory) {
      dram_.write(looked_up, length);
    }
    write_local_lines(dram_, looked_up, out);
    if (write_backs_ != nullptr) write_backs_->displaced(out);
    return done;
  }
  /// An access to `bytes` of memory that is known to be necessary at `at`; returns when it is done. Misses
  /// end in the order in which they begin, so that the room of the oldest is the next that is free.
  TimePs miss(TimePs at, std::uint32_t bytes) {
    TimePs& end = misses_end_[next_miss_];
    next_miss_ = next_miss_ + 1 == misses_end_.size() ? 0 : next_miss_ + 1;
    end = dram_.closed_row(max(at, end), bytes);
    return end;
  }

  struct Waiting {
    Access* access = nullptr;
    std::coroutine_handle<> handle;
  };

  /// The access is within one line: programs access aligned words.
  void access_lines(Access& access, std::coroutine_handle<> handle) {
    const TimePs now = core_.now();
    const std::uint32_t ticket = keep_slot(waiting_, {&access, handle});
    switch (access.kind_) {
      case Access::Kind::kLoad:
        private_caches_->load(now, ticket, access.address_, access.length_);
        break;
      case Access::Kind::kStore: {
        std::array<std::byte, 8> bytes{};
        std::memcpy(bytes.data(), &access.operand_, bytes.size());
        private_caches_->store(now, ticket, access.address_, std::span(bytes).first(access.length_));
        break;
      }
      case Access::Kind::kCompareSwap:
        private_caches_->atomic(now, ticket, access.address_, 8,
                                {AtomicKind::kCompareSwap, access.operand_, access.compare_});
        break;
      case Access::Kind::kFetchAdd:
        private_caches_->atomic(now, ticket, access.address_, 8, {AtomicKind::kFetchAdd, access.operand_, 0});
        break;
    }
  }

  std::uint64_t perform(const Access& access) {
    const std::span<std::byte> at = memory_.bytes(access.address_, Bytes{access.length_});
    WHARF_CHECK(access.length_ <= 8);
    std::uint64_t old = 0;
    std::memcpy(&old, at.data(), access.length_);
    std::uint64_t next = old;
    switch (access.kind_) {
      case Access::Kind::kLoad:
        return old;
      case Access::Kind::kStore:
        next = access.operand_;
        break;
      case Access::Kind::kCompareSwap:
        if (old == access.compare_) next = access.operand_;
        break;
      case Access::Kind::kFetchAdd:
        next = old + access.operand_;
        break;
    }
    std::memcpy(at.data(), &next, access.length_);
    return old;
  }

  Core& core_;
  HostMemory& memory_;
  Dram& dram_;
  CacheHierarchy& caches_;
  std::vector<TimePs> misses_end_;  ///< When the room of each miss is or was free again; used in turn.
  std::size_t next_miss_ = 0;
  RandomStream random_;
  CoreCache* private_caches_ = nullptr;
  SlotPool<Waiting> waiting_{16};
  WriteBackTarget* write_backs_ = nullptr;
  ProgramLog* program_log_ = nullptr;
};

static_assert(verbs::Core<SimCore>);

}  // namespace wharf::sim
