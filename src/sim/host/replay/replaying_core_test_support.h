// SPDX-License-Identifier: Apache-2.0
// A core that replays a memory trace in an event loop, with far memory that answers after a fixed time.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "sim/host/replay/trace_replay.h"
#include "sim/kernel/simulation.h"

namespace wharf::sim {

inline constexpr TimePs kFixedLineTime = nanoseconds(400);
inline constexpr TimePs kFixedPageTime = microseconds(2);

/// Memory that answers each access a fixed time after its start, with an event to the component that asked.
class FixedTimeMemory {
 public:
  enum Kind : std::uint16_t { kWake, kLoad, kStore, kPageRead, kPageWrite };

  explicit FixedTimeMemory(Simulation& simulation) : simulation_(simulation) {}
  void answer_to(ComponentId owner) { owner_ = owner; }

  void start_load(TimePs at, std::uint64_t address, std::uint32_t size, std::uint32_t id) {
    if (keeps_log) log_.push_back(fmt::format("{} load {:x} {}", at.ps / 1000, address, size));
    simulation_.schedule(at + kFixedLineTime, owner_, owner_, kLoad, id);
  }
  void start_store(TimePs at, std::uint64_t address, std::uint32_t size, std::uint32_t id) {
    if (keeps_log) log_.push_back(fmt::format("{} store {:x} {}", at.ps / 1000, address, size));
    simulation_.schedule(at + store_time, owner_, owner_, kStore, id);
  }
  void start_page_read(TimePs at, PageNumber page, std::uint32_t pages, std::uint32_t id) {
    if (keeps_log) log_.push_back(fmt::format("{} read page {:x} {}", at.ps / 1000, page, pages));
    simulation_.schedule(at + kFixedPageTime, owner_, owner_, kPageRead, id);
  }
  void start_page_write(TimePs at, PageNumber page, std::uint32_t id) {
    if (keeps_log) log_.push_back(fmt::format("{} write page {:x}", at.ps / 1000, page));
    simulation_.schedule(at + kFixedPageTime, owner_, owner_, kPageWrite, id);
  }

  const std::vector<std::string>& log() const { return log_; }
  /// Whether each access is remembered as a line of text; its time in whole nanoseconds.
  bool keeps_log = true;
  TimePs store_time = kFixedLineTime;

 private:
  Simulation& simulation_;
  ComponentId owner_;
  std::vector<std::string> log_;
};
static_assert(RemoteLineMemory<FixedTimeMemory> && PageTransferPort<FixedTimeMemory>);

/// A core that replays a trace.
class ReplayingCore : public Component {
 public:
  explicit ReplayingCore(Simulation& simulation) : simulation_(simulation), memory_(simulation) {
    memory_.answer_to(simulation.add(*this, "core0"));
  }

  /// Aborts when the configuration is refused.
  void start(const TraceReplayConfig& config, const MemoryPlacementConfig& placement, TraceReader trace,
             BitsPerSecond local_rate = {}) {
    replay_.emplace(TraceReplay<FixedTimeMemory>::create(
                        config,
                        MemoryPlacement::create(placement, RandomStream(1, "memory_placement")).value(),
                        std::move(trace), memory_, local_rate)
                        .value());
    simulation_.schedule(kTimeZero, id(), id(), FixedTimeMemory::kWake, 0);
  }

  void handle(const Event& event) override {
    const TimePs now = simulation_.now();
    switch (event.kind) {
      case FixedTimeMemory::kWake:
        if (now == replay_->deadline()) replay_->advance(now);
        break;
      case FixedTimeMemory::kLoad:
        replay_->load_done(now, event.argument);
        break;
      case FixedTimeMemory::kStore:
        replay_->store_done(now, event.argument);
        break;
      case FixedTimeMemory::kPageRead:
        replay_->page_read_done(now, event.argument);
        break;
      default:
        replay_->page_write_done(now, event.argument);
        break;
    }
    if (replay_->deadline() != kNever) {
      simulation_.schedule(replay_->deadline(), id(), id(), FixedTimeMemory::kWake, 0);
    }
  }

  const TraceReplay<FixedTimeMemory>& replay() const { return *replay_; }
  FixedTimeMemory& memory() { return memory_; }

 private:
  Simulation& simulation_;
  FixedTimeMemory memory_;
  std::optional<TraceReplay<FixedTimeMemory>> replay_;
};

}  // namespace wharf::sim
