// SPDX-License-Identifier: Apache-2.0
// The CPU core of a host: one resource whose time the software of all programs shares, and the place where
// waiting coroutines are resumed, each by an event.
#pragma once

#include <coroutine>
#include <cstdint>
#include <string>
#include <vector>

#include "base/slot_pool.h"
#include "base/time.h"
#include "sim/kernel/simulation.h"
#include "verbs/task.h"

namespace wharf::sim {

/// Hardware of a core that gets events in the core's name (the load/store port).
class CoreDevice {
 public:
  virtual ~CoreDevice() = default;
  virtual void handle_device(std::uint32_t argument) = 0;
};

/// How many programs of a run have not ended; shared by its cores. The run stops when the last one ends.
struct ProgramTally {
  std::size_t running = 0;
};

/// One core. Programs are coroutines that it owns; between their awaits they run in no time.
class Core final : public Component {
 public:
  Core(Simulation& simulation, ProgramTally& tally) : simulation_(simulation), tally_(tally), wakes_(64) {}

  /// A stretch of time on the core.
  struct Busy {
    TimePs begin;
    TimePs end;
  };
  /// Takes the core for `duration`, as soon as it is free. First come, first served.
  Busy occupy(TimePs now, TimePs duration) {
    const TimePs begin = max(now, free_);
    free_ = begin + duration;
    return {begin, free_};
  }

  /// Resumes `handle` at `at`.
  void resume_at(TimePs at, std::coroutine_handle<> handle) {
    simulation_.schedule(at, id(), id(), kResume, keep(handle));
  }
  /// The same on behalf of another component, whose code runs now.
  void resume_at(TimePs at, std::coroutine_handle<> handle, ComponentId source) {
    simulation_.schedule(at, id(), source, kResume, keep(handle));
  }

  /// Events for the core's load/store hardware.
  void connect(CoreDevice& device) { device_ = &device; }
  void schedule_device(TimePs at, ComponentId source, std::uint32_t argument) {
    simulation_.schedule(at, id(), source, kDevice, argument);
  }

  /// Runs `task` beside the others, from an event at the current time on.
  void spawn(verbs::Task<void> task);
  /// Tasks that have not ended.
  std::size_t tasks_running() const { return tasks_running_; }

  TimePs now() const { return simulation_.now(); }
  Simulation& simulation() { return simulation_; }

  void handle(const Event& event) override;
  void describe_waiting(std::vector<std::string>& lines) const override;

 private:
  enum EventKind : std::uint16_t { kResume, kStart, kDevice };

  std::uint32_t keep(std::coroutine_handle<> handle) {
    std::uint32_t slot = wakes_.acquire();
    if (slot == kNoSlot) {
      wakes_.reserve(2 * wakes_.capacity());
      slot = wakes_.acquire();
    }
    wakes_[slot] = handle;
    return slot;
  }

  /// Awaits the task and counts its end.
  verbs::Task<void> run(verbs::Task<void> task);
  void drop_finished();

  Simulation& simulation_;
  ProgramTally& tally_;
  SlotPool<std::coroutine_handle<>> wakes_;
  SlotPool<verbs::Task<void>> tasks_;
  std::size_t tasks_running_ = 0;
  CoreDevice* device_ = nullptr;
  TimePs free_;
};

}  // namespace wharf::sim
