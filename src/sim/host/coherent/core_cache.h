// SPDX-License-Identifier: Apache-2.0
// The private caches of one core, timed: when an access is answered, when a miss leaves, when a snoop is.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/ring.h"
#include "base/slot_pool.h"
#include "sim/coherence/private_cache.h"
#include "sim/host/coherent/coherent_memory.h"
#include "sim/host/config/coherent_config.h"
#include "sim/kernel/booked_time.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

/// Whoever issues accesses: a core.
class CoreCacheClient {
 public:
  virtual ~CoreCacheClient() = default;
  /// The access of `answer.ticket` is done; loads and atomics have their bytes in it.
  virtual void cache_done(TimePs now, const CacheAnswer& answer) = 0;
};

/// Level 1, the bus to level 2, and level 2, as one agent. An access is performed when its line is there, and
/// answered when that is known to the core; what waits for room is retried in order.
///
/// The bus has a direction down (misses of level 1, what it answers to snoops, lines that leave it) and one
/// up (lines of level 2 and of memory, snoops), each of which carries one thing at a time: a header, and the
/// line where there is one.
///
/// Choice: the way up of a line that level 2 has is part of level 2's cycles, and the access has its bytes
/// with the first beat; a line that comes from memory is used when all of it is there, and crosses while it
/// comes. A line that is sent home takes its newest bytes from level 1, whether level 1 has it or not.
class CoreCache final : public Component, public CoherentAgent {
 public:
  /// Adds itself to the simulation and connects itself to `memory` as `agent`.
  CoreCache(Simulation& simulation, CoherentMemory& memory, AgentId agent, const CoreCacheConfig& config,
            std::string name);

  void connect(CoreCacheClient& client) { client_ = &client; }
  void observe_with(CoherenceObserver* observer) { cache_.observe_with(observer); }
  void mirror_to(StoreMirror* mirror) { cache_.mirror_to(mirror); }

  // Accesses within one line.
  void load(TimePs now, Ticket ticket, std::uint64_t address, std::uint32_t size);
  void store(TimePs now, Ticket ticket, std::uint64_t address, std::span<const std::byte> value);
  void atomic(TimePs now, Ticket ticket, std::uint64_t address, std::uint32_t size,
              const AtomicOperation& operation);
  /// The line leaves the caches.
  void flush(TimePs now, Ticket ticket, LineNumber line);

  void receive(TimePs now, const Message& message, TimePs data_at) override;
  void handle(const Event& event) override;

  const PrivateCache& cache() const { return cache_; }
  bool is_idle() const { return cache_.is_idle() && waiting_.empty(); }
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kAnswer, kSendRequest, kSendResponse };
  enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic, kFlush };
  struct Access {
    AccessKind kind = AccessKind::kLoad;
    Ticket ticket = 0;
    std::uint64_t address = 0;
    std::uint32_t size = 0;
    LineBytes bytes{};
    AtomicOperation operation;
  };

  void begin(TimePs now, const Access& access);
  CacheOutcome attempt(const Access& access, CacheAnswer& answer);
  void hit(TimePs from, CacheOutcome outcome, const CacheAnswer& answer);
  void done(TimePs at, const CacheAnswer& answer);
  void drain(TimePs now, TimePs data_at, bool has_line);
  void leave(TimePs at, EventKind kind, TimePs& latest, const Message& message);
  TimePs cycles(std::uint32_t count) const { return config_.cycle * count; }
  TimePs crossing(bool has_line) const {
    return cycles(config_.header_cycles + (has_line ? line_beats_ : 0));
  }
  /// From level 1, where it is at `from`, down and through level 2.
  TimePs down_through(TimePs from, bool has_line) {
    return down_.take(from, crossing(has_line)) + cycles(config_.between_cycles + config_.level2_cycles);
  }

  Simulation& simulation_;
  CoherentMemory& memory_;
  CoreCacheConfig config_;
  std::uint32_t line_beats_;  ///< Of the bus between the levels.
  PrivateCache cache_;
  CoreCacheClient* client_ = nullptr;
  BookedTime down_;
  BookedTime up_;
  // When the newest message of each kind leaves: none overtakes another.
  TimePs latest_request_;
  TimePs latest_response_;
  Ring<Access> waiting_;  ///< Found no room.
  SlotPool<CacheAnswer> answers_;
  SlotPool<Message> messages_;
};

}  // namespace wharf::sim
